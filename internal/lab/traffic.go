package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"brink/internal/experiment"
	"brink/internal/host"
	"brink/internal/record"
	"brink/internal/traffic"
)

// tail is how long sampling goes on after the last answer, so that the last
// reading lies behind the traffic.
const tail = 250 * time.Millisecond

// traffic sends all streams of a step side by side, under the step's pressure,
// and waits for the last answer. A rate that was not held makes the repetition
// invalid.
func (l *lab) traffic(ctx context.Context, d *deployment, step *experiment.Step, rep *record.Repetition) error {
	l.tracker.set(func(x *Progress) { x.Stage = Traffic })
	deflate, err := l.inflate(ctx, d, step.Pressure)
	if err == nil {
		err = l.Clock.Sleep(ctx, tail)
	}
	switch {
	case ctx.Err() != nil:
		rep.Status, rep.Reason = record.Interrupted, "stopped before traffic"
		return nil
	case err != nil:
		rep.Status, rep.Reason = record.Failed, err.Error()
		return nil
	}
	if err := l.streams(ctx, d, step, rep); err != nil {
		return err
	}
	return deflate()
}

func (l *lab) streams(ctx context.Context, d *deployment, step *experiment.Step, rep *record.Repetition) error {
	if err := l.room(d, step.Traffic, rep); err != nil {
		rep.Status, rep.Reason = record.Invalid, "nothing was sent: "+err.Error()
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
	l.noteUpstream(d)
	rep.Status = record.Done
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
		rep.Status, rep.Reason = record.Interrupted, "stopped while traffic ran"
	case len(invalid) > 0:
		rep.Status, rep.Reason = record.Invalid, strings.Join(invalid, "; ")
	default:
		_ = l.Clock.Sleep(ctx, tail)
	}
	return nil
}

// room says why the requests that are due at the same instant cannot all be under
// way, or returns nil. A front end is part of this process: it accepts each, and
// connects to the app, which takes a file where the host has no network of its own.
func (l *lab) room(d *deployment, streams []experiment.Traffic, rep *record.Repetition) error {
	each := 1
	d.mu.Lock()
	if d.front != nil {
		each = 2
		if d.session.Dial() == nil {
			each = 3
		}
	}
	d.mu.Unlock()
	atOnce := map[experiment.Duration]int{} // by when they start
	for i, t := range streams {
		atOnce[t.Start] += l.spec(t, i, rep).AtOnce()
		if err := traffic.Room(atOnce[t.Start], each); err != nil {
			return err
		}
	}
	return nil
}

type outcome struct {
	invalid string
	err     error
}

// stream sends one stream at its app, or notes that the app is not there.
func (l *lab) stream(ctx context.Context, d *deployment, t experiment.Traffic, ordinal int, rep *record.Repetition) outcome {
	to, ok := d.target(t.App)
	if !ok {
		return outcome{} // the app did not start, which its events tell
	}
	text, err := json.Marshal(t)
	if err != nil {
		return outcome{err: err}
	}
	row := record.Stream{
		RepetitionID: rep.ID, AppID: to.app, Ordinal: ordinal + 1,
		Kind: t.Kind, Method: "GET", Path: t.Path, JSON: string(text),
	}
	if row.ID, err = l.Record.AddStream(row); err != nil {
		return outcome{err: err}
	}
	if err := l.Clock.Sleep(ctx, time.Duration(t.Start)); err != nil {
		return outcome{}
	}
	spec := l.spec(t, ordinal, rep)
	spec.Host = to.host
	options := []traffic.Option{traffic.WithInFlight(&l.tracker.inFlight)}
	if to.dial != nil {
		options = append(options, traffic.WithDial(to.dial))
	}
	sum, err := traffic.Run(ctx, l.Clock, spec, to.addr, func(p *traffic.Probe) { l.probe(row.ID, p) }, options...)
	if err != nil && ctx.Err() == nil {
		return outcome{err: fmt.Errorf("traffic at %s: %w", to.addr, err)}
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

// target is where a stream goes.
type target struct {
	app  int64 // in the record
	addr string
	host string // the Host header, empty for the address
	dial host.Dialer
}

// target finds an app by its name; traffic without a name means the only app.
// Behind a front end every app can be asked for, without one those that are up.
func (d *deployment) target(name string) (target, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for app, a := range d.apps {
		switch {
		case app != name && name != "":
		case d.front != nil:
			return target{app: a.id, addr: d.front.addr, host: app}, true
		case a.up():
			return target{app: a.id, addr: a.addr, dial: d.session.Dial()}, true
		}
	}
	return target{}, false
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
