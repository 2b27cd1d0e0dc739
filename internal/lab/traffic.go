package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"brink/internal/experiment"
	"brink/internal/record"
	"brink/internal/traffic"
)

// tail is how long sampling goes on after the last answer, so that the last
// reading lies behind the traffic.
const tail = 250 * time.Millisecond

// traffic sends all streams of a step side by side and waits for the last
// answer. A rate that was not held makes the repetition invalid.
func (l *lab) traffic(ctx context.Context, d *deployment, step *experiment.Step, rep *record.Repetition) error {
	l.tracker.set(func(x *Progress) { x.Stage = Traffic })
	if err := l.Clock.Sleep(ctx, tail); err != nil {
		rep.Status, rep.Reason = "interrupted", "stopped before traffic"
		return nil
	}
	rep.TrafficNs = l.Clock.Now().UnixNano()
	if err := l.Record.UpdateRepetition(*rep); err != nil {
		return err
	}
	stop := l.tracker.pulse(ctx, l.Clock)
	streams := make([]outcome, len(step.Traffic))
	var wg sync.WaitGroup
	for i, t := range step.Traffic {
		wg.Go(func() { streams[i] = l.stream(ctx, d, t, i, rep) })
	}
	wg.Wait()
	stop()
	rep.TrafficEndNs = l.Clock.Now().UnixNano()
	rep.Status = "done"
	var invalid []string
	for _, s := range streams {
		if s.err != nil {
			return s.err
		}
		if s.invalid != "" {
			invalid = append(invalid, s.invalid)
		}
	}
	switch {
	case ctx.Err() != nil:
		rep.Status, rep.Reason = "interrupted", "stopped while traffic ran"
	case len(invalid) > 0:
		rep.Status, rep.Reason = "invalid", strings.Join(invalid, "; ")
	default:
		_ = l.Clock.Sleep(ctx, tail)
	}
	return nil
}

type outcome struct {
	invalid string
	err     error
}

// stream sends one stream at its app, or notes that the app is not there.
func (l *lab) stream(ctx context.Context, d *deployment, t experiment.Traffic, ordinal int, rep *record.Repetition) outcome {
	target, ok := d.target(t.App)
	if !ok {
		return outcome{} // the app did not start, which its events tell
	}
	text, err := json.Marshal(t)
	if err != nil {
		return outcome{err: err}
	}
	row := record.Stream{
		RepetitionID: rep.ID, AppID: target.id, Ordinal: ordinal + 1,
		Kind: t.Kind, Method: "GET", Path: t.Path, JSON: string(text),
	}
	if row.ID, err = l.Record.AddStream(row); err != nil {
		return outcome{err: err}
	}
	if err := l.Clock.Sleep(ctx, time.Duration(t.Start)); err != nil {
		return outcome{}
	}
	spec := l.spec(t, ordinal, rep)
	sum, err := traffic.Run(ctx, l.Clock, spec, target.addr, func(p *traffic.Probe) { l.probe(row.ID, p) },
		traffic.WithInFlight(&l.tracker.inFlight))
	if err != nil && ctx.Err() == nil {
		return outcome{err: fmt.Errorf("traffic at %s: %w", target.addr, err)}
	}
	row.Scheduled, row.Sent, row.Held = sum.Scheduled, sum.Sent, sum.Held
	row.Shortfall, row.Note = sum.Shortfall, sum.Reason
	if err := l.Record.UpdateStream(row); err != nil {
		return outcome{err: err}
	}
	if !sum.Held && ctx.Err() == nil {
		return outcome{invalid: sum.Reason}
	}
	return outcome{}
}

// target finds an app by name; traffic without a name means the only app.
func (d *deployment) target(name string) (endpoint, bool) {
	if name == "" {
		for _, e := range d.endpoints {
			return e, true
		}
	}
	e, ok := d.endpoints[name]
	return e, ok
}

// spec turns a stream of the file into one that can be sent. Every stream of
// every repetition draws its own arrivals, from the run's seed.
func (l *lab) spec(t experiment.Traffic, ordinal int, rep *record.Repetition) traffic.Spec {
	s := traffic.Spec{
		Kind: traffic.Kind(t.Kind), Count: t.Count, Every: time.Duration(t.Every), Rate: t.Rate,
		Arrivals: t.Arrivals, Duration: time.Duration(t.Duration), Stagger: time.Duration(t.Stagger),
		Path: t.Path, Timeout: time.Duration(t.Timeout), Reuse: t.Reuse,
	}
	if s.Arrivals == traffic.ArrivalsPoisson {
		s.Seed = l.Seed + rep.ID*1000 + int64(ordinal)
	}
	return s
}

// probe counts an answer for the watcher and hands it to the record, whose
// first error stops the run elsewhere.
func (l *lab) probe(stream int64, p *traffic.Probe) {
	l.tracker.probe(p)
	row := record.Probe{
		Seq: p.Seq, Due: p.Due, Sent: p.Sent, Connected: p.Connected, FirstByte: p.FirstByte, Done: p.Done,
		Status: p.Status, Outcome: p.Outcome.String(), Err: p.Err, Pid: p.Pid, ServedNs: p.ServedNs, Bytes: p.Bytes,
	}
	_ = l.Record.Probe(stream, &row)
}
