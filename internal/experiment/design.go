package experiment

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"brink/internal/stats"
)

// Design is an experiment expanded for one profile: what a lab executes.
type Design struct {
	// Experiment has the hypotheses that the profile's steps allow.
	Experiment *Experiment `json:"experiment"`
	// Profile is the profile's name, empty where none applies.
	Profile string `json:"profile,omitempty"`
	// Scale is what the profile's durations were multiplied by.
	Scale       float64 `json:"scale"`
	Repetitions int     `json:"repetitions"`
	Steps       []Step  `json:"steps"`
	// LeftOut are the hypotheses that the profile does not test, in the order of
	// the file, and LeftOutSteps the steps that it does not execute.
	LeftOut      []LeftOut `json:"left_out,omitempty"`
	LeftOutSteps []string  `json:"left_out_steps,omitempty"`
	// Warnings do not stand in the way of a run.
	Warnings FileErrors `json:"warnings,omitempty"`
	// Sampling is the interval at which the kernel is read.
	Sampling Duration `json:"sampling"`
	// Source is the file with its overrides applied, as Experiment.YAML gives it.
	Source []byte `json:"-"`
}

// LoadDesign parses a file and expands it for the profile of the options.
func LoadDesign(name string, data []byte, opts Options) (*Design, error) {
	e, err := Parse(name, data, opts)
	if err != nil {
		return nil, err
	}
	return e.Expand("")
}

// ProfileNames returns the names of the profiles in the order of the file.
func (e *Experiment) ProfileNames() []string {
	if e.source == nil {
		return slices.Sorted(maps.Keys(e.Profiles))
	}
	var all []string
	for _, p := range entriesOf(e.source.root.get("profiles")) {
		all = append(all, p.key)
	}
	return all
}

// Expand resolves the steps for a profile. An empty name means the profile of
// the options that the experiment was loaded with.
func (e *Experiment) Expand(profile string) (*Design, error) {
	if e.source == nil {
		return nil, errors.New("the experiment was not loaded from a file")
	}
	e = e.source.whole
	if profile == "" {
		profile = e.source.profile
	}
	d := &Design{Experiment: e, Profile: profile, Scale: 1, Repetitions: e.Repetitions, Sampling: e.Sampling}
	if profile != "" {
		p, ok := e.Profiles[profile]
		if !ok {
			l := loader{e: e}
			unknown := l.unknownProfile(profile, slices.Sorted(maps.Keys(e.Profiles)))
			unknown.File = e.source.name
			return nil, FileErrors{&unknown}
		}
		d.Scale = p.Scale
		if p.Repetitions > 0 {
			d.Repetitions = p.Repetitions
		}
	}
	var err error
	if d.Steps, err = e.at(&problems{file: e.source.name}, d.Scale); err != nil {
		return nil, err
	}
	d.shorten()
	d.restrict()
	if d.Source, err = e.YAML(); err != nil {
		return nil, err
	}
	d.Warnings = slices.Clone(e.source.warnings)
	if w := d.overburdened(); w != nil {
		d.Warnings = append(d.Warnings, w)
	}
	return d, nil
}

// Declared are all hypotheses of the file, also those that the profile leaves out.
func (d *Design) Declared() []Hypothesis { return d.Experiment.source.whole.Hypotheses }

// shorten bounds the streams as the design's profile says.
func (d *Design) shorten() {
	profile := d.Experiment.Profiles[d.Profile]
	if profile.Longest == 0 {
		return
	}
	for _, s := range d.Steps {
		if slices.ContainsFunc(profile.Whole, func(text string) bool { return matches(text, s.Name) }) {
			continue
		}
		for i := range s.Traffic {
			s.Traffic[i].Duration = min(s.Traffic[i].Duration, profile.Longest)
		}
	}
}

// RepetitionsOf returns how often a step is executed in a run, its second
// executions as a baseline not counted.
func (d *Design) RepetitionsOf(s Step) int {
	if s.Repetitions == 0 {
		return d.Repetitions
	}
	return min(s.Repetitions, d.Repetitions)
}

// MeasuredRepetitions is the fewest repetitions with which a claim about a size
// can be Measured.
const MeasuredRepetitions = 5

// LeastRepetitions returns how often the least executed of a hypothesis's steps is
// executed.
func (d *Design) LeastRepetitions(h Hypothesis) int {
	least := d.Repetitions
	for _, s := range d.Steps {
		if slices.Contains(h.Steps, s.Name) || s.Name == h.On || s.Name == h.Off {
			least = min(least, d.RepetitionsOf(s))
		}
	}
	return least
}

// restrict leaves out what the design's profile does not execute.
func (d *Design) restrict() {
	in := d.Experiment.source.chosen[d.Profile]
	if in == nil {
		return
	}
	for _, s := range d.Steps {
		if !in[s.Name] {
			d.LeftOutSteps = append(d.LeftOutSteps, s.Name)
		}
	}
	d.Steps = slices.DeleteFunc(d.Steps, func(s Step) bool { return !in[s.Name] })
	d.Experiment, d.LeftOut = d.Experiment.restricted(d.Steps, d.Profile)
}

// at resolves the steps at a scale and checks the claims against them.
func (e *Experiment) at(p *problems, scale float64) ([]Step, error) {
	resolved := newExpander(p, e.source.root, scale).steps()
	if err := p.err(); err != nil {
		return nil, err
	}
	c := newClaims(p, resolved)
	for i, n := range e.source.root.get("hypotheses").elements() {
		h := e.Hypotheses[i]
		c.shape(n, &h)
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	steps := make([]Step, len(resolved))
	for i := range resolved {
		steps[i] = resolved[i].Step
	}
	return steps, nil
}

// Carries returns how many hypotheses n repetitions can carry: how many can
// reach 0.05 after Holm's correction at complete separation of two steps. It is 0
// below 4.
func Carries(n int) int { return stats.HolmCapacity(stats.MannWhitneyMinP(n, n), 0.05) }

// overburdened warns when the repetitions cannot carry the tested hypotheses.
// Claims about an outcome are decided by agreement and are not counted, nor are
// those whose steps are executed too rarely for them to be Measured.
func (d *Design) overburdened() *FileError {
	repetitions := d.Repetitions
	tested := 0
	for _, h := range d.Experiment.Hypotheses {
		if !h.Config && d.LeastRepetitions(h) >= min(repetitions, MeasuredRepetitions) {
			tested++
		}
	}
	carried := Carries(repetitions)
	if tested <= carried {
		return nil
	}
	message := fmt.Sprintf("%d hypotheses are declared, but %d repetitions carry %d after Holm's correction; some may fall short of Measured", tested, repetitions, carried)
	if carried == 0 {
		message = fmt.Sprintf("too few repetitions (%d) for any tested hypothesis to be Measured, which takes 5; 6 carry 23 of them", repetitions)
	}
	source := d.Experiment.source
	w := source.root.fieldProblem("hypotheses", message)
	w.File = source.name
	return &w
}
