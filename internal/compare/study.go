package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/metric"
	"brink/internal/verdict"
)

// Study is several runs of one experiment, judged together.
type Study struct {
	Experiment string            `json:"experiment"`
	Title      string            `json:"title"`
	Runs       []*Run            `json:"runs"`
	Notes      []string          `json:"notes"`
	Verdicts   []verdict.Verdict `json:"verdicts"`
	Rows       []StudyRow        `json:"metrics"`
}

// StudyRow is a metric that a hypothesis names, in one step.
type StudyRow struct {
	Step    string        `json:"step"`
	Metric  metric.Metric `json:"metric"`
	Summary Summary       `json:"summary"`
	// Medians are those of the single runs, in their order; nil where a run has
	// no value.
	Medians []*float64 `json:"medians"`
}

// Pool measures the runs in the directories and judges their repetitions
// together. Runs that do not belong together are refused with the reason.
func Pool(ctx context.Context, dirs []string, o measure.Options) (*Study, error) {
	if len(dirs) < 2 {
		return nil, errors.New("a study pools two runs or more")
	}
	var all []loaded
	for _, dir := range dirs {
		l, err := load(ctx, dir, o)
		if err != nil {
			return nil, err
		}
		for _, before := range all {
			if why := apart(before, l); why != "" {
				return nil, fmt.Errorf("%s and %s cannot be pooled: %s", before.run.Dir, dir, why)
			}
		}
		all = append(all, l)
	}
	return pool(all)
}

func pool(all []loaded) (*Study, error) {
	d := all[0].design
	s := &Study{Experiment: all[0].run.Experiment, Title: d.Experiment.Title, Notes: []string{}}
	var tables []*measure.Table
	for _, l := range all {
		s.Runs = append(s.Runs, l.run)
		tables = append(tables, l.table)
	}
	table, err := measure.Pool(tables...)
	if err != nil {
		return nil, err
	}
	if s.Verdicts, err = verdict.Judge(d, table); err != nil {
		return nil, err
	}
	s.notes()
	s.rows(d, table, tables)
	return s, nil
}

// apart says why two runs do not belong together, or is empty.
func apart(a, b loaded) string {
	switch {
	case a.run.same(b.run):
		return "they are the same run, " + a.run.ID
	case a.run.Experiment != b.run.Experiment:
		return fmt.Sprintf("they are of different experiments, %s and %s", a.run.Experiment, b.run.Experiment)
	case a.run.Host != b.run.Host:
		return fmt.Sprintf("their hosts differ, %s and %s", a.run.Host, b.run.Host)
	case a.run.Accelerator != b.run.Accelerator:
		return fmt.Sprintf("their accelerators differ, %s and %s", a.run.Accelerator, b.run.Accelerator)
	case a.run.Brink != b.run.Brink:
		return fmt.Sprintf("different versions of brink measured, %s and %s", a.run.Brink, b.run.Brink)
	}
	for _, name := range machineFacts {
		if x, y := fact(a.run.facts, name), fact(b.run.facts, name); x != y {
			return fmt.Sprintf("their machines differ, %s is %s and %s", name, orNone(x), orNone(y))
		}
	}
	if x, y := stepNames(a.table), stepNames(b.table); !slices.Equal(x, y) {
		return fmt.Sprintf("their steps differ, %s and %s", strings.Join(x, ", "), strings.Join(y, ", "))
	}
	for _, info := range a.table.Steps {
		other, _ := b.table.Step(info.Name)
		if diff := differing(info.Step, other.Step); len(diff) > 0 {
			return fmt.Sprintf("step %s differs, %s", info.Name, inRuns(diff))
		}
		if limits, _ := limitsApart(held(info), held(other)); len(limits) > 0 {
			return fmt.Sprintf("in step %s the plan's limit of %s held in one of them only", info.Name, limits[0])
		}
	}
	if diff := differing(claims(a.design), claims(b.design)); len(diff) > 0 {
		return "their claims differ, " + inRuns(diff)
	}
	return ""
}

// claims is what a verdict depends on beside the table.
func claims(d *experiment.Design) any {
	return map[string]any{
		"hypotheses": d.Experiment.Hypotheses, "calibration": d.Experiment.Calibration, "baseline": d.Experiment.Baseline,
	}
}

// inRuns words differences for two runs that have no A and B.
func inRuns(diff []string) string {
	return strings.NewReplacer(" in A,", " in the first,", " in B", " in the second").Replace(strings.Join(diff, "; "))
}

func (s *Study) notes() {
	say := func(format string, args ...any) { s.Notes = append(s.Notes, fmt.Sprintf(format, args...)) }
	say("%d runs: the repetitions of all steps were interleaved within each of them, so a drift between runs meets all steps alike.", len(s.Runs))
	for i, r := range s.Runs {
		if r.Status != "done" {
			say("The run in %s is %s: %s.", r.Dir, r.Status, orNone(r.Reason))
		}
		for _, m := range r.missed {
			say("%s: %s.", r.Dir, m.Consequence)
		}
		for _, before := range s.Runs[:i] {
			if before.Seed == r.Seed {
				say("%s and %s drew the same order of steps (seed %d).", before.Dir, r.Dir, r.Seed)
			}
		}
	}
	if other := otherFacts(s.Runs[0].facts, s.Runs[len(s.Runs)-1].facts); len(other) > 0 {
		say("The environments of the first and the last run differ in %s.", inRuns(other))
	}
}

// rows describes the metrics of the hypotheses in the steps that they name.
func (s *Study) rows(d *experiment.Design, pooled *measure.Table, tables []*measure.Table) {
	seen := map[string]bool{}
	for _, h := range d.Experiment.Hypotheses {
		steps := slices.Concat(h.Steps, []string{h.On, h.Off})
		for _, name := range steps {
			vs, _ := values(pooled.Cell(name, h.Metric))
			key := name + "\x00" + h.Metric
			if len(vs) == 0 || seen[key] {
				continue
			}
			seen[key] = true
			row := StudyRow{Step: name, Metric: pooled.Cell(name, h.Metric).Metric, Summary: summarize(vs)}
			for _, t := range tables {
				var median *float64
				if own, _ := values(t.Cell(name, h.Metric)); len(own) > 0 {
					m := summarize(own).Median
					median = &m
				}
				row.Medians = append(row.Medians, median)
			}
			s.Rows = append(s.Rows, row)
		}
	}
}

// Head says what was pooled, for a terminal.
func (s *Study) Head() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", s.Title)
	for _, r := range s.Runs {
		fmt.Fprintf(&b, "  %s (run %s of %s, seed %d)\n", r.Dir, r.ID, r.Started.Format("2006-01-02 15:04 UTC"), r.Seed)
	}
	for _, text := range s.Notes {
		wrap(&b, "NOTE ", text)
	}
	return harmless(b.String())
}

// Table lists the metrics of the hypotheses, for a terminal.
func (s *Study) Table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "STEP\tMETRIC\tn\tMEDIAN\t95 % INTERVAL\tMEDIAN OF EACH RUN")
	for _, r := range s.Rows {
		medians := make([]string, len(r.Medians))
		for i, m := range r.Medians {
			medians[i] = orDash(m, digits)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\n", r.Step, r.Metric.Name, r.Summary.N, atLeast(medianText(r.Summary, r.Metric)),
			bracket(r.Summary.intervalText()), strings.Join(medians, ", "))
	}
	_ = w.Flush() // a strings.Builder cannot fail
	return harmless(b.String())
}
