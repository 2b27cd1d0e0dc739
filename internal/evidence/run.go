package evidence

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"brink/internal/record"
)

// Window is a stretch of a run. Without a repetition it is the one that From
// lies in, or else the last that has readings.
type Window struct {
	// From and To bound it; zero stands for the ends of the repetition.
	From, To time.Time
	// Repetition is the record's number of it; 0 stands for none.
	Repetition int64
}

func (w Window) holds(ns int64) bool {
	at := time.Unix(0, ns)
	return (w.From.IsZero() || !at.Before(w.From)) && (w.To.IsZero() || !at.After(w.To))
}

func (w Window) bounded() bool { return !w.From.IsZero() || !w.To.IsZero() }

// FromRun makes a case of a window of a run: its samples, events, logs and
// requests. A window lies in one repetition: the next one is another machine.
func FromRun(ctx context.Context, dir string, w Window) (*Case, error) {
	c := &Case{}
	if err := c.addRun(ctx, dir, w); err != nil {
		return nil, err
	}
	return c, nil
}

// FromRecord makes the same of a record that is open.
func FromRecord(ctx context.Context, r *record.Reader, w Window) (*Case, error) {
	c := &Case{}
	if err := c.addRecord(ctx, r, w); err != nil {
		return nil, err
	}
	return c, nil
}

// addRun takes a window of a run into the case.
func (c *Case) addRun(ctx context.Context, dir string, w Window) (err error) {
	r, err := record.Open(dir)
	if err != nil {
		return fmt.Errorf("reading a run: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := c.addRecord(ctx, r, w); err != nil {
		return fmt.Errorf("reading a run: %s: %w", dir, err)
	}
	return nil
}

func (c *Case) addRecord(ctx context.Context, r *record.Reader, w Window) error {
	rep, err := chosen(ctx, r, w)
	if err != nil {
		return err
	}
	b := newBuilder()
	run := &runReader{r: r, b: b, w: w, rep: rep, file: path.Base(r.Path()), apps: map[int64]record.App{}}
	if err := run.read(ctx); err != nil {
		return err
	}
	if w.bounded() && len(b.c.Readings)+len(b.c.Events)+len(b.c.Logs)+len(b.c.Requests) == 0 {
		return outside(ctx, r)
	}
	more, err := b.finish()
	if err != nil {
		return err
	}
	c.join(more)
	return nil
}

// join takes in another case.
func (c *Case) join(o *Case) {
	c.Readings = append(c.Readings, o.Readings...)
	c.Activities = append(c.Activities, o.Activities...)
	c.Events = append(c.Events, o.Events...)
	c.Logs = append(c.Logs, o.Logs...)
	c.Pools = append(c.Pools, o.Pools...)
	c.Containers = append(c.Containers, o.Containers...)
	c.Requests = append(c.Requests, o.Requests...)
	c.Series = append(c.Series, o.Series...)
	c.Tables = append(c.Tables, o.Tables...)
	c.Processes = append(c.Processes, o.Processes...)
	c.Inputs = append(c.Inputs, o.Inputs...)
	c.Strangers = append(c.Strangers, o.Strangers...)
	c.Gaps = append(c.Gaps, o.Gaps...)
	sortEvents(c.Events)
}

// chosen finds the repetition that a window lies in.
func chosen(ctx context.Context, r *record.Reader, w Window) (record.Repetition, error) {
	reps, err := r.Repetitions(ctx)
	if err != nil {
		return record.Repetition{}, err
	}
	for i := len(reps) - 1; i >= 0; i-- {
		rep := reps[i]
		switch {
		case w.Repetition != 0:
			if rep.ID == w.Repetition {
				return rep, nil
			}
		case !w.From.IsZero():
			if rep.StartedNs <= w.From.UnixNano() {
				return rep, nil
			}
		default:
			for range r.Samples(ctx, rep.ID) {
				return rep, nil
			}
		}
	}
	if w.Repetition != 0 {
		return record.Repetition{}, fmt.Errorf("it has no repetition %d: it has %d", w.Repetition, len(reps))
	}
	if w.bounded() {
		return record.Repetition{}, outside(ctx, r)
	}
	return record.Repetition{}, fmt.Errorf("no repetition of it has readings: %w", ErrNothing)
}

// outside says of a window in which nothing lies which times the run covers.
func outside(ctx context.Context, r *record.Reader) error {
	reps, err := r.Repetitions(ctx)
	if err != nil {
		return err
	}
	if len(reps) == 0 {
		return fmt.Errorf("no repetition of it was begun: %w", ErrNothing)
	}
	from, to := reps[0].StartedNs, reps[0].StartedNs
	for i := range reps {
		from, to = min(from, reps[i].StartedNs), max(to, reps[i].StartedNs, reps[i].EndedNs)
	}
	for s, err := range r.Samples(ctx, reps[len(reps)-1].ID) { // which may have no end
		if err != nil {
			return err
		}
		to = max(to, s.AtNs)
	}
	text := func(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339) }
	return fmt.Errorf("it has nothing in that window, it covers %s to %s: %w", text(from), text(to), ErrNothing)
}

// runReader reads one window.
type runReader struct {
	r    *record.Reader
	b    *builder
	w    Window
	rep  record.Repetition
	file string
	apps map[int64]record.App
}

func (x *runReader) read(ctx context.Context) error {
	apps, err := x.r.Apps(ctx, x.rep.ID)
	if err != nil {
		return err
	}
	for _, a := range apps {
		x.apps[a.ID] = a
	}
	for _, step := range []func(context.Context) error{x.samples, x.events, x.logs, x.probes} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	x.notKept()
	x.b.c.Inputs = append(x.b.c.Inputs, Input{File: x.file, As: "run of brink", Note: fmt.Sprintf("repetition %d", x.rep.ID)})
	return nil
}

// notKept says of what a run has in another form that the form is another: it is
// not that nobody looked.
func (x *runReader) notKept() {
	for _, g := range []struct {
		what   Signal
		detail string
	}{
		{HasKernelLog, "a run keeps the kernel's OOM kills as events, and no other line of its log"},
		{HasContainers, "a run keeps the starts and ends of its apps as events"},
		{HasThrottle, "a run keeps how often and how long an app was stopped, not in how many periods it ran"},
		{HasConfig, "a run keeps the server and the workers of an app, not its command"},
	} {
		x.b.gap(g.what, Absent, g.detail, Source{File: x.file})
	}
}

// mostReadings is how many readings of a window are kept, the first and the
// last among them.
const mostReadings = 240

// samples makes readings of the samples: first of the plan's, then of those of
// its apps, which were taken at the same instants.
func (x *runReader) samples(ctx context.Context) error {
	total := 0
	each := func(take func(s *record.Sample)) error {
		for s, err := range x.r.Samples(ctx, x.rep.ID) {
			if err != nil {
				return err
			}
			if x.w.holds(s.AtNs) {
				take(s)
			}
		}
		return nil
	}
	if err := each(func(s *record.Sample) {
		if s.App == "" {
			total++
		}
	}); err != nil {
		return err
	}
	every, n := max((total+mostReadings-2)/(mostReadings-1), 1), 0
	if err := each(func(s *record.Sample) {
		if s.App != "" {
			return
		}
		if n++; (n-1)%every == 0 || n == total {
			x.b.c.Readings = append(x.b.c.Readings, readingOfSample(s, x.file))
		}
	}); err != nil {
		return err
	}
	pools := map[string]*runPool{}
	if err := each(func(s *record.Sample) {
		if s.App == "" {
			return
		}
		if r := x.readingAt(s.AtNs); r != nil && r.Cgroup(s.App) == nil {
			r.Cgroups = append(r.Cgroups, cgroupOfSample(s, x.file))
			r.Listeners = append(r.Listeners, listenerOfSample(s, x.address(s.App), x.file))
		}
		if pools[s.App] == nil {
			pools[s.App] = &runPool{}
		}
		pools[s.App].add(s)
	}); err != nil {
		return err
	}
	for _, app := range sortedKeys(pools) {
		x.b.c.Pools = append(x.b.c.Pools, pools[app].pool(app, x.server(app), x.file))
	}
	return nil
}

// readingAt is the reading of the same tick, nil if it was not kept.
func (x *runReader) readingAt(ns int64) *Reading {
	const tick = 100 * time.Millisecond
	at, all := time.Unix(0, ns), x.b.c.Readings
	i, _ := slices.BinarySearchFunc(all, at, func(r Reading, t time.Time) int { return r.At.Compare(t) })
	for _, j := range []int{i, i - 1} {
		if j >= 0 && j < len(all) && all[j].At.Sub(at).Abs() < tick {
			return &all[j]
		}
	}
	return nil
}

func (x *runReader) address(app string) string {
	for _, a := range x.apps {
		if a.Name == app && a.Addr != "" {
			return a.Addr
		}
	}
	return app
}

func (x *runReader) server(app string) string {
	for _, a := range x.apps {
		if a.Name == app {
			return a.Server
		}
	}
	return ""
}

var runEvents = map[string]EventKind{
	"deployed": ContainerCreated, "started": ContainerStarted, "healthy": ContainerReady, "worker_booted": WorkerBoot,
	"worker_ready": WorkerReady, "worker_exited": WorkerExit, "worker_killed": WorkerSignalled, "exited": ContainerExited,
	"restarted": ContainerStarted, "oom_killed": OOMKill, "gave_up": StartTimeout, "stopped": ContainerStopped,
}

// events takes the events of the apps, by the platform's words where brink was
// the platform.
func (x *runReader) events(ctx context.Context) error {
	events, err := x.r.Events(ctx, x.rep.ID)
	if err != nil {
		return err
	}
	for i, e := range events {
		kind, ok := runEvents[string(e.Kind)]
		if !ok || !x.w.holds(e.AtNs) {
			continue
		}
		from := Source{File: x.file, Line: i + 1, Field: "events"}
		one := Event{At: time.Unix(0, e.AtNs).UTC(), Kind: kind, Origin: FromBrink, App: e.App, From: from,
			Text: fmt.Sprintf("%s: %s %s", e.App, e.Kind, e.Detail), PID: e.Pid, Signal: e.Signal, Reason: string(e.Kind)}
		if e.Code != nil {
			one.Code = Known(float64(*e.Code), NoUnit, from)
		}
		switch kind {
		case OOMKill:
			one.OOMGlobal = oomOfMachine(e.Detail)
		case ContainerReady:
			one.Elapsed = startTook(e.Detail, from)
		}
		x.b.event(one)
	}
	return nil
}

// logs reads the lines of each app as a log.
func (x *runReader) logs(ctx context.Context) error {
	readers := map[string]*logReader{}
	n := 0
	for l, err := range x.r.Logs(ctx, x.rep.ID) {
		if err != nil {
			return err
		}
		if n++; !x.w.holds(l.AtNs) || n > mostLines {
			continue
		}
		r := readers[l.App]
		if r == nil {
			r = x.b.newLog(x.file + " logs of " + l.App)
			r.log.App = l.App
			readers[l.App] = r
		}
		r.line(n, l.Line, time.Unix(0, l.AtNs).UTC(), l.App)
	}
	for _, app := range sortedKeys(readers) {
		readers[app].close()
	}
	return nil
}

// probes takes the requests. How long one took counts from when it was due.
func (x *runReader) probes(ctx context.Context) error {
	streams, err := x.r.Streams(ctx, x.rep.ID)
	if err != nil {
		return err
	}
	for _, s := range streams {
		q := Requests{File: fmt.Sprintf("%s probes of %s %s", x.file, x.apps[s.AppID].Name, pathOf(s.Path)), As: "probes of a run", Outside: true}
		for p, err := range x.r.Probes(ctx, s.ID) {
			if err != nil {
				return err
			}
			if p.Sent == 0 || !x.w.holds(max(p.Done, p.Sent)) {
				continue
			}
			one := Request{App: x.apps[s.AppID].Name, Path: pathOf(s.Path), Asks: strings.Contains(s.Path, "?"), Status: p.Status, Outcome: p.Outcome, Line: int(p.Seq), Seconds: -1}
			if p.Done > 0 {
				one.At = time.Unix(0, p.Done).UTC()
				one.Seconds = float64(p.Done-p.Due) / 1e9
			}
			q.add(one)
		}
		if len(q.List) > 0 {
			x.b.c.Requests = append(x.b.c.Requests, q)
		}
	}
	return nil
}
