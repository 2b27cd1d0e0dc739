package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"brink/internal/experiment"
	"brink/internal/record"
)

// Earlier is what a run that ended early has left in its record. Its order
// follows from design and seed, so that the run can go on where it ended.
type Earlier struct {
	steps        []record.Step
	repetitions  []record.Repetition
	requirements []record.Requirement
	// described tells that the environment was written down.
	described bool
	// Extended lets the design have steps that the record does not have.
	Extended bool
}

// ReadEarlier reads what a resumed run needs to know. The record may be read
// before or after [record.Resume].
func ReadEarlier(ctx context.Context, r *record.Reader) (*Earlier, error) {
	steps, err := r.Steps(ctx)
	if err != nil {
		return nil, err
	}
	repetitions, err := r.Repetitions(ctx)
	if err != nil {
		return nil, err
	}
	requirements, err := r.Requirements(ctx)
	if err != nil {
		return nil, err
	}
	facts, err := r.Facts(ctx)
	if err != nil {
		return nil, err
	}
	return &Earlier{steps: steps, repetitions: repetitions, requirements: requirements, described: len(facts) > 0}, nil
}

// Unmet are those of the missed requirements that the record does not have.
func (e *Earlier) Unmet(missed []record.Requirement) []record.Requirement {
	return slices.DeleteFunc(slices.Clone(missed), func(r record.Requirement) bool { return slices.Contains(e.requirements, r) })
}

// Fits says in one sentence why the record cannot be one of this design, or
// returns nil. The seed is not looked at.
func (e *Earlier) Fits(d *experiment.Design) error {
	refused := "the run cannot be resumed"
	if e.Extended {
		refused = "the run cannot be extended"
	}
	texts := map[string]string{}
	for _, s := range d.Steps {
		text, err := json.Marshal(s)
		if err != nil {
			return fmt.Errorf("step %s: %w", s.Name, err)
		}
		texts[s.Name] = string(text)
	}
	for _, s := range e.steps {
		text, ok := texts[s.Name]
		switch {
		case !ok:
			return fmt.Errorf("%s: its record has a step %s, which is not to be executed now", refused, s.Name)
		case text != s.JSON:
			return fmt.Errorf("%s: step %s is not what the record says that it was", refused, s.Name)
		}
	}
	if len(e.steps) < len(d.Steps) && len(e.repetitions) > 0 && !e.Extended {
		return fmt.Errorf("%s: it had %d steps and would have %d now", refused, len(e.steps), len(d.Steps))
	}
	return nil
}

// place is a part's place in a run's order, as the record has it.
type place struct {
	step          int64
	number, phase int
	twin          bool
}

// settled are the statuses of repetitions that were executed to their end.
var settled = []string{record.Done, record.Failed, record.Invalid}

// done tells whether all parts of a unit were executed to their end on one plan.
// Of a unit that was not it returns the repetitions that were: they do not
// count, for what they began was never finished.
func (l *lab) done(u unit) (all bool, cut []record.Repetition) {
	ended := map[place]record.Repetition{}
	if l.Earlier != nil {
		for _, rep := range l.Earlier.repetitions {
			if slices.Contains(settled, rep.Status) {
				ended[place{rep.StepID, rep.Number, rep.Phase, rep.Twin}] = rep
			}
		}
	}
	for _, p := range u.parts {
		if rep, ok := ended[place{l.stepIDs[p.step.Name], p.number, p.phase, p.twin}]; ok {
			cut = append(cut, rep)
		}
	}
	return len(cut) == len(u.parts), cut
}

// skip passes over a unit that an earlier run has executed, or takes down of
// one that was cut that it will be executed anew.
func (l *lab) skip(u unit) (bool, error) {
	all, ended := l.done(u)
	if all {
		for i, rep := range ended {
			name := u.parts[i].step.Name
			l.served[name] = l.served[name] || rep.Status != record.Failed
		}
		l.index += len(u.parts)
		return true, nil
	}
	for _, rep := range ended {
		rep.Status, rep.Reason = record.Interrupted, "the run was cut before the end of what this belongs to, which was executed anew"
		if err := l.Record.UpdateRepetition(rep); err != nil {
			return false, err
		}
	}
	return false, nil
}
