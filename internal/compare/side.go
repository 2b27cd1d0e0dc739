// Package compare sets two sides against each other, metric by metric: steps
// of one run, two runs, or a run and published data. It also pools several
// runs of one experiment. It refuses what is not comparable, with the reason.
package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/metric"
	"brink/internal/record"
)

// Side is one of the two things that are compared.
type Side struct {
	// Name is the argument that names it: DIR, DIR:STEP or a data file.
	Name string `json:"name"`
	// Run identifies the run; nil for a data file.
	Run *Run `json:"run,omitempty"`
	// Source says where the values of a data file come from.
	Source string `json:"source,omitempty"`

	steps []step
	// metrics are those that the run's hypotheses name, in their order.
	metrics []string
	data    *dataHead
}

// Run identifies a run and the conditions that all of its steps share.
type Run struct {
	// Dir is the directory as it was named on the command line.
	Dir         string    `json:"dir"`
	ID          string    `json:"id"`
	Experiment  string    `json:"experiment"`
	Profile     string    `json:"profile,omitempty"`
	Seed        int64     `json:"seed"`
	Started     time.Time `json:"started"`
	Host        string    `json:"host"`
	Accelerator string    `json:"accelerator"`
	Brink       string    `json:"brink"`
	Status      string    `json:"status"`
	Reason      string    `json:"reason,omitempty"`

	facts  []record.Fact
	missed []record.Requirement
}

// same tells whether two directories hold the same run.
func (r *Run) same(o *Run) bool {
	return r != nil && o != nil && r.ID == o.ID && r.Started.Equal(o.Started) && r.Seed == o.Seed
}

// step is one step of a side with its values.
type step struct {
	name string
	// design is nil for a data file.
	design *experiment.Step
	// held is what held of the plan, by the name of the limit.
	held  map[string]bool
	cells map[string]measure.Cell
}

func (s step) cell(name string) measure.Cell {
	if c, ok := s.cells[name]; ok {
		return c
	}
	m, _ := metric.Lookup(name)
	return measure.Cell{Metric: m, Step: s.name}
}

// label names a step of the side as an argument would.
func (s *Side) label(step string) string {
	if strings.HasSuffix(s.Name, ":"+step) {
		return s.Name
	}
	return s.Name + ":" + step
}

// Open reads what an argument names: a run (DIR) or a data file (.csv, .yaml,
// .yml), or one step of it (DIR:STEP). Errors are the user's to mend.
func Open(ctx context.Context, arg string, o measure.Options) (*Side, error) {
	path, name := splitStep(arg)
	open := openRun
	if dataFormat(path) != "" {
		open = openData
	}
	s, err := open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	if name == "" {
		return s, nil
	}
	i := slices.IndexFunc(s.steps, func(x step) bool { return x.name == name })
	if i < 0 {
		return nil, fmt.Errorf("%s has no step %s; it has %s", path, name, s.stepNames())
	}
	s.Name, s.steps = arg, s.steps[i:i+1]
	return s, nil
}

func openRun(ctx context.Context, dir string, o measure.Options) (*Side, error) {
	l, err := load(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	s := &Side{Name: dir, Run: l.run, metrics: hypothesisMetrics(l.design)}
	for _, info := range l.table.Steps {
		s.steps = append(s.steps, stepOf(l.table, info))
	}
	return s, nil
}

// splitStep cuts PATH:STEP. A path that exists as it stands has no step.
func splitStep(arg string) (dir, name string) {
	i := strings.LastIndexByte(arg, ':')
	if i < 0 {
		return arg, ""
	}
	if _, err := os.Stat(arg); err == nil {
		return arg, ""
	}
	return arg[:i], arg[i+1:]
}

func stepNames(t *measure.Table) []string {
	var names []string
	for _, s := range t.Steps {
		names = append(names, s.Name)
	}
	return names
}

func stepOf(t *measure.Table, info measure.StepInfo) step {
	s := step{name: info.Name, design: &info.Step, held: held(info), cells: map[string]measure.Cell{}}
	for _, m := range metric.All() {
		s.cells[m.Name] = t.Cell(info.Name, m.Name)
	}
	return s
}

// held reads what held of the plan in all repetitions of a step; nil when none
// of them tells.
func held(info measure.StepInfo) map[string]bool {
	var all map[string]bool
	for _, rep := range info.Repetitions {
		var limits []struct {
			Name    string
			Applied bool
		}
		// A repetition that did not get so far has none.
		if json.Unmarshal([]byte(rep.Limits), &limits) != nil {
			continue
		}
		if all == nil {
			all = map[string]bool{}
		}
		for _, l := range limits {
			before, seen := all[l.Name]
			all[l.Name] = l.Applied && (before || !seen)
		}
	}
	return all
}

// loaded is a run, measured.
type loaded struct {
	run    *Run
	design *experiment.Design
	table  *measure.Table
}

// load measures the record in a directory.
func load(ctx context.Context, dir string, o measure.Options) (loaded, error) {
	r, err := record.Open(dir)
	if err != nil {
		return loaded{}, err
	}
	defer r.Close()
	raw, err := r.Run(ctx)
	if err != nil {
		return loaded{}, fmt.Errorf("%s: %w", dir, err)
	}
	l := loaded{run: &Run{
		Dir: dir, ID: raw.ID, Experiment: raw.Experiment, Profile: raw.Profile, Seed: raw.Seed,
		Started: time.Unix(0, raw.StartedNs).UTC(), Host: raw.Host, Accelerator: raw.Accelerator, Brink: raw.Brink,
		Status: raw.Status, Reason: raw.Reason,
	}}
	if l.run.facts, err = r.Facts(ctx); err != nil {
		return loaded{}, fmt.Errorf("%s: %w", dir, err)
	}
	if l.run.missed, err = r.Requirements(ctx); err != nil {
		return loaded{}, fmt.Errorf("%s: %w", dir, err)
	}
	if l.design, err = experiment.LoadDesign("experiment.yaml", []byte(raw.YAML), experiment.Options{Profile: raw.Profile}); err != nil {
		return loaded{}, fmt.Errorf("%s: the experiment in the record: %w", dir, err)
	}
	if l.table, err = measure.Load(ctx, r, o); err != nil {
		return loaded{}, fmt.Errorf("%s: %w", dir, err)
	}
	return l, nil
}

// hypothesisMetrics are the metrics that an experiment makes claims about.
func hypothesisMetrics(d *experiment.Design) []string {
	var names []string
	for _, h := range d.Experiment.Hypotheses {
		for _, name := range append([]string{h.Metric}, h.Signals...) {
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
