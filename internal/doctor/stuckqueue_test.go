package doctor

import (
	"slices"
	"strings"
	"testing"

	"brink/internal/evidence"
)

// opening are readings so far apart between which the kernel put as many new
// connections into queues, with a listener that holds so many at each.
func opening(seconds, opened float64, queues ...float64) []evidence.Reading {
	at := evidence.Source{File: "/proc/net/snmp", Field: "PassiveOpens"}
	pair := apart(seconds)
	for i := range pair {
		pair[i].Listeners = []evidence.Listener{listener("127.0.0.1:8000", queues[i], 0)}
		pair[i].Netstat.ListenOverflows = evidence.Known(3, evidence.Events, at)
		pair[i].Netstat.PassiveOpens = evidence.Known(70+opened*float64(i), evidence.Events, at)
	}
	return pair
}

// A queue that holds something at every look is not in order, though no counter of
// overflows moves. A queue is first in, first out: where none came in and none is
// gone, the server took none (net/ipv4/inet_connection_sock.c).
func TestAQueueThatIsHeldAtEveryLookIsNotInOrder(t *testing.T) {
	for name, c := range map[string]struct {
		readings   []evidence.Reading
		good, bad  bool
		says       string
		wantUnsure bool
	}{
		"ten at both looks":                   {opening(10, 25, 10, 10), false, true, "the server is behind", true},
		"three, and none was taken":           {opening(10, 0, 3, 3), false, true, "the server accepts nothing", true},
		"three, and others came":              {opening(10, 25, 3, 3), false, false, "is not told", true},
		"one for a second":                    {opening(1, 0, 1, 1), false, false, "is not told", true},
		"three at first and none at the last": {opening(10, 25, 3, 0), true, false, "", false},
	} {
		r := Diagnose(&evidence.Case{Readings: c.readings})
		good := slices.ContainsFunc(r.Good, func(c Check) bool { return c.Area == Queues })
		i := slices.IndexFunc(r.Unsure, func(c Check) bool { return c.Area == Queues })
		if good != c.good || i >= 0 != c.wantUnsure {
			t.Errorf("%s: in order %v, want %v; unsure %+v", name, good, c.good, r.Unsure)
		} else if i >= 0 && (r.Unsure[i].suspicious != c.bad || !strings.Contains(r.Unsure[i].Text, c.says)) {
			t.Errorf("%s: %+v, want %q, suspicious %v", name, r.Unsure[i], c.says, c.bad)
		}
	}
}

// Where the oldest connection has waited for longer than the readings span, none was
// taken in that time, whatever other listeners of the machine took.
func TestAFullQueueFromWhichNothingIsTakenIsNoBurst(t *testing.T) {
	stuck := listener("127.0.0.1:8000", 5, 28)
	stuck.Backlog.Number = 4
	for name, c := range map[string]struct {
		oldest float64
		cause  string
	}{
		"the oldest is older":   {12, "accepts nothing"},
		"the oldest is younger": {2, "connections come faster than the server accepts them"},
	} {
		pool := evidence.Pool{Name: "app", Workers: evidence.Missing(evidence.Denied, "not root"), Oldest: evidence.Known(c.oldest, evidence.Seconds, evidence.Source{File: "sock_diag"}),
			Seen: evidence.PoolLive, Sockets: []evidence.Listener{stuck}}
		f := Diagnose(&evidence.Case{Readings: apart(10, stuck), Pools: []evidence.Pool{pool}}).Finding(AcceptQueueFilled)
		if f == nil || !strings.Contains(f.Cause, c.cause) || strings.Contains(f.Cause, "ordinary burst of clients") || strings.Contains(strings.Join(f.Now, " "), "Raise") {
			t.Errorf("%s: %+v, want the cause %q, and no advice to raise the backlog first", name, f, c.cause)
		}
	}
}
