package kernel

import "bytes"

// PIDStatus is /proc/PID/status; the Vm and Rss fields are in bytes. Kernel
// threads and zombies have none of them. VmRSS = RssAnon + RssFile + RssShmem.
//
// https://man7.org/linux/man-pages/man5/proc_pid_status.5.html
type PIDStatus struct {
	State                                   byte // as in [PIDStat], 0 if not reported
	Tgid, PPID                              Num
	Threads                                 Num
	VmSize, VmPeak, VmLck, VmPin            Num
	VmRSS, VmHWM, VmSwap                    Num
	RssAnon, RssFile, RssShmem              Num    // since 4.5
	CPUsAllowedList                         string // such as "0-2,4"; empty if not reported
	VoluntarySwitches, NonvoluntarySwitches Num
}

func (s *PIDStatus) reset() { *s = PIDStatus{CPUsAllowedList: s.CPUsAllowedList} }

func parsePIDStatus(s *PIDStatus, b []byte) error {
	var bad faults
	cpus := false
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = cutLine(b)
		key, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimSpace(value)
		if dst := s.amount(key); dst != nil {
			if dst.Value, dst.Known = parseKB(value); !dst.Known {
				bad.add(n, string(key), value, wantKB)
			}
			continue
		}
		if dst := s.count(key); dst != nil {
			if dst.Value, dst.Known = parseNum(value); !dst.Known {
				bad.add(n, string(key), value, wantNumber)
			}
			continue
		}
		switch string(key) {
		case "State":
			if len(value) > 0 {
				s.State = value[0]
			}
		case "Cpus_allowed_list":
			cpus = true
			if s.CPUsAllowedList != string(value) {
				s.CPUsAllowedList = string(value)
			}
		}
	}
	if !cpus {
		s.CPUsAllowedList = ""
	}
	return bad.err()
}

func (s *PIDStatus) amount(key []byte) *Num {
	switch string(key) {
	case "VmSize":
		return &s.VmSize
	case "VmPeak":
		return &s.VmPeak
	case "VmLck":
		return &s.VmLck
	case "VmPin":
		return &s.VmPin
	case "VmRSS":
		return &s.VmRSS
	case "VmHWM":
		return &s.VmHWM
	case "VmSwap":
		return &s.VmSwap
	case "RssAnon":
		return &s.RssAnon
	case "RssFile":
		return &s.RssFile
	case "RssShmem":
		return &s.RssShmem
	}
	return nil
}

func (s *PIDStatus) count(key []byte) *Num {
	switch string(key) {
	case "Tgid":
		return &s.Tgid
	case "PPid":
		return &s.PPID
	case "Threads":
		return &s.Threads
	case "voluntary_ctxt_switches":
		return &s.VoluntarySwitches
	case "nonvoluntary_ctxt_switches":
		return &s.NonvoluntarySwitches
	}
	return nil
}
