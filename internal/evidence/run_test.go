package evidence

import (
	"errors"
	"strings"
	"testing"
	"time"

	"brink/internal/record"
	"brink/internal/wire"
)

var runStart = time.Date(2026, 1, 2, 3, 5, 0, 0, time.UTC)

func runSample(app string, at time.Duration, set func(*record.Sample)) *record.Sample {
	s := &record.Sample{}
	s.Clear()
	s.App, s.AtNs = app, runStart.Add(at).UnixNano()
	set(s)
	return s
}

// newRun writes a run of two repetitions, of which the second has n samples a
// second apart; memory falls by 1 MiB a second and swap-out runs at 100 pages/s.
func newRun(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	w, err := record.Create(dir, record.Run{ID: "r-1", Experiment: "x", StartedNs: runStart.UnixNano()})
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	id := func(id int64, err error) int64 { t.Helper(); check(err); return id }
	step := id(w.AddStep(record.Step{Ordinal: 1, Name: "S", JSON: "{}"}))
	first := id(w.BeginRepetition(record.Repetition{StepID: step, Number: 1, Position: 1, StartedNs: runStart.Add(-time.Hour).UnixNano(), Status: record.Running}))
	check(w.Sample(first, runSample("", -time.Hour, func(s *record.Sample) { s.MemTotal = 7 })))
	rep := id(w.BeginRepetition(record.Repetition{StepID: step, Number: 2, Position: 2, StartedNs: runStart.UnixNano(), Status: record.Running}))
	app := id(w.AddApp(record.App{RepetitionID: rep, Name: "site", Runtime: "flask", Server: "gunicorn sync", Addr: "127.0.0.1:8000", Workers: 4, JSON: "{}"}))
	stream := id(w.AddStream(record.Stream{RepetitionID: rep, AppID: app, Ordinal: 1, Kind: "steady", Method: "GET", Path: "/hold?secret=1", JSON: "{}"}))
	for i := range n {
		at := time.Duration(i) * time.Second
		check(w.Sample(rep, runSample("", at, func(s *record.Sample) {
			s.MemTotal, s.MemAvailable, s.Pswpout, s.PSIMemFull = 2000<<20, int64(1000-i)<<20, int64(100*i), int64(i)*1000
		})))
		check(w.Sample(rep, runSample("site", at, func(s *record.Sample) {
			s.Workers, s.Busy, s.Idle, s.Queued, s.QueueDepth, s.QueueLimit, s.CgThrottledNs = 4, 3, 1, int64(i%2), int64(i%2), 2048, int64(i)*1e6
		})))
	}
	check(w.Event(rep, wire.Event{App: "site", AtNs: runStart.Add(2 * time.Second).UnixNano(), Kind: wire.WorkerKilled, Pid: 9, Signal: 9}))
	check(w.Log(rep, record.Log{App: "site", AtNs: runStart.Add(3 * time.Second).UnixNano(), Stream: "stderr", Line: "[2026-01-02 03:05:03 +0000] [1] [CRITICAL] WORKER TIMEOUT (pid:9)"}))
	due := runStart.Add(time.Second).UnixNano()
	check(w.Probe(stream, &record.Probe{Seq: 1, Due: due, Sent: due + 1e6, Done: due + 5e9, Status: 200, Outcome: "ok", ServedNs: -1}))
	check(w.Finish(record.Done, ""))
	check(w.Close())
	return dir
}

func TestARunIsACase(t *testing.T) {
	dir := newRun(t, 11)
	c, err := Read(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	wantWhole(t, c)
	if len(c.Readings) != 11 {
		t.Fatalf("%d readings", len(c.Readings))
	}
	wantValue(t, "available", c.Last().Meminfo.MemAvailable, 990<<20, Bytes, "record.db samples.mem_available")
	wantValue(t, "swap out", c.Rate(func(r *Reading) Value { return r.Vmstat.Pswpout }), 100, "pages/s", "")
	// 10,000 µs in 10 s.
	wantValue(t, "stalled", c.Rate(func(r *Reading) Value { return r.PSI.Memory.Full.Total }), 1000, "µs/s", "")
	wantMissing(t, "free", c.Last().Meminfo.MemFree, Absent)
	wantValue(t, "throttled", c.Delta(OfCgroup("site", func(g *Cgroup) Value { return g.CPU.ThrottledMicros })), 10_000, Micros, "")
	wantEvents(t, c, "2026-01-02T03:05:02 worker signalled app=site pid=9 signal=9 reason=worker_killed",
		"2026-01-02T03:05:03 worker timeout app=site pid=9")
	p := c.Pools[0]
	if p.Server != "gunicorn sync" || p.Looks != 11 {
		t.Errorf("pool: %+v", p)
	}
	wantValue(t, "busy", p.BusyShare, 75, Percent, "")
	wantValue(t, "queued", p.QueuedShare, 100*5.0/11, Percent, "")
	if l := c.Last().Listener("127.0.0.1:8000"); l == nil || l.Port != 8000 {
		t.Errorf("listeners: %+v", c.Last().Listeners)
	}
	q := c.Requests[0].List[0]
	if q.Seconds != 5 || q.Path != "/hold" || !c.Requests[0].Outside {
		t.Errorf("request: %+v", q)
	}
}

func TestAWindowOfARun(t *testing.T) {
	dir := newRun(t, 11)
	c, err := FromRun(t.Context(), dir, Window{From: runStart.Add(4 * time.Second), To: runStart.Add(6 * time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Readings) != 3 || len(c.Events) != 0 {
		t.Errorf("%d readings, events %+v", len(c.Readings), c.Events)
	}
	c, err = FromRun(t.Context(), dir, Window{Repetition: 1})
	if err != nil || len(c.Readings) != 1 || c.Last().Meminfo.MemTotal.Number != 7 {
		t.Errorf("the first repetition: %v, %+v", err, c)
	}
	if _, err := FromRun(t.Context(), dir, Window{Repetition: 9}); err == nil || !strings.Contains(err.Error(), "it has no repetition 9: it has 2") {
		t.Errorf("a repetition that is not there: %v", err)
	}
	for _, w := range []Window{{From: runStart.Add(-24 * time.Hour), To: runStart.Add(-23 * time.Hour)}, {From: runStart.Add(24 * time.Hour)}} {
		if _, err := FromRun(t.Context(), dir, w); !errors.Is(err, ErrNothing) || !strings.Contains(err.Error(), "it covers 2026-01-02T02:05:00Z to 2026-01-02T03:") {
			t.Errorf("outside of the run: %v", err)
		}
	}
	if _, err := FromRun(t.Context(), dir, Window{From: runStart.Add(-24 * time.Hour)}); !errors.Is(err, ErrNothing) {
		t.Errorf("a window before the run: %v", err)
	}
	if _, err := FromRun(t.Context(), t.TempDir(), Window{}); !errors.Is(err, record.ErrNotRun) {
		t.Errorf("no run: %v", err)
	}
}

func TestALongRunIsThinnedOut(t *testing.T) {
	c, err := FromRun(t.Context(), newRun(t, 1000), Window{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(c.Readings); n > mostReadings+1 || n < mostReadings/2 {
		t.Errorf("%d readings", n)
	}
	// 999 s from the first to the last.
	if s, _ := c.Span(); s.Seconds.Number != 999 {
		t.Errorf("span: %v", s.Seconds)
	}
	if len(c.Last().Cgroups) != 1 || c.Pools[0].Looks != 1000 {
		t.Errorf("cgroups %+v, pool %+v", c.Last().Cgroups, c.Pools[0])
	}
}

// An event of a run says whose memory was out where the kernel's log told it, and
// is no word on it otherwise.
func TestWhoseMemoryWasOutInARun(t *testing.T) {
	for detail, want := range map[string]Tri{
		"the machine was out of memory: Killed process 41 (python3), anon-rss:301212kB": Yes,
		"its cgroup was out of memory: Killed process 41 (python3), anon-rss:1kB":       No,
		"memory.events counted a kill": Unsure,
		"":                             Unsure,
	} {
		if got := oomOfMachine(detail); got != want {
			t.Errorf("%q: %q, want %q", detail, got, want)
		}
	}
}

// What a run has, in whatever form, is not among what nobody has seen: the workers
// that were counted, and the kernel's kills, which stand among its events.
func TestARunSaysInWhichFormItHasThings(t *testing.T) {
	c, err := Read(t.Context(), newRun(t, 11))
	if err != nil {
		t.Fatal(err)
	}
	if !c.Has(HasPools) {
		t.Error("its worker pools count as not seen")
	}
	for _, g := range c.Unseen() {
		switch g.What {
		case HasPools, HasListeners, HasServerLog, HasPlatformLog, HasRequests, HasMeminfo:
			t.Errorf("%s is in the run, and not seen", g.What)
		case HasKernelLog, HasContainers, HasThrottle, HasConfig:
			if g.Why != Absent || !strings.Contains(g.Detail, "a run keeps") {
				t.Errorf("%s: %s, %q, want what the run keeps in its place", g.What, g.Why, g.Detail)
			}
		}
	}
}

// How long a start took is in what the lab says of an app that became healthy.
func TestARunTellsHowLongAStartTook(t *testing.T) {
	from := Source{File: "record.db", Line: 1, Field: "events"}
	wantValue(t, "after two minutes", startTook("after 2m2.392s", from), 122.392, Seconds, "record.db:1 events")
	if v := startTook("it answers again", from); v.Known {
		t.Errorf("%v is told of what does not say so", v)
	}
}
