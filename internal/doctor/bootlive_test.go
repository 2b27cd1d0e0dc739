package doctor

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"brink/internal/evidence"
)

// gunicorn kills a worker that has not reported for its time-out and fills the
// place within a second (murder_workers, manage_workers in gunicorn/arbiter.py):
// with -w2 -t3 and an import of a minute, ten seconds show two workers replaced
// three times, each after some three seconds. An idle worker stays; a deployment
// replaces workers that have lived for long; and where connections come in and
// none waits, workers may end after so many requests (--max-requests).
func TestWorkersThatAreReplacedWithoutServing(t *testing.T) {
	for _, c := range []struct {
		name                          string
		server                        string
		replaced, least, most, stayed float64
		busy, queued, opened          float64
		found, suspected, good        bool
	}{
		{"a boot loop that nobody calls", "gunicorn sync", 6, 3.02, 3.98, 0, 0, 0, 0, true, false, false},
		{"a boot loop with requests waiting", "gunicorn gthread", 6, 3.02, 3.98, 0, 0, 5, 12, true, false, false},
		{"a boot loop of a loop", "gunicorn uvicorn", 6, 3.02, 3.98, 0, -1, 0, 0, true, false, false},
		{"one round of a time-out of 30 s", "gunicorn sync", 2, 30.1, 31, 0, 0, 0, 0, false, true, false},
		{"connections came and none waits", "gunicorn sync", 6, 3.02, 3.98, 0, 0, 0, 40, false, true, false},
		{"lives of all lengths", "gunicorn sync", 6, 0.4, 7.9, 0, 0, 0, 0, false, true, false},
		{"idle workers", "gunicorn sync", 0, -1, -1, 2, 0, 0, 0, false, false, true},
		{"one worker recycled", "gunicorn sync", 1, 40, 40, 1, 0, 0, 3, false, false, true},
		{"a deployment", "gunicorn sync", 2, 90000, 90000, 0, 0, 0, 0, false, false, true},
		{"recycled while serving", "gunicorn sync", 6, 2, 3, 0, 30, 0, 40, false, false, true},
		{"php-fpm on demand", "php-fpm", 6, 2, 3, 0, 0, 0, 0, false, false, true},
	} {
		p := live(c.server, 2, c.busy, c.queued, 100*min(c.queued, 1), -1, -1)
		if c.busy < 0 {
			p.Workers, p.Busy = p.BusyShare, p.BusyShare
			p.Members = []evidence.Member{{PID: 1}, {PID: 2}}
		}
		known := func(x float64, u evidence.Unit) evidence.Value {
			if x < 0 {
				return evidence.Missing(evidence.CannotTell, "")
			}
			return evidence.Known(x, u, p.From)
		}
		p.Replaced, p.Stayed = known(c.replaced, evidence.Events), known(c.stayed, evidence.Events)
		p.LivedLeast, p.LivedMost = known(c.least, evidence.Seconds), known(c.most, evidence.Seconds)
		socket := listener("127.0.0.1:8000", c.queued, 0)
		p.Sockets = []evidence.Listener{socket}
		pair := apart(10, socket)
		for i := range pair {
			pair[i].Netstat.PassiveOpens = evidence.Known(100+float64(i)*c.opened, evidence.Events, p.From)
		}
		r := Diagnose(&evidence.Case{Pools: []evidence.Pool{p}, Readings: pair})
		found := r.Finding(BootTimeoutLoop) != nil
		suspected := slices.ContainsFunc(r.Unsure, func(k Check) bool { return k.suspicious && strings.Contains(k.Text, "boot-timeout-loop") })
		good := slices.ContainsFunc(r.Good, func(k Check) bool { return k.Area == Workers })
		if found != c.found || suspected != c.suspected || good != c.good {
			t.Errorf("%s: found %v, suspected %v, workers in order %v; want %v, %v, %v", c.name, found, suspected, good, c.found, c.suspected, c.good)
		}
	}
}

// Puma says of a worker that it was given up while it booted, and of which place it
// was (timeout_workers in lib/puma/cluster.rb). One round of that is a slow start of
// all; a place that is named again is a loop.
func TestWorkersOfWhichTheServerSaysThatTheyNeverBooted(t *testing.T) {
	gaveUp := func(line, place int) evidence.Event {
		from := evidence.Source{File: "puma.log", Line: line}
		return evidence.Event{Kind: evidence.WorkerTimeout, Origin: evidence.FromServer, PID: 30 + line, From: from, Limit: evidence.Known(45, evidence.Seconds, from),
			Text: fmt.Sprintf("! Terminating timed out worker (Worker %d failed to boot within 45 seconds): %d", place, 30+line)}
	}
	for name, c := range map[string]struct {
		events []evidence.Event
		want   Mode
	}{
		"a loop":    {[]evidence.Event{gaveUp(1, 0), gaveUp(2, 1), gaveUp(3, 0)}, BootTimeoutLoop},
		"one round": {[]evidence.Event{gaveUp(1, 0), gaveUp(2, 1)}, WorkerTimeout},
	} {
		r := Diagnose(&evidence.Case{Events: c.events, Logs: []evidence.Log{{File: "puma.log", As: "Puma", Origin: evidence.FromServer}}})
		if len(r.Findings) != 1 || r.Findings[0].Mode != c.want || c.want == BootTimeoutLoop && !strings.Contains(r.Findings[0].What, "3 workers killed about 45 s after") {
			t.Errorf("%s: %+v, want %s alone", name, r.Findings, c.want)
		}
	}
}
