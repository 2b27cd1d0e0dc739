package kernel

import "bytes"

// Netstat is /proc/net/netstat (TcpExt) and the Tcp group of /proc/net/snmp:
// events since boot of the network namespace. ListenOverflows counts SYNs and
// last ACKs that found the accept queue full; ListenDrops contains it and what
// was dropped for other reasons. Unix sockets are in neither. The set of names
// differs between kernels, so fields are taken by name.
//
// https://www.kernel.org/doc/html/latest/networking/snmp_counter.html
type Netstat struct {
	ListenOverflows, ListenDrops                      Num
	SyncookiesSent, SyncookiesRecv, SyncookiesFailed  Num
	TCPReqQFullDoCookies, TCPReqQFullDrop             Num
	TCPBacklogDrop, TCPRcvQDrop                       Num
	TCPAbortOnData, TCPAbortOnClose, TCPAbortOnMemory Num
	TCPAbortOnTimeout, TCPAbortOnLinger               Num
	TCPAbortFailed                                    Num
	TCPTimeouts, TCPSynRetrans                        Num

	// From snmp. CurrEstab is now, not a total.
	ActiveOpens, PassiveOpens, AttemptFails, EstabResets Num
	CurrEstab, InSegs, OutSegs, RetransSegs, OutRsts     Num
}

// Netstat reads /proc/net/netstat and snmp once.
func (f *FS) Netstat() (Netstat, error) { return once(f.NetstatReader()) }

// NetstatReader opens /proc/net/netstat and snmp for repeated reading.
func (f *FS) NetstatReader() (*Reader[Netstat], error) {
	return newReader(f.at, "",
		part[Netstat]{name: "proc/net/netstat", parse: parseNetstat, single: true},
		part[Netstat]{name: "proc/net/snmp", parse: parseNetstat, single: true},
	)
}

// ListenEventsReader opens /proc/net/netstat for ListenOverflows and
// ListenDrops alone: for sampling.
func (f *FS) ListenEventsReader() (*Reader[Netstat], error) {
	return newReader(f.at, "", part[Netstat]{name: "proc/net/netstat", parse: parseListenEvents, single: true})
}

// parseListenEvents reads no further than it must: the two stand early among
// more than a hundred.
func parseListenEvents(s *Netstat, b []byte) error {
	names, rest := cutLine(b)
	values, _ := cutLine(rest)
	group, names := cutField(names)
	same, values := cutField(values)
	if string(group) != "TcpExt:" || !bytes.Equal(group, same) {
		return parseNetstat(s, b) // another order
	}
	for !s.ListenOverflows.Known || !s.ListenDrops.Known {
		var name, value []byte
		name, names = cutField(names)
		value, values = cutField(values)
		if len(name) == 0 || len(value) == 0 {
			break
		}
		dst := &s.ListenDrops
		switch string(name) {
		case "ListenOverflows":
			dst = &s.ListenOverflows
		case "ListenDrops":
		default:
			continue
		}
		if dst.Value, dst.Known = parseNum(value); !dst.Known {
			return &FieldError{Line: 2, Field: string(name), Text: shorten(value), Want: wantNumber}
		}
	}
	return nil
}

// parseNetstat reads pairs of lines: "Group: names..." and "Group: values...".
func parseNetstat(s *Netstat, b []byte) error {
	var bad faults
	for n := 1; len(b) > 0; n += 2 {
		var names, values []byte
		names, b = cutLine(b)
		values, b = cutLine(b)
		group, names := cutField(names)
		same, values := cutField(values)
		if string(group) != "TcpExt:" && string(group) != "Tcp:" {
			continue
		}
		if !bytes.Equal(group, same) {
			bad.add(n+1, string(group), same, "the values of the line before")
			continue
		}
		s.pair(&bad, n+1, names, values)
	}
	return bad.err()
}

func (s *Netstat) pair(bad *faults, line int, names, values []byte) {
	for {
		var name, value []byte
		name, names = cutField(names)
		value, values = cutField(values)
		if len(name) == 0 {
			if len(value) > 0 {
				bad.add(line, "values", value, "under a name: there are more values than names")
			}
			return
		}
		dst := s.slot(name)
		if dst == nil {
			continue
		}
		if dst.Value, dst.Known = parseNum(value); !dst.Known {
			bad.add(line, string(name), value, wantNumber)
		}
	}
}

func (s *Netstat) slot(name []byte) *Num {
	switch string(name) {
	case "ListenOverflows":
		return &s.ListenOverflows
	case "ListenDrops":
		return &s.ListenDrops
	case "SyncookiesSent":
		return &s.SyncookiesSent
	case "SyncookiesRecv":
		return &s.SyncookiesRecv
	case "SyncookiesFailed":
		return &s.SyncookiesFailed
	case "TCPReqQFullDoCookies":
		return &s.TCPReqQFullDoCookies
	case "TCPReqQFullDrop":
		return &s.TCPReqQFullDrop
	case "TCPBacklogDrop":
		return &s.TCPBacklogDrop
	case "TCPRcvQDrop":
		return &s.TCPRcvQDrop
	case "TCPAbortOnData":
		return &s.TCPAbortOnData
	case "TCPAbortOnClose":
		return &s.TCPAbortOnClose
	case "TCPAbortOnMemory":
		return &s.TCPAbortOnMemory
	case "TCPAbortOnTimeout":
		return &s.TCPAbortOnTimeout
	case "TCPAbortOnLinger":
		return &s.TCPAbortOnLinger
	case "TCPAbortFailed":
		return &s.TCPAbortFailed
	case "TCPTimeouts":
		return &s.TCPTimeouts
	case "TCPSynRetrans":
		return &s.TCPSynRetrans
	case "ActiveOpens":
		return &s.ActiveOpens
	case "PassiveOpens":
		return &s.PassiveOpens
	case "AttemptFails":
		return &s.AttemptFails
	case "EstabResets":
		return &s.EstabResets
	case "CurrEstab":
		return &s.CurrEstab
	case "InSegs":
		return &s.InSegs
	case "OutSegs":
		return &s.OutSegs
	case "RetransSegs":
		return &s.RetransSegs
	case "OutRsts":
		return &s.OutRsts
	}
	return nil
}
