//go:build linux

package evidence

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"brink/internal/gauge"
	"brink/internal/kernel"
)

// pools keeps what the gauge said of each server over its looks.
type pools struct {
	servers []*poolLooks
	looks   int
	from    time.Time
	at      time.Time // of the latest look
}

type poolLooks struct {
	last        Pool
	begin       gauge.Totals
	end         gauge.Totals
	queuedLooks int
	looks       int
	anew        bool // the means begin with the next look
	pids        []int
	workers     workerLooks
	told, name  string // the server's name, and what of it may be shown
	since, at   time.Time
}

// add takes in a look. The snapshot is the gauge's own and is not kept.
func (p *pools) add(snap *gauge.Snapshot) {
	p.looks++
	p.at = snap.At
	if p.from.IsZero() {
		p.from = snap.At
	}
	for _, s := range snap.Servers {
		l := p.find(s)
		if l.looks == 0 || l.anew {
			l.begin, l.since = s.Total, snap.At
			l.looks, l.queuedLooks, l.anew, l.workers = 0, 0, false, workerLooks{}
		}
		l.looks++
		l.end, l.at = s.Total, snap.At
		if s.Queued.Known && s.Queued.Value > 0 {
			l.queuedLooks++
		}
		l.workers.take(s.Processes)
		l.pids = l.pids[:0]
		for _, q := range s.Processes {
			l.pids = append(l.pids, q.PID)
		}
		if l.name == "" || l.told != s.Name {
			l.told, l.name = s.Name, redactText(shorten(s.Name))
		}
		l.last = poolOf(s, l.name, snap.At, &l.last)
	}
}

// unixSockets are those of the servers that the latest look has seen, for the
// reading of the same moment: no table of the kernel's has their queues.
func (p *pools) unixSockets() []Listener {
	var list []Listener
	for _, l := range p.servers {
		if !l.at.Equal(p.at) {
			continue
		}
		for _, k := range l.last.Sockets {
			if k.Unix && !slices.ContainsFunc(list, func(o Listener) bool { return o.Address == k.Address }) {
				list = append(list, k)
			}
		}
	}
	return list
}

// restart begins the means anew. Those of a server that is gone stay.
func (p *pools) restart() {
	for _, l := range p.servers {
		l.anew = true
	}
}

func (p *pools) find(s *gauge.Server) *poolLooks {
	name := serverName(s)
	for _, l := range p.servers {
		if l.last.PID == s.PID && l.last.From.Field == name {
			return l
		}
	}
	l := &poolLooks{last: Pool{PID: s.PID, From: Source{File: "sock_diag and /proc", Field: name}}}
	p.servers = append(p.servers, l)
	return l
}

// serverName names a server by its first socket and its master.
func serverName(s *gauge.Server) string {
	address := ""
	if len(s.Sockets) > 0 {
		address = socketAddress(&s.Sockets[0])
	}
	return fmt.Sprintf("%s pid %d", address, s.PID)
}

func socketAddress(k *gauge.Socket) string {
	if k.Path != "" {
		return k.Path
	}
	return k.Local.String()
}

// poolOf makes a pool of the gauge's server, by the name that may be shown. It
// takes the place of what the look before has made.
func poolOf(s *gauge.Server, name string, at time.Time, before *Pool) Pool {
	from := Source{File: "sock_diag and /proc", Field: serverName(s)}
	o := &origin{file: from.File, whole: CannotTell, detail: "it cannot be told from outside: " + s.Why}
	count := func(n kernel.Num) Value { return o.value(n, from.Field, Events) }
	measure := func(m gauge.Measure, unit Unit) Value {
		if !m.Known {
			return Missing(CannotTell, "it was not seen long enough", from)
		}
		return Known(m.Value, unit, from)
	}
	p := Pool{
		Name: name, Server: string(s.Kind), Seen: PoolLive, At: at, From: from, PID: s.PID,
		Workers: count(s.Workers), Busy: count(s.Busy), Idle: count(s.Idle), Queued: count(s.Queued),
		BusyAtLeast: Known(float64(s.BusyAtLeast), Events, from), Max: Missing(NotSeen, "the settings were not looked at"),
		Min: Missing(Absent, "this server has none"), CPU: measure(s.CPU, NoUnit), RSS: Known(float64(s.RSSBytes), Bytes, from),
		Service: measure(s.Service, Seconds), Rate: measure(s.Rate, Events.PerSecond()), Note: s.Why,
		Sockets: before.Sockets[:0], Members: before.Members[:0],
	}
	p.Oldest, p.Abandoned = Missing(CannotTell, "nothing waits, or it was not looked at", from), Missing(CannotTell, "it was not looked at", from)
	for i := range s.Sockets {
		k := &s.Sockets[i]
		p.Sockets = append(p.Sockets, Listener{
			Address: socketAddress(k), Unix: k.Path != "", Port: int(k.Local.Port()), Queue: Known(float64(k.Queue), Events, from),
			Backlog: o.value(k.Limit, from.Field, Events), Drops: o.value(k.DropsTotal, from.Field, Events), PID: s.PID,
		})
		if k.Oldest.Known && !p.Oldest.AtLeast(k.Oldest.Value) {
			p.Oldest = Known(k.Oldest.Value, Seconds, from)
		}
		if k.Abandoned.Known {
			n := Known(float64(k.Abandoned.Value), Events, from)
			if p.Abandoned.Known {
				n = p.Abandoned.Plus(n)
			}
			p.Abandoned = n
		}
	}
	p.members(s, from)
	return p
}

// members lists the worker processes and what the busy ones wait on.
func (p *Pool) members(s *gauge.Server, from Source) {
	for i := range s.Processes {
		q := &s.Processes[i]
		if q.Master {
			continue
		}
		if q.Oldest.Known && !p.Oldest.AtLeast(q.Oldest.Value) {
			p.Oldest = Known(q.Oldest.Value, Seconds, from)
		}
		m := Member{Name: "worker", PID: q.PID, State: q.State.String(), RSS: Known(float64(q.RSSBytes), Bytes, from), From: from}
		if q.RunState != 0 {
			m.RunState = string(q.RunState)
		}
		if q.State == gauge.Unknown && q.RunState != 0 {
			m.State = m.RunState
		}
		p.Members = append(p.Members, m)
		if q.State != gauge.Busy || q.Wait.Call == "" {
			continue
		}
		peer := ""
		if q.Wait.Peer != (netip.AddrPort{}) {
			peer = q.Wait.Peer.String()
		}
		i := slices.IndexFunc(p.Waits, func(w Wait) bool { return w.Peer == peer && w.Call == q.Wait.Call })
		if i < 0 {
			p.Waits = append(p.Waits, Wait{Peer: peer, Call: q.Wait.Call, Sure: true})
			i = len(p.Waits) - 1
		}
		p.Waits[i].Workers++
		p.Waits[i].Sure = p.Waits[i].Sure && q.Wait.Sure
	}
}

// pools returns what was seen, with the means over all looks.
func (p *pools) pools() []Pool {
	var list []Pool
	for _, l := range p.servers {
		one := l.last
		one.Looks = l.looks
		one.QueuedShare = Known(100*float64(l.queuedLooks)/float64(l.looks), Percent, one.From)
		if !one.Queued.Known {
			one.QueuedShare = one.Queued
		}
		one.BusyShare = Missing(CannotTell, "it cannot be told from outside", one.From)
		if all := l.end.WorkerSeconds - l.begin.WorkerSeconds; all > 0 {
			one.BusyShare = Known(100*(l.end.BusySeconds-l.begin.BusySeconds)/all, Percent, one.From)
		}
		if elapsed := l.at.Sub(l.since).Seconds(); elapsed > 0 {
			one.CPU = Known((l.end.CPUSeconds-l.begin.CPUSeconds)/elapsed, NoUnit, one.From)
		}
		if one.PID == 0 && len(l.pids) == 0 {
			hidden := Missing(Denied, "its processes may not be looked at from here", one.From)
			one.CPU, one.RSS, one.BusyAtLeast = hidden, hidden, hidden
		}
		l.workers.tell(&one)
		list = append(list, one)
	}
	slices.SortStableFunc(list, func(a, b Pool) int { return strings.Compare(a.From.Field, b.From.Field) })
	return list
}

// mostSchedPIDs bounds the processes whose scheduling is read.
const mostSchedPIDs = 64

func (p *pools) pids() []int {
	var pids []int
	for _, l := range p.servers {
		pids = append(pids, l.pids...)
	}
	slices.Sort(pids)
	pids = slices.Compact(pids)
	return pids[:min(len(pids), mostSchedPIDs)]
}

// apps are the servers as the gauge wants to be told of them.
func (p *pools) apps() []gauge.App {
	var apps []gauge.App
	for _, l := range p.servers {
		if len(l.pids) > 0 {
			apps = append(apps, gauge.App{PIDs: l.pids})
		}
	}
	return apps
}

// masters are the topmost processes, with the name of their server.
func (p *pools) masters() map[int]string {
	found := map[int]string{}
	for _, l := range p.servers {
		if l.last.PID > 0 {
			found[l.last.PID] = l.last.From.Field
		}
	}
	return found
}
