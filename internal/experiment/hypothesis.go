package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"brink/internal/metric"
)

// parts says which fields each form needs, and which it also takes.
var parts = map[Form]struct{ needs, takes []string }{
	Law:        {needs: []string{"metric", "steps", "formula", "tolerance"}},
	Compare:    {needs: []string{"metric", "steps", "effect", "direction"}, takes: []string{"signals"}},
	Equivalent: {needs: []string{"metric", "steps", "margin"}, takes: []string{"factor"}},
	Trend:      {needs: []string{"metric", "steps", "factor", "direction"}, takes: []string{"effect"}},
	Cliff:      {needs: []string{"metric", "steps", "factor"}},
	Cascade:    {needs: []string{"steps", "restarts", "within", "unrecovered"}},
	CausedBy:   {needs: []string{"metric", "factor", "on", "off", "effect", "direction"}},
}

// common are the fields of every form.
var common = []string{"id", "claim", "form", "config", "because", "threshold"}

// claims checks hypotheses against the steps of one scale.
type claims struct {
	*problems
	steps  []concrete
	byName map[string]*concrete
	names  []string
	// named tells that all steps are known, sound that they are without
	// problems; what depends on them is not checked otherwise.
	named, sound bool
}

func newClaims(p *problems, steps []concrete) *claims {
	c := &claims{problems: p, steps: steps, byName: map[string]*concrete{}, named: true, sound: true}
	for i := range steps {
		c.byName[steps[i].Name] = &steps[i]
		c.names = append(c.names, steps[i].Name)
	}
	return c
}

// check checks one hypothesis and resolves its steps and sizes.
func (c *claims) check(n *node, h *Hypothesis) {
	form, ok := parts[h.Form]
	if !ok {
		return
	}
	for _, name := range form.needs {
		if n.get(name) == nil {
			c.about(n, name, "is missing; form %s needs it", h.Form)
		}
	}
	for _, e := range n.entries {
		if _, known := fields()["Hypothesis."+e.key]; known && !slices.Contains(slices.Concat(common, form.needs, form.takes), e.key) {
			c.add(n.keyProblem(e, "does not belong to form "+string(h.Form)))
		}
	}
	c.sizes(n, h)
	c.signals(n, h)
	if h.Form == CausedBy {
		c.intervention(n, h)
	} else {
		h.Steps = c.resolve(n.get("steps"))
	}
	c.shape(n, h)
}

// sizes checks the metric and reads the margins in its unit.
func (c *claims) sizes(n *node, h *Hypothesis) {
	name := n.get("metric")
	if name == nil || h.Metric == "" {
		return
	}
	m, ok := metric.Lookup(h.Metric)
	if !ok {
		c.word(name, quote(h.Metric)+" is not a metric", h.Metric, metric.Names())
		return
	}
	for field, margin := range map[string]*Margin{"tolerance": h.Tolerance, "effect": h.Effect, "margin": h.Margin} {
		if margin == nil || margin.Text == "" {
			continue
		}
		parsed, err := ParseMargin(margin.Text, m)
		if err != nil {
			c.about(n, field, "%v", err)
			continue
		}
		if exact := m.Kind == metric.Count && field != "effect"; parsed.Value == 0 && !exact {
			c.about(n, field, "%s leaves no room; write more than 0", quote(margin.Text))
		}
		*margin = parsed
	}
}

// signals checks the further metrics of a comparison.
func (c *claims) signals(n *node, h *Hypothesis) {
	for i, item := range n.get("signals").elements() {
		if i >= len(h.Signals) || h.Signals[i] == "" {
			continue
		}
		name := h.Signals[i]
		if _, ok := metric.Lookup(name); !ok {
			c.word(item, quote(name)+" is not a metric", name, metric.Names())
		} else if name == h.Metric || slices.Contains(h.Signals[:i], name) {
			c.at(item, "%s stands twice", quote(name))
		}
	}
}

// resolve turns names and patterns into names of steps, in the order written.
func (c *claims) resolve(n *node) []string {
	var all []string
	for _, item := range n.elements() {
		text, ok := item.value.(string)
		if !ok {
			continue
		}
		found := 0
		for _, name := range c.names {
			if matches(text, name) {
				found++
				if !slices.Contains(all, name) {
					all = append(all, name)
				}
			}
		}
		switch {
		case found > 0 || !c.named:
		case strings.ContainsAny(text, "*?["):
			c.at(item, "%s matches no step", quote(text))
		default:
			c.word(item, quote(text)+" is not a step", text, c.names)
		}
	}
	return all
}

func (c *claims) step(n *node, field string) *concrete {
	v := n.get(field)
	if v == nil || v.kind != scalar {
		return nil
	}
	s := c.byName[v.text]
	if s == nil && c.named {
		c.word(v, quote(v.text)+" is not a step", v.text, c.names)
	}
	return s
}

// intervention checks that the two steps of caused_by can be switched on one
// deployment: only traffic and pressure differ.
func (c *claims) intervention(n *node, h *Hypothesis) {
	on, off := c.step(n, "on"), c.step(n, "off")
	if on == nil || off == nil {
		return
	}
	h.Steps = []string{on.Name, off.Name}
	switch {
	case on == off:
		c.about(n, "off", "%s is the step with the intervention as well", quote(off.Name))
	case on.Plan != off.Plan || !extends(on.Apps, off.Apps) || !extends(off.Apps, on.Apps):
		c.about(n, "off", "%s and %s differ in plan or apps; an intervention is switched within one deployment", off.Name, on.Name)
	case on.Repetitions != off.Repetitions:
		c.about(n, "off", "%s and %s are not repeated equally often; they are executed together", off.Name, on.Name)
	case on.Ladder != "" || off.Ladder != "":
		c.about(n, "off", "an intervention cannot be a rung of a ladder")
	}
	if h.Factor == "" {
		return
	}
	a, inOn := on.Factors[h.Factor]
	b, inOff := off.Factors[h.Factor]
	if !inOn || !inOff || a == b {
		c.about(n, "factor", "%s does not tell %s from %s", quote(h.Factor), on.Name, off.Name)
	}
	on.used[h.Factor], off.used[h.Factor] = true, true
}

// shape checks what a form asks of its steps.
func (c *claims) shape(n *node, h *Hypothesis) {
	if n.get("steps") == nil || len(h.Steps) == 0 || !c.named {
		return
	}
	count := func(ok bool, want string) {
		if !ok {
			c.about(n, "steps", "form %s needs %s, these are %d: %s", h.Form, want, len(h.Steps), strings.Join(h.Steps, ", "))
		}
	}
	switch h.Form {
	case Law:
		c.formula(n, h)
	case Compare:
		count(len(h.Steps) == 2, "exactly two steps")
	case Equivalent:
		count(len(h.Steps) >= 2, "at least two steps")
		c.grouped(n, h)
	case Trend, Cliff:
		count(len(h.Steps) >= 3, "at least three steps")
		if len(h.Steps) >= 3 {
			c.ordered(n, h)
		}
	}
	if h.Direction == "differ" && h.Form != Compare {
		p := n.fieldProblem("direction", "\"differ\" is no direction of a "+string(h.Form))
		p.Allowed = "fall, rise"
		c.add(p)
	}
}

// grouped checks that each step of an equivalence along a factor has another
// one to be compared with.
func (c *claims) grouped(n *node, h *Hypothesis) {
	if h.Factor == "" {
		return
	}
	steps := make([]Step, len(h.Steps))
	for i, name := range h.Steps {
		s := c.byName[name]
		if _, ok := s.Factors[h.Factor]; !ok {
			c.about(n, "factor", "step %s has no factor %s", name, quote(h.Factor))
			return
		}
		s.used[h.Factor] = true
		steps[i] = s.Step
	}
	for _, group := range h.Groups(steps) {
		if len(group) < 2 {
			c.about(n, "factor", "no other step differs from %s in %s alone", group[0], quote(h.Factor))
		}
	}
}

// ordered checks that the factor of a trend or cliff orders the steps.
func (c *claims) ordered(n *node, h *Hypothesis) {
	if h.Factor == "" {
		return
	}
	var levels []float64
	for _, name := range h.Steps {
		s := c.byName[name]
		x, ok := s.Vars()[h.Factor]
		if !ok {
			c.about(n, "factor", "%s has no number in step %s", quote(h.Factor), name)
			return
		}
		s.used[h.Factor] = true
		levels = append(levels, x)
	}
	up, down := slices.Clone(levels), slices.Clone(levels)
	slices.Sort(up)
	slices.Sort(down)
	slices.Reverse(down)
	if distinct := len(slices.Compact(slices.Clone(up))); distinct < 3 {
		c.about(n, "factor", "%s has %d levels in these steps; form %s needs at least three", quote(h.Factor), distinct, h.Form)
	} else if !slices.Equal(levels, up) && !slices.Equal(levels, down) {
		c.about(n, "steps", "are not in the order of %s", quote(h.Factor))
	}
}

// formula computes a law for each of its steps, so that none can fail later.
func (c *claims) formula(n *node, h *Hypothesis) {
	at := n.get("formula")
	if at == nil || h.Formula == "" {
		return
	}
	names, err := formulaNames(h.Formula)
	if err != nil {
		c.at(at, "%v", err)
		return
	}
	if !c.sound {
		return
	}
	for _, name := range h.Steps {
		s := c.byName[name]
		for _, f := range names {
			s.used[f] = true
		}
		x, err := EvalFormula(h.Formula, s.Vars())
		var unknown *unknownName
		switch {
		case errors.As(err, &unknown):
			c.word(at, fmt.Sprintf("%q has no number in step %s", unknown.name, name), unknown.name, unknown.known)
		case err != nil:
			c.at(at, "%v (step %s)", err, name)
		case x == 0 && h.Tolerance != nil && h.Tolerance.Relative:
			c.at(at, "the formula gives 0 for step %s, and nothing is within %s of 0", name, h.Tolerance.Text)
		default:
			continue
		}
		return
	}
}
