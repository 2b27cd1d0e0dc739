package doctor

import (
	"slices"
	"strings"
	"testing"
	"time"

	"brink/internal/evidence"
)

// live is a pool as the gauge reports it after a window of ten seconds.
func live(server string, workers, busyShare, queued, queuedShare, oldest, service float64) evidence.Pool {
	from := evidence.Source{File: "sock_diag and /proc", Field: server}
	v := func(x float64, unit evidence.Unit) evidence.Value {
		if x < 0 {
			return evidence.Missing(evidence.CannotTell, "")
		}
		return evidence.Known(x, unit, from)
	}
	return evidence.Pool{
		Server: server, Seen: evidence.PoolLive, From: from, PID: 4321, Looks: 6, Workers: v(workers, evidence.Events), Busy: v(workers, evidence.Events),
		BusyShare: v(busyShare, evidence.Percent), Queued: v(queued, evidence.Events), QueuedShare: v(queuedShare, evidence.Percent),
		Oldest: v(oldest, evidence.Seconds), Service: v(service, evidence.Seconds), CPU: v(0.02, evidence.NoUnit), RSS: v(200<<20, evidence.Bytes),
	}
}

// loop is a server with one loop: of its workers nothing can be told, but the
// kernel has its accept queue and the age of what waits there.
func loop(server string, queue, oldest float64) evidence.Pool {
	p := live(server, -1, -1, -1, -1, oldest, -1)
	at := evidence.Source{File: "sock_diag"}
	p.Sockets = []evidence.Listener{{Address: "127.0.0.1:3000", Port: 3000, Queue: evidence.Known(queue, evidence.Events, at), Backlog: evidence.Known(511, evidence.Events, at)}}
	return p
}

// What a pool looks like in good health is known from field measurements: at
// half use something waits in 12 % of looks, at 0.8 in 42 %; the mean wait of
// M/D/4 at 0.8 is 0.45 of the time that a request takes.
func TestLivePools(t *testing.T) {
	for _, c := range []struct {
		name string
		pool evidence.Pool
		want Mode
	}{
		{"eight requests of 5 s at four sync workers, which is twice over", live("gunicorn sync", 4, 100, 4, 100, 4.9, 5), ""},
		{"twelve of them", live("gunicorn sync", 4, 100, 8, 100, 9.1, 5), WorkerExhaustion},
		{"twelve of them, and no request has ended yet", live("gunicorn sync", 4, 100, 8, 100, 8, -1), WorkerExhaustion},
		{"a burst at use 0.8, seen for a second", live("gunicorn gthread", 4, 100, 14, 100, 1.1, -1), ""},
		{"use 0.8 with requests of 100 ms", live("gunicorn sync", 4, 80, 1, 42, 0.045, 0.1), ""},
		{"use 0.5", live("php-fpm", 5, 50, 0, 12, -1, 0.1), ""},
		{"a moment of use 0.8 with everything busy", live("Apache prefork", 4, 97, 2, 95, 0.08, 0.1), ""},
		{"a long queue of short requests", live("uwsgi", 2, 100, 60, 100, 3.1, 0.1), WorkerExhaustion},
		{"gthread with more requests than threads", live("gunicorn gthread", 8, 100, 16, 100, 12, 5), WorkerExhaustion},
		{"a slow answer at a pool with room", live("gunicorn sync", 4, 60, 0, 17, -1, 2), ""},
		{"a loop that stands", loop("Node.js", 3, 13.1), EventLoopBlocked},
		{"a loop that turns", loop("Node.js", 0, -1), ""},
		{"a loop with one connection of this moment", loop("uvicorn", 1, 0.02), ""},
	} {
		r := Diagnose(&evidence.Case{Pools: []evidence.Pool{c.pool}})
		got := Mode("")
		if len(r.Findings) > 0 {
			got = r.Findings[0].Mode
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if c.want == "" && r.Verdict != Healthy {
			t.Errorf("%s: %s, want healthy", c.name, r.Verdict)
		}
	}
}

// Requests that wait although workers are free, or where nothing tells what
// workers do, are no finding and nothing to call healthy: the workers may be
// booting again and again.
func TestARequestThatNobodyTakesIsNotHealthy(t *testing.T) {
	booting, hidden := live("gunicorn sync", 1, 0, 1, 100, 12, -1), loop("", 4, 40)
	hidden.PID = 0
	for name, p := range map[string]evidence.Pool{"idle workers": booting, "hidden processes": hidden} {
		r := Diagnose(&evidence.Case{Pools: []evidence.Pool{p}, Readings: []evidence.Reading{{Listeners: loop("", 1, 1).Sockets}}})
		if len(r.Findings) > 0 || r.Verdict != Unknown || len(r.Unsure) == 0 {
			t.Errorf("%s: %s, %v, want no finding and no verdict", name, r.Verdict, modesFound(r))
		}
	}
}

// Behind a unix socket nothing tells the age of what waits. That it is there at every
// look although workers are free is no finding, and not in order either; at a use
// of 0.5 something waits in 12 % of looks.
func TestAUnixQueueBeforeFreeWorkersIsNotHealthy(t *testing.T) {
	for _, c := range []struct {
		busy, queuedShare float64
		good              bool
	}{{0, 100, false}, {20, 100, false}, {50, 12, true}, {0, 0, true}, {80, 42, true}} {
		p := live("gunicorn sync", 2, c.busy, min(c.queuedShare, 3), c.queuedShare, -1, -1)
		p.Sockets = []evidence.Listener{{Address: "/run/u.sock", Unix: true, Queue: p.Queued, Backlog: evidence.Known(2048, evidence.Events, p.From)}}
		r := Diagnose(&evidence.Case{Pools: []evidence.Pool{p}})
		if good := slices.ContainsFunc(r.Good, func(k Check) bool { return k.Area == Workers }); len(r.Findings) > 0 || good != c.good {
			t.Errorf("busy %v %%, queued in %v %% of looks: %v, in order %v, want %v", c.busy, c.queuedShare, modesFound(r), good, c.good)
		}
	}
}

// Of a run, whose pools are called as the apps are, the pool of an app whose workers
// are given up while they boot looks idle. It is not in order; that of another app
// is.
func TestThePoolOfAnAppInABootLoopIsNotInOrder(t *testing.T) {
	c := &evidence.Case{}
	for _, app := range []string{"looping", "well"} {
		p := live("gunicorn sync", 1, 1, 0, 3, -1, 0.1)
		p.Name = app
		c.Pools = append(c.Pools, p)
	}
	start := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
	for i := range 3 {
		at := start.Add(time.Duration(i) * 31 * time.Second)
		for kind, later := range map[evidence.EventKind]time.Duration{evidence.WorkerBoot: 0, evidence.WorkerTimeout: 30 * time.Second} {
			c.Events = append(c.Events, evidence.Event{Kind: kind, App: "looping", PID: 10 + i, At: at.Add(later), Origin: evidence.FromServer, From: evidence.Source{File: "log", Line: i + 1}})
		}
	}
	slices.SortFunc(c.Events, func(a, b evidence.Event) int { return a.At.Compare(b.At) })
	c.Logs = []evidence.Log{{File: "log", As: "gunicorn", Origin: evidence.FromServer}}
	r := Diagnose(c)
	if f := r.Finding(BootTimeoutLoop); f == nil || f.Subject != "looping" {
		t.Fatalf("found: %v", modesFound(r))
	}
	text := ""
	for _, k := range r.Good {
		text += k.Text + "\n"
	}
	if contains(text, "looping") || !contains(text, "gunicorn sync well") {
		t.Errorf("in order: %s", text)
	}
}

// A backend that holds the workers is the cause, and more workers are no advice
// then; without one, advice on workers tells what one takes.
func TestAdviceOnWorkers(t *testing.T) {
	p := live("gunicorn sync", 4, 100, 8, 100, 9, 5)
	r := Diagnose(&evidence.Case{Pools: []evidence.Pool{p}})
	if text, _ := spoken(r); !contains(text, "each worker process holds about 50 MiB") {
		t.Errorf("the memory of a worker is not told:\n%s", text)
	}
	p.Waits = []evidence.Wait{{Peer: "10.0.0.5:5432", Call: "recvfrom", Workers: 3, Sure: true}, {Call: "clock_nanosleep", Workers: 1}}
	r = Diagnose(&evidence.Case{Pools: []evidence.Pool{p}})
	text, numbers := spoken(r)
	if !contains(text, "10.0.0.5:5432: that backend holds them") || contains(text, "More workers or threads") {
		t.Errorf("the backend is not the cause:\n%s", text)
	}
	if !hasNumber(numbers, 3) {
		t.Errorf("how many workers wait on it is not named: %v", numbers)
	}
}

// Threads share the memory of their process: one of 60 MiB with three of them is
// not three workers of 20 MiB, nor is its master's memory theirs.
func TestThreadsHoldTheMemoryOfOneProcess(t *testing.T) {
	p := live("gunicorn gthread", 3, 100, 6, 100, 9, 5)
	p.RSS = evidence.Known(80<<20, evidence.Bytes, p.From)
	p.Members = []evidence.Member{{Name: "worker", PID: 7, State: "busy", RSS: evidence.Known(60<<20, evidence.Bytes, p.From), From: p.From}}
	text, _ := spoken(Diagnose(&evidence.Case{Pools: []evidence.Pool{p}}))
	if !contains(text, "each worker process holds about 60 MiB") {
		t.Errorf("want 60 MiB for the one process:\n%s", text)
	}
}

// apart are two readings of a machine, some seconds from each other.
func apart(seconds float64, sockets ...evidence.Listener) []evidence.Reading {
	at := evidence.Source{File: "/proc/uptime"}
	first, last := evidence.Reading{Name: "t0", Listeners: sockets}, evidence.Reading{Name: "t1", Listeners: sockets}
	first.Clock, last.Clock = evidence.Known(0, evidence.Seconds, at), evidence.Known(seconds, evidence.Seconds, at)
	return []evidence.Reading{first, last}
}

// Nothing tells for how long connections of a unix socket have waited. That no
// worker ran while a round of them waited for longer than ageAlone says is enough;
// less is neither a finding nor in order: in a simulation of four workers at 0.8
// with requests of a second, a queue is there at each of six looks over 6 s, with a
// round in it and all workers busy, in 17 % of windows.
func TestPoolBehindAUnixSocket(t *testing.T) {
	at := evidence.Source{File: "unix_diag"}
	socket := evidence.Listener{Address: "/run/u.sock", Unix: true, Queue: evidence.Known(4, evidence.Events, at), Backlog: evidence.Known(3, evidence.Events, at)}
	for _, c := range []struct {
		name                 string
		seconds, queued, ran float64
		want                 Mode
		good                 bool
	}{
		{"eight seconds, and the worker never ran", 8, 4, 0, WorkerExhaustion, false},
		{"two seconds", 2, 4, 0, AcceptQueueFilled, false},
		{"it ran as for two requests", 8, 4, 0.001, AcceptQueueFilled, false},
		{"it was not looked at", 8, 4, -1, AcceptQueueFilled, false},
		{"less than a round", 8, 0, 0, AcceptQueueFilled, true},
	} {
		p := live("gunicorn sync", 1, 100, c.queued, 100, -1, -1)
		p.Sockets = []evidence.Listener{socket}
		p.Members = []evidence.Member{{Name: "worker", PID: 12, State: "busy", RSS: p.RSS}}
		pair := apart(c.seconds, socket)
		for i := range pair {
			if c.ran >= 0 {
				pair[i].Sched = []evidence.Sched{{PID: 12, Run: evidence.Known(7+float64(i)*c.ran, evidence.Seconds, at), Wait: evidence.Known(1, evidence.Seconds, at)}}
			}
		}
		r := Diagnose(&evidence.Case{Pools: []evidence.Pool{p}, Readings: pair})
		good := slices.ContainsFunc(r.Good, func(k Check) bool { return k.Area == Workers })
		if len(r.Findings) == 0 || r.Findings[0].Mode != c.want || good != c.good {
			t.Errorf("%s: %v, workers in order: %v; want %s, %v", c.name, modesFound(r), good, c.want, c.good)
		}
		if f := r.Finding(AcceptQueueFilled); c.want == WorkerExhaustion && (f == nil || f.CausedBy != WorkerExhaustion) {
			t.Errorf("%s: %v, want the full queue as what follows", c.name, modesFound(r))
		}
	}
}

// What has waited for longer than the readings span has lasted for as long.
func TestAFindingLastsAsLongAsWhatWaits(t *testing.T) {
	p := live("gunicorn sync", 4, 100, 8, 100, 7.1, -1)
	p.Sockets = []evidence.Listener{{Address: "0.0.0.0:8000", Queue: evidence.Known(8, evidence.Events, p.From), Backlog: evidence.Known(2048, evidence.Events, p.From)}}
	r := Diagnose(&evidence.Case{Pools: []evidence.Pool{p}, Readings: apart(2, p.Sockets...)})
	if f := r.Finding(WorkerExhaustion); f == nil || f.Span != "for at least 7s: as long has the oldest waited" {
		t.Errorf("it lasts %+v, want 7 s", f)
	}
}

// A full pool explains the queue in front of it, and a thrash explains both;
// a backend that holds the workers stands for itself.
func TestOnePoolsQueueIsItsSymptom(t *testing.T) {
	p := live("gunicorn sync", 4, 100, 5, 100, 9, 5)
	at := evidence.Source{File: "ss"}
	p.Sockets = []evidence.Listener{{Address: "0.0.0.0:8000", Port: 8000, Queue: evidence.Known(5, evidence.Events, at), Backlog: evidence.Known(4, evidence.Events, at)}}
	c := &evidence.Case{Pools: []evidence.Pool{p}, Readings: []evidence.Reading{{Listeners: p.Sockets}}}
	r := Diagnose(c)
	c.Readings[0].Listeners = []evidence.Listener{{Address: "0.0.0.0:9", Queue: evidence.Known(5, evidence.Events, at), Backlog: evidence.Known(4, evidence.Events, at)}}
	if other := Diagnose(c).Finding(AcceptQueueFilled); other == nil || other.CausedBy != "" {
		t.Errorf("the queue of another server is %+v, want it to stand for itself", other)
	}
	if len(r.Findings) != 2 || r.Findings[0].Mode != WorkerExhaustion || r.Findings[1].CausedBy != WorkerExhaustion {
		t.Errorf("the findings are %+v, want the pool and, as its symptom, the queue", modesFound(r))
	}
}

func modesFound(r *Report) []string {
	var modes []string
	for i := range r.Findings {
		modes = append(modes, string(r.Findings[i].Mode)+" because of "+string(r.Findings[i].CausedBy))
	}
	return modes
}

func contains(text, part string) bool { return strings.Contains(text, part) }

func hasNumber(numbers []float64, want float64) bool { return slices.Contains(numbers, want) }

// A CPU that others keep busy does not explain workers that only wait.
func TestABusyMachineDoesNotExplainWorkersThatWait(t *testing.T) {
	waiting := finding(t, live("gunicorn sync", 4, 100, 8, 100, 9, 5))
	computing := live("gunicorn sync", 4, 100, 8, 100, 9, 5)
	computing.CPU = evidence.Known(1.9, evidence.NoUnit, computing.From)
	for _, c := range []struct {
		f    Finding
		want Mode
	}{{waiting, ""}, {finding(t, computing), CPUContention}} {
		ordered := inCausalOrder([]Finding{{Mode: CPUContention}, c.f})
		if ordered[1].CausedBy != c.want {
			t.Errorf("%s is caused by %q, want %q", ordered[1].Cause, ordered[1].CausedBy, c.want)
		}
	}
}

func finding(t *testing.T, p evidence.Pool) Finding {
	t.Helper()
	r := Diagnose(&evidence.Case{Pools: []evidence.Pool{p}})
	if len(r.Findings) != 1 {
		t.Fatalf("%d findings, want 1", len(r.Findings))
	}
	return r.Findings[0]
}

// Of a server of no known kind only the address is known, to root as to others.
func TestAServerOfNoKnownKindIsCalledByItsAddress(t *testing.T) {
	p := live("unknown", 1, -1, 10, 100, 8, -1)
	p.Workers, p.Busy, p.BusyShare = evidence.Value{}, evidence.Value{}, evidence.Value{}
	p.Sockets = []evidence.Listener{{Address: "127.0.0.1:18090", Port: 18090, Queue: p.Queued}}
	r := Diagnose(&evidence.Case{Pools: []evidence.Pool{p}})
	const want = "The server at 127.0.0.1:18090 leaves 10 requests waiting, the oldest for 8 s so far; what its workers do cannot be told."
	if !slices.ContainsFunc(r.Unsure, func(k Check) bool { return k.Text == want }) {
		t.Errorf("unsure: %+v, want %q", r.Unsure, want)
	}
}
