package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"brink/internal/experiment"
	"brink/internal/host"
	"brink/internal/record"
)

// deployment is one freshly set-up plan and what runs on it.
type deployment struct {
	session   host.Session
	observer  *observer
	endpoints map[string]endpoint
	// failed holds the reason of each app that did not start.
	failed map[string]string
}

type endpoint struct {
	addr string
	id   int64
}

// unit executes one unit on a plan of its own. A plan that cannot be taken
// down is noted and throws nothing away.
func (l *lab) unit(ctx context.Context, u unit) (err error) {
	d := &deployment{observer: newObserver(l.Record, &l.tracker), endpoints: map[string]endpoint{}, failed: map[string]string{}}
	defer func() {
		if d.session != nil {
			err = errors.Join(err, l.close(d))
		}
	}()
	for i, p := range u.parts {
		if err := l.execute(ctx, d, p, i == len(u.parts)-1); err != nil || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// execute executes one part on the unit's plan, which the first part sets up.
// However it ends, the record says so.
func (l *lab) execute(ctx context.Context, d *deployment, p part, last bool) error {
	begun := l.Clock.Now()
	l.index++
	l.tracker.begin(l.index, p, begun)
	rep, err := l.begin(d, p)
	if err != nil {
		return err
	}
	if d.session == nil {
		d.session, err = l.Host.Open(ctx, p.step.Plan, l.Sampling, d.observer)
	}
	switch {
	case err == nil:
		err = l.part(ctx, d, p, rep)
	case ctx.Err() != nil:
		rep.Status, rep.Reason, err = "interrupted", "stopped while the plan was set up", nil
	default:
		err = fmt.Errorf("set up the plan: %w", err)
	}
	if err != nil {
		rep.Status, rep.Reason = "interrupted", err.Error()
	}
	if last {
		l.tracker.set(func(x *Progress) { x.Stage = Closing })
	}
	return errors.Join(err, l.end(rep, begun))
}

func (l *lab) close(d *deployment) error {
	if err := d.session.Close(); err != nil {
		l.result.CleanUp = append(l.result.CleanUp, "clean-up: "+err.Error())
		l.tracker.problem("clean-up: " + err.Error())
	}
	return d.observer.err()
}

func (l *lab) begin(d *deployment, p part) (*record.Repetition, error) {
	rep := &record.Repetition{
		StepID: l.stepIDs[p.step.Name], Number: p.number, Position: l.index,
		Twin: p.twin, Phase: p.phase, StartedNs: l.Clock.Now().UnixNano(), Status: "running",
	}
	id, err := l.Record.BeginRepetition(*rep)
	if err != nil {
		return nil, err
	}
	rep.ID = id
	d.observer.enter(id)
	return rep, nil
}

func (l *lab) end(rep *record.Repetition, begun time.Time) error {
	now := l.Clock.Now()
	rep.EndedNs = now.UnixNano()
	switch rep.Status {
	case "done":
		l.result.Done++
	case "failed":
		l.result.Failed++
	case "invalid":
		l.result.Invalid++
	}
	l.tracker.end(rep.Status, rep.Reason, now, now.Sub(begun))
	return l.Record.UpdateRepetition(*rep)
}

// part deploys what the step adds to the plan and sends its traffic.
func (l *lab) part(ctx context.Context, d *deployment, p part, rep *record.Repetition) error {
	limits, err := json.Marshal(d.session.Limits())
	if err != nil {
		return err
	}
	rep.Limits = string(limits)
	for _, app := range p.step.Apps {
		if err := l.deploy(ctx, d, app, rep); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		rep.Status, rep.Reason = "interrupted", "stopped while deploying"
		return nil
	}
	if len(d.endpoints) == 0 {
		if !l.served[p.step.Name] {
			l.served[p.step.Name] = false // it was tried
		}
		rep.Status, rep.Reason = "failed", d.reasons(p.step)
		return nil
	}
	l.served[p.step.Name] = true
	pause := time.Duration(p.step.Settle)
	if p.phase > 1 {
		pause = max(pause, time.Duration(p.step.WashOut))
	}
	if err := l.Clock.Sleep(ctx, pause); err != nil {
		rep.Status, rep.Reason = "interrupted", "stopped before traffic"
		return nil
	}
	return l.traffic(ctx, d, p.step, rep)
}

// reasons joins why the step's apps did not start.
func (d *deployment) reasons(s *experiment.Step) string {
	text := ""
	for _, a := range s.Apps {
		if r := d.failed[a.Name]; r != "" {
			if text != "" {
				text += "; "
			}
			text += r
		}
	}
	return text
}

// deploy starts one app, unless an earlier rung or phase did.
func (l *lab) deploy(ctx context.Context, d *deployment, app experiment.App, rep *record.Repetition) error {
	if _, ok := d.endpoints[app.Name]; ok || d.failed[app.Name] != "" || ctx.Err() != nil {
		return nil
	}
	text, err := json.Marshal(app)
	if err != nil {
		return fmt.Errorf("app %s: %w", app.Name, err)
	}
	id, err := l.Record.AddApp(record.App{
		RepetitionID: rep.ID, Name: app.Name, Runtime: app.Runtime, Server: app.Server(),
		Workers: app.Workers, JSON: string(text),
	})
	if err != nil {
		return err
	}
	at, err := d.session.Deploy(ctx, app)
	var start *host.StartError
	switch {
	case errors.As(err, &start):
		d.failed[app.Name] = start.Error()
		l.tracker.problem(start.Error())
		return nil
	case err != nil && ctx.Err() != nil:
		return nil
	case err != nil:
		return fmt.Errorf("deploy %s: %w", app.Name, err)
	}
	d.endpoints[app.Name] = endpoint{addr: at.Addr, id: id}
	return l.Record.SetAppAddr(id, at.Addr)
}
