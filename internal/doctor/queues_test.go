package doctor

import (
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
