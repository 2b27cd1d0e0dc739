package doctor

import (
	"slices"
	"strings"
	"testing"

	"brink/internal/evidence"
)

// readings are two, of a network namespace in which connections overflowed and
// listeners dropped something in between.
func readings(overflows float64, listeners ...evidence.Listener) []evidence.Reading {
	at := evidence.Source{File: "/proc/net/netstat", Field: "ListenOverflows"}
	before := evidence.Reading{Name: "t0"}
	before.Netstat.ListenOverflows = evidence.Known(17, evidence.Events, at)
	after := evidence.Reading{Name: "t1", Listeners: listeners}
	after.Netstat.ListenOverflows = evidence.Known(17+overflows, evidence.Events, at)
	for _, s := range listeners {
		s.Drops.Number = 5000
		before.Listeners = append(before.Listeners, s)
	}
	return []evidence.Reading{before, after}
}

func listener(address string, queue, drops float64) evidence.Listener {
	at := evidence.Source{File: "sock_diag", Field: address}
	return evidence.Listener{Address: address, Queue: evidence.Known(queue, evidence.Events, at), Backlog: evidence.Known(511, evidence.Events, at),
		Drops: evidence.Known(5000+drops, evidence.Events, at)}
}

// Apache defers accepting until a request is there (TCP_DEFER_ACCEPT), and the
// kernel then counts a drop of the listener for every connection: seen live, 49
// in two seconds at a use of 0.8. Only where a queue overflowed do drops tell
// which it was.
func TestDropsOfADeferringListenerAreNoOverflow(t *testing.T) {
	apache, full, calm := listener("127.0.0.1:80", 2, 49), listener("127.0.0.1:8000", 512, 12), listener("127.0.0.1:9000", 0, 0)
	for name, c := range map[string]struct {
		readings []evidence.Reading
		subject  string
		level    Level
	}{
		"deferred, and no overflow":       {readings(0, apache, calm), "none", ""},
		"overflow of the only one":        {readings(12, listener("127.0.0.1:8000", 0, 12), calm), "127.0.0.1:8000", Observed},
		"overflow of the full one":        {readings(12, apache, full), "127.0.0.1:8000", Observed},
		"overflow of the full one, first": {readings(12, full, apache), "127.0.0.1:8000", Observed},
		"overflow of one of two":          {readings(12, apache, listener("127.0.0.1:8000", 0, 12)), "127.0.0.1:8000", Observed},
		"overflow of both or one":         {readings(12, apache, listener("127.0.0.1:8000", 0, 7)), "", Inferred},
	} {
		r := Diagnose(&evidence.Case{Readings: c.readings})
		subject, level := "none", Level("")
		if f := r.Finding(AcceptQueueFilled); f != nil {
			subject, level = f.Subject, f.Level
		}
		if subject != c.subject || level != c.level {
			t.Errorf("%s: %q (%s), want %q (%s)", name, subject, level, c.subject, c.level)
		}
	}
}

// The kernel lets one more into a queue than its backlog says (sk_acceptq_is_full
// compares with >): 3 of 3 turns nobody away, and is not in order either. What is
// full at every reading was not seen at one instant.
func TestAQueueAtItsBacklogIsNotFull(t *testing.T) {
	at, full := listener("127.0.0.1:8000", 3, 0), listener("127.0.0.1:8000", 4, 0)
	at.Backlog.Number, full.Backlog.Number = 3, 3
	r := Diagnose(&evidence.Case{Readings: apart(5, at)})
	if len(r.Findings) > 0 || slices.ContainsFunc(r.Good, func(c Check) bool { return c.Area == Queues }) {
		t.Errorf("3 of 3: %v, %+v, want neither a finding nor in order", modesFound(r), r.Good)
	}
	f := Diagnose(&evidence.Case{Readings: apart(5, full)}).Finding(AcceptQueueFilled)
	if f == nil || f.LevelRule != "the queue was full at every reading" || !strings.Contains(f.Span, "at least 5s") {
		t.Errorf("4 of 3 at both readings: %+v, want it to last", f)
	}
	f = Diagnose(&evidence.Case{Readings: []evidence.Reading{apart(5, at)[0], apart(5, full)[1]}}).Finding(AcceptQueueFilled)
	if f == nil || f.Span != "at the one instant that was read" {
		t.Errorf("4 of 3 at the second: %+v, want one instant", f)
	}
}

// In a network namespace of its own nothing listens and no counter moves: that is
// no accept queue in order.
func TestCountersOfAnEmptyNamespaceAreNotInOrder(t *testing.T) {
	at := evidence.Source{File: "/proc/net/snmp", Field: "PassiveOpens"}
	for opened, want := range map[float64]bool{0: false, 3: true} {
		pair := readings(0)
		pair[0].Netstat.PassiveOpens, pair[1].Netstat.PassiveOpens = evidence.Known(7, evidence.Events, at), evidence.Known(7+opened, evidence.Events, at)
		r := Diagnose(&evidence.Case{Readings: pair})
		if good := len(r.Good) > 0; good != want {
			t.Errorf("%v connections accepted: in order is %v, want %v", opened, good, want)
		}
	}
}
