package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"brink/internal/record"
)

// unit executes one unit on a plan of its own. A plan that cannot be taken
// down is noted and throws nothing away.
func (l *lab) unit(ctx context.Context, u unit) (err error) {
	d := l.newDeployment()
	ctx, callOff := context.WithCancel(ctx)
	defer func() {
		callOff() // whatever still starts
		err = errors.Join(err, l.close(d))
	}()
	for i, p := range u.parts {
		if err := l.execute(ctx, d, u, i, p); err != nil || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// execute executes one part on the unit's plan, which the first part sets up.
// However it ends, the record says so.
func (l *lab) execute(ctx context.Context, d *deployment, u unit, i int, p part) error {
	begun := l.Clock.Now()
	l.index++
	l.tracker.begin(p, begun)
	rep, err := l.beginRepetition(d, p)
	if err != nil {
		return err
	}
	if d.session == nil {
		err = l.open(ctx, d, u)
	}
	switch {
	case err == nil:
		err = l.part(ctx, d, p, rep)
	case ctx.Err() != nil:
		rep.Status, rep.Reason, err = record.Interrupted, "stopped while the plan was set up", nil
	default:
		err = fmt.Errorf("set up the plan: %w", err)
	}
	if err != nil {
		rep.Status, rep.Reason = record.Interrupted, err.Error()
	}
	if i == len(u.parts)-1 {
		l.tracker.set(func(x *Progress) { x.Stage = Closing })
	}
	return errors.Join(err, l.end(rep, begun))
}

// open sets up the plan of a unit, and what its apps need before they start.
func (l *lab) open(ctx context.Context, d *deployment, u unit) error {
	plan := u.parts[0].step.Plan
	session, err := l.Host.Open(ctx, plan, l.Sampling, d.observer)
	if err != nil {
		return err
	}
	d.session = session
	if plan.Platform.FrontEnd {
		if err := l.openFront(ctx, d, plan.Platform); err != nil {
			return err
		}
	}
	if u.asksUpstream() {
		return l.serveUpstream(ctx, d)
	}
	return nil
}

// close takes the plan down, apps that still start included, and then what
// they needed.
func (l *lab) close(d *deployment) error {
	d.starting.Wait()
	var errs []error
	if d.front != nil {
		errs = append(errs, d.front.close())
	}
	if d.session != nil {
		errs = append(errs, d.session.Close())
	}
	if d.dependency != nil {
		errs = append(errs, d.dependency.Close())
	}
	if err := errors.Join(errs...); err != nil {
		l.result.CleanUp = append(l.result.CleanUp, "clean-up: "+err.Error())
		l.tracker.problem("clean-up: " + err.Error())
	}
	return d.observer.err()
}

func (l *lab) beginRepetition(d *deployment, p part) (*record.Repetition, error) {
	rep := &record.Repetition{
		StepID: l.stepIDs[p.step.Name], Number: p.number, Position: l.index,
		Twin: p.twin, Phase: p.phase, StartedNs: l.Clock.Now().UnixNano(), Status: record.Running,
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
	case record.Done:
		l.result.Done++
	case record.Failed:
		l.result.Failed++
	case record.Invalid:
		l.result.Invalid++
	}
	l.tracker.end(rep.Status, rep.Reason, now, now.Sub(begun))
	return l.Record.UpdateRepetition(*rep)
}

// part deploys what the step adds to the plan and sends its traffic.
func (l *lab) part(ctx context.Context, d *deployment, p part, rep *record.Repetition) error {
	if err := d.describe(rep); err != nil {
		return err
	}
	if err := l.deploy(ctx, d, p.step, rep); err != nil {
		return err
	}
	if ctx.Err() != nil {
		rep.Status, rep.Reason = record.Interrupted, "stopped while deploying"
		return nil
	}
	defer func() { l.tried(d, p, rep) }()
	if !d.serves() && d.front == nil {
		rep.Status, rep.Reason = record.Failed, d.reasons(p.step)
		return nil
	}
	if err := l.rest(ctx, d, p); err != nil {
		rep.Status, rep.Reason = record.Failed, err.Error()
		if ctx.Err() != nil {
			rep.Status, rep.Reason = record.Interrupted, "stopped before traffic"
		}
		return nil
	}
	return errors.Join(l.traffic(ctx, d, p.step, rep), d.err())
}

// describe writes down what holds of the plan.
func (d *deployment) describe(rep *record.Repetition) error {
	all := d.session.Limits()
	if d.front != nil {
		all = append(slices.Clip(all), d.front.limit())
	}
	text, err := json.Marshal(all)
	rep.Limits = string(text)
	return err
}

// tried notes whether the step served, unless it was cut before that was clear.
func (l *lab) tried(d *deployment, p part, rep *record.Repetition) {
	if serves := d.serves(); serves || rep.Status != record.Interrupted {
		l.served[p.step.Name] = serves || l.served[p.step.Name]
	}
}

// rest lets the plan come to rest before traffic.
func (l *lab) rest(ctx context.Context, d *deployment, p part) error {
	pause := time.Duration(p.step.Settle)
	if p.phase > 1 {
		pause = max(pause, time.Duration(p.step.WashOut))
		if p.step.SwapIn {
			if err := l.swapIn(ctx, d); err != nil {
				return err
			}
		}
	}
	return l.Clock.Sleep(ctx, pause)
}
