package compare

import (
	"fmt"
	"slices"
	"strings"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/metric"
)

// headline metrics are compared beside those that hypotheses name.
var headline = []string{
	"last_answer_s", "latency_p50_ms", "latency_p95_ms", "latency_p99_ms",
	"failure_pct", "cpu_pct", "memory_mb", "cold_start_s",
}

// Options choose what is compared.
type Options struct {
	// Metrics are names of the dictionary; none means the metrics of the
	// hypotheses and the headline ones.
	Metrics []string
	// Effects are the smallest effects that matter, by metric: "20%",
	// "5 points". Others are as docs/comparing.md says.
	Effects map[string]string
	// Allow lists what may differ.
	Allow []Aspect
}

// Comparison is A against B: B is what changed, A what it changed from.
type Comparison struct {
	A *Side `json:"a"`
	B *Side `json:"b"`
	// Interleaved tells that both come from one run, whose repetitions were
	// drawn in a common random order.
	Interleaved bool `json:"interleaved"`
	// Caveats are whole sentences: what was allowed to differ, and what else a
	// reader must know.
	Caveats []string `json:"caveats"`
	Pairs   []Pair   `json:"pairs"`
	// Tests is the number of comparisons that share Holm's correction.
	Tests int `json:"tests"`
}

// Pair is one step of A against one step of B.
type Pair struct {
	StepA string `json:"step_a"`
	StepB string `json:"step_b"`
	// Differs lists how the apps differ: what is compared.
	Differs []string `json:"differs,omitempty"`
	Rows    []Row    `json:"metrics"`
	// Missing lists metrics without values on one side, with the reason.
	Missing []string `json:"missing,omitempty"`
	// Spread says whether the spread of latency within repetitions changed.
	Spread *Spread `json:"spread,omitempty"`
}

// Name names the pair in a few words.
func (p Pair) Name() string {
	if p.StepA == p.StepB {
		return p.StepA
	}
	return p.StepA + " and " + p.StepB
}

// Compare compares all steps that the sides have in common: one step with one
// step whatever their names, otherwise those of the same name. Its error is a
// *RefusedError where the sides are not comparable.
func Compare(a, b *Side, o Options) (*Comparison, error) {
	effects, err := o.effects()
	if err != nil {
		return nil, err
	}
	names, err := o.metrics(a, b)
	if err != nil {
		return nil, err
	}
	pairs, err := match(a, b)
	if err != nil {
		return nil, err
	}
	c := &Comparison{A: a, B: b, Interleaved: a.Run.same(b.Run), Caveats: []string{}}
	refused := &RefusedError{A: a.Name, B: b.Name}
	for _, d := range check(a, b, pairs) {
		if !slices.Contains(o.Allow, d.Aspect) {
			refused.Differences = append(refused.Differences, d)
			continue
		}
		c.Caveats = append(c.Caveats, fmt.Sprintf("Allowed: %s.", d))
	}
	if len(refused.Differences) > 0 {
		return nil, refused
	}
	j := &rows{comparison: c, effects: effects}
	for _, p := range pairs {
		pair := Pair{StepA: p[0].name, StepB: p[1].name}
		if p[0].design != nil && p[1].design != nil && p[0].name != p[1].name {
			pair.Differs = appsDiffer(p[0], p[1])
		}
		for _, name := range names {
			j.add(&pair, p[0], p[1], name, len(o.Metrics) > 0)
		}
		pair.Spread = spreadOf(p[0], p[1], pair.Rows)
		c.Pairs = append(c.Pairs, pair)
	}
	if err := j.judge(); err != nil {
		return nil, err
	}
	c.caveats(pairs)
	return c, nil
}

// metrics are the names to compare, each once.
func (o Options) metrics(a, b *Side) ([]string, error) {
	for _, name := range o.Metrics {
		if _, ok := metric.Lookup(name); !ok {
			return nil, fmt.Errorf("%q is not a metric; docs/experiment-file.md lists them", name)
		}
	}
	names := o.Metrics
	if len(names) == 0 {
		names = slices.Concat(a.metrics, b.metrics, headline)
	}
	var distinct []string
	for _, name := range names {
		if !slices.Contains(distinct, name) {
			distinct = append(distinct, name)
		}
	}
	return distinct, nil
}

func (o Options) effects() (map[string]experiment.Margin, error) {
	sizes := map[string]experiment.Margin{}
	for name, text := range o.Effects {
		m, ok := metric.Lookup(name)
		if !ok {
			return nil, fmt.Errorf("%q is not a metric; docs/experiment-file.md lists them", name)
		}
		size, err := experiment.ParseMargin(text, m)
		if err != nil {
			return nil, fmt.Errorf("the smallest effect of %s: %w", name, err)
		}
		sizes[name] = size
	}
	return sizes, nil
}

// match pairs the steps of the two sides.
func match(a, b *Side) ([][2]step, error) {
	var pairs [][2]step
	if len(a.steps) == 1 && len(b.steps) == 1 {
		pairs = append(pairs, [2]step{a.steps[0], b.steps[0]})
	} else {
		for _, x := range a.steps {
			if i := slices.IndexFunc(b.steps, func(y step) bool { return y.name == x.name }); i >= 0 {
				pairs = append(pairs, [2]step{x, b.steps[i]})
			}
		}
	}
	if len(pairs) == 0 {
		return nil, fmt.Errorf("%s and %s have no step in common: A has %s, B has %s; DIR:STEP names one on each side",
			a.Name, b.Name, a.stepNames(), b.stepNames())
	}
	if a.Run.same(b.Run) {
		for _, p := range pairs {
			if p[0].name == p[1].name {
				return nil, fmt.Errorf("%s and %s are the same: step %s of run %s; name two steps of it (DIR:STEP), or another run", a.Name, b.Name, p[0].name, a.Run.ID)
			}
		}
	}
	return pairs, nil
}

func (s *Side) stepNames() string {
	var names []string
	for _, x := range s.steps {
		names = append(names, x.name)
	}
	return strings.Join(names, ", ")
}

// caveats adds what a reader must know beside what was allowed.
func (c *Comparison) caveats(pairs [][2]step) {
	say := func(format string, args ...any) { c.Caveats = append(c.Caveats, fmt.Sprintf(format, args...)) }
	for i, s := range []*Side{c.A, c.B} {
		if c.Interleaved && i == 1 {
			break
		}
		switch {
		case s.Run == nil:
			say("%s holds values that brink did not measure, and does not say how its apps were set up. Source: %s.", s.Name, strings.TrimSuffix(strings.TrimSpace(s.Source), "."))
			continue
		case s.Run.Status != "done":
			say("The run of %s is %s: %s.", s.Name, s.Run.Status, orNone(s.Run.Reason))
		}
		for _, m := range s.Run.missed {
			say("%s: %s.", s.Run.Dir, m.Consequence)
		}
	}
	if a, b := c.A.Run, c.B.Run; a != nil && b != nil && !c.Interleaved {
		say("Two runs: their repetitions were not interleaved, so a drift of the machine between them is not excluded, and no difference is more than Strongly Suggested.")
		if other := otherFacts(a.facts, b.facts); len(other) > 0 {
			say("The environments differ in %s.", strings.Join(other, "; "))
		}
		if a.Experiment != b.Experiment {
			say("The steps belong to different experiments: %s and %s.", a.Experiment, b.Experiment)
		}
	}
	for _, p := range pairs {
		if x, y := p[0].design, p[1].design; c.Interleaved && x.Ladder != "" && x.Ladder == y.Ladder {
			say("%s and %s are rungs of one ladder: they follow each other on one plan, so their values are not independent.", p[0].name, p[1].name)
		}
		for i, st := range p {
			if len(st.cell("failure_pct").Phases) > 0 {
				say("%s of %s ran in phases of an intervention; its values are means over them, and caused_by is the form that judges them.", st.name, []string{"A", "B"}[i])
			}
		}
	}
	c.leftOut()
	c.capacity()
}

// leftOut names the steps that only one side has.
func (c *Comparison) leftOut() {
	for i, s := range []*Side{c.A, c.B} {
		var only []string
		for _, st := range s.steps {
			if !slices.ContainsFunc(c.Pairs, func(p Pair) bool { return st.name == [2]string{p.StepA, p.StepB}[i] }) {
				only = append(only, st.name)
			}
		}
		if len(only) > 0 {
			c.Caveats = append(c.Caveats, fmt.Sprintf("Only %s has %s.", []string{"A", "B"}[i], strings.Join(only, ", ")))
		}
	}
}

// capacity warns when fewer tests can come out than were made.
func (c *Comparison) capacity() {
	fewest := 0
	for _, p := range c.Pairs {
		for _, r := range p.Rows {
			if n := min(r.A.N, r.B.N); r.P != nil && (fewest == 0 || n < fewest) {
				fewest = n
			}
		}
	}
	if carried := experiment.Carries(fewest); fewest > 0 && c.Tests > carried {
		c.Caveats = append(c.Caveats, fmt.Sprintf("%d tests share Holm's correction, and %d repetitions carry %d: fewer metrics (--metric) or steps (DIR:STEP) leave more strength for each.", c.Tests, fewest, carried))
	}
}

// values are the usable values of a cell, with the reason where there are none.
func values(c measure.Cell) (usable []measure.Value, why string) {
	why = "no repetition"
	for _, v := range c.Values {
		if v.Missing != "" {
			why = v.Missing
			continue
		}
		usable = append(usable, v)
	}
	return usable, why
}
