package experiment

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"brink/internal/phrase"
)

// LeftOut is a hypothesis that a profile does not test, because the profile
// leaves out steps that it is about.
type LeftOut struct {
	ID    string `json:"id"`
	Claim string `json:"claim"`
	// Why is a clause such as "step s1-go is not in profile quick".
	Why string `json:"why"`
}

// chosen resolves a profile's list of steps. Without one it is nil, and all
// steps are executed.
func (c *claims) chosen(n *node) map[string]bool {
	list := n.get("steps")
	if list == nil {
		return nil
	}
	in := map[string]bool{}
	for _, name := range c.resolve(list) {
		in[name] = true
	}
	return in
}

// complete checks that a profile keeps what every run of the experiment needs:
// its baseline and the step that it is calibrated by.
func (l *loader) complete(in map[string]bool, n *node) {
	if len(in) == 0 {
		return
	}
	needed := map[string]string{"baseline": l.e.Baseline}
	if l.e.Calibration != nil {
		needed["calibration"] = l.e.Calibration.Step
	}
	for what, step := range needed {
		if step != "" && !in[step] {
			l.about(n, "steps", "leave out step %s, which is the experiment's %s; every profile executes it", step, what)
		}
	}
	for _, before := range l.e.Steps {
		if before.Ladder == "" || in[before.Name] {
			continue
		}
		for _, s := range l.e.Steps {
			if s.Ladder == before.Ladder && s.Rung > before.Rung && in[s.Name] {
				l.about(n, "steps", "leave out step %s, on whose apps step %s of ladder %s stands", before.Name, s.Name, s.Ladder)
			}
		}
	}
}

// restricted is the experiment with those of its hypotheses that steps allow,
// and the others with the reason. Patterns mean what is left of them; names
// must all be there.
func (e *Experiment) restricted(steps []Step, profile string) (*Experiment, []LeftOut) {
	r := *e
	r.Hypotheses = nil
	var left []LeftOut
	for i, n := range e.source.root.get("hypotheses").elements() {
		h := e.Hypotheses[i]
		if why := h.restrict(n, steps, profile); why != "" {
			left = append(left, LeftOut{ID: h.ID, Claim: h.Claim, Why: why})
			continue
		}
		r.Hypotheses = append(r.Hypotheses, h)
	}
	return &r, left
}

// restrict drops the steps that are not there from a hypothesis. The result
// says why it cannot be tested with the rest, or is empty.
func (h *Hypothesis) restrict(n *node, steps []Step, profile string) (why string) {
	at := func(name string) int {
		return slices.IndexFunc(steps, func(s Step) bool { return s.Name == name })
	}
	for _, item := range slices.Concat(n.get("steps").elements(), n.get("on").elements(), n.get("off").elements()) {
		if !strings.ContainsAny(item.text, "*?[") && at(item.text) < 0 {
			return fmt.Sprintf("step %s is not in profile %s", item.text, profile)
		}
	}
	all := h.Steps
	h.Steps = slices.DeleteFunc(slices.Clone(all), func(name string) bool { return at(name) < 0 })
	if h.Form == Equivalent && h.Factor != "" {
		h.dropSingles(steps)
	}
	if len(h.Steps) < least[h.Form] {
		return fmt.Sprintf("form %s needs %s, and profile %s has %d of these %d", h.Form, phrase.Plural(least[h.Form], "step"), profile, len(h.Steps), len(all))
	}
	return ""
}

// least is how many steps each form cannot do without.
var least = map[Form]int{Law: 1, Compare: 2, Equivalent: 2, Trend: 3, Cliff: 3, Cascade: 1, CausedBy: 2}

// dropSingles drops the steps that have lost the step they were compared with.
func (h *Hypothesis) dropSingles(steps []Step) {
	kept := slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return !slices.Contains(h.Steps, s.Name) })
	for _, group := range h.Groups(kept) {
		if len(group) == 1 {
			h.Steps = slices.DeleteFunc(h.Steps, func(name string) bool { return name == group[0] })
		}
	}
}

// matches tells whether a step has the name, or one that fits the pattern.
func matches(text, name string) bool {
	match, err := path.Match(text, name)
	return name == text || err == nil && match
}
