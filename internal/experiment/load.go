package experiment

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/goccy/go-yaml"

	"brink/internal/metric"
)

// Options change what a file says before it is checked.
type Options struct {
	// Profile is the profile that Expand uses when it is given none. Empty
	// means the profile "standard" where the file has it, and no scaling
	// otherwise.
	Profile string
	// Set are overrides such as "apps.api.workers=2", "apps[0].workers=2" or
	// "profiles.quick.scale=0.1". They are checked like the file's content.
	Set []string
	// Repetitions replaces the experiment's and all profiles' when above 0.
	Repetitions int
}

// source is what an experiment was loaded from.
type source struct {
	name       string
	data       []byte
	root       *node
	profile    string
	overridden bool
	// whole is the experiment with all its hypotheses, also for a design whose
	// profile leaves some out.
	whole *Experiment
	// chosen are the steps of the profiles that name theirs.
	chosen   map[string]map[string]bool
	warnings FileErrors
}

// Parse checks the content of an experiment file; name stands for it in
// problems. The error is a FileErrors with everything that is wrong.
func Parse(name string, data []byte, opts Options) (*Experiment, error) {
	p := &problems{file: name}
	root := parseYAML(p, data)
	if root == nil || len(p.list) > 0 {
		return nil, p.err()
	}
	if root.kind != mapping {
		p.at(root, "the file is %s; an experiment file is a mapping of fields such as name and steps", root.describe())
		return nil, p.err()
	}
	src := &source{name: name, data: bytes.Clone(data), root: root}
	override(p, src, opts)
	if len(p.list) > 0 {
		return nil, p.err()
	}
	e := &Experiment{source: src}
	src.whole = e
	l := loader{problems: p, root: root, e: e}
	l.load(opts)
	if err := p.err(); err != nil {
		return nil, err
	}
	return e, nil
}

// loader checks one file in order: its own fields, the steps, the claims
// about them, and the same again at the scale of each profile.
type loader struct {
	*problems
	root *node
	e    *Experiment
}

func (l *loader) load(opts Options) {
	d := decoder{problems: l.problems, scale: 1}
	d.structure(l.withoutTemplates(), reflect.ValueOf(l.e).Elem())
	l.e.Plan.sized(l.root.get("plan"))
	l.apps()
	x := newExpander(l.problems, l.root, 1)
	steps := x.steps()
	l.stepNames(steps)
	for _, s := range steps {
		l.e.Steps = append(l.e.Steps, s.Step)
	}
	c := newClaims(l.problems, steps)
	c.named, c.sound = !x.partial && len(steps) > 0, !l.below("plan", "apps", "steps")
	l.baseline(c)
	l.calibration(c)
	l.hypotheses(c)
	l.reference()
	l.figures(c)
	l.chosen(c)
	l.profiles(opts)
	if len(l.list) == 0 {
		l.unused(steps)
		l.idle(steps)
	}
}

// withoutTemplates is the root without the parts that hold references.
func (l *loader) withoutTemplates() *node {
	root := *l.root
	root.entries = slices.Clone(l.root.entries)
	if plan := root.get("plan"); plan != nil {
		root.set("plan", plan.fixed())
	}
	return &root
}

// fixed is the tree without the fields that refer to factors.
func (n *node) fixed() *node {
	if n.kind != mapping {
		return n
	}
	c := *n
	c.entries = nil
	for _, e := range n.entries {
		if e.value.kind != scalar || !hasReference(e.value.text) {
			e.value = e.value.fixed()
			c.entries = append(c.entries, e)
		}
	}
	return &c
}

// apps decodes the experiment's apps as far as they hold no references. Each
// step checks what it makes of them.
func (l *loader) apps() {
	d := decoder{problems: l.problems, scale: 1, lenient: true}
	seen := map[string]bool{}
	for _, n := range l.root.get("apps").elements() {
		var a App
		d.structure(n, reflect.ValueOf(&a).Elem())
		d.checkEnv(n.get("env"))
		if a.Name == "" && n.get("name") != nil && n.kind == mapping && hasReference(n.get("name").text) {
			l.about(n, "name", "refers to a factor; steps look the experiment's apps up by name")
		}
		if a.Name != "" && seen[a.Name] {
			l.about(n, "name", "%s stands twice", quote(a.Name))
		}
		seen[a.Name] = true
		l.e.Apps = append(l.e.Apps, a)
	}
	if n := l.root.get("apps"); n != nil && n.kind != sequence {
		l.at(n, "is %s; write a list of apps", n.describe())
	}
}

func (l *loader) stepNames(steps []concrete) {
	first := map[string]*node{}
	for _, s := range steps {
		if s.Name == "" {
			continue
		}
		if before := first[s.Name]; before != nil {
			message := fmt.Sprintf("%s names two steps; the first is on line %d", quote(s.Name), before.line)
			if before == s.authored {
				message = fmt.Sprintf("%s names two steps of one matrix; let the name refer to each of its factors", quote(s.Name))
			}
			l.add(s.authored.fieldProblem("name", message))
			continue
		}
		first[s.Name] = s.authored
	}
}

func (l *loader) baseline(c *claims) {
	if s := c.step(l.root, "baseline"); s != nil && s.Rung > 0 {
		l.about(l.root, "baseline", "%s stands on the apps of earlier rungs of its ladder; only a first rung can be the baseline", quote(s.Name))
	}
}

// calibration checks the gate, and that claims which rely on it have one.
func (l *loader) calibration(c *claims) {
	for _, n := range l.root.get("hypotheses").elements() {
		if t := n.get("threshold"); t != nil && t.value == true && l.e.Calibration == nil {
			l.at(t, "needs a calibration of the experiment")
		}
	}
	g, n := l.e.Calibration, l.root.get("calibration")
	if g == nil || n.kind != mapping {
		return
	}
	c.step(n, "step")
	if _, ok := metric.Lookup(g.Metric); !ok && g.Metric != "" {
		l.word(n.get("metric"), quote(g.Metric)+" is not a metric", g.Metric, metric.Names())
	}
	if g.Low >= g.High && n.get("low") != nil && n.get("high") != nil {
		l.about(n, "high", "must be above low, which is %v", g.Low)
	}
}

func (l *loader) hypotheses(c *claims) {
	ids := map[string]int{}
	pairs := map[string]string{}
	for i, n := range l.root.get("hypotheses").elements() {
		if i >= len(l.e.Hypotheses) || n.kind != mapping {
			continue
		}
		h := &l.e.Hypotheses[i]
		if first, twice := ids[h.ID]; twice && h.ID != "" {
			l.about(n, "id", "%s names two hypotheses; the first is on line %d", quote(h.ID), first)
		} else {
			ids[h.ID] = n.line
		}
		c.check(n, h)
		if h.Form == CausedBy && len(h.Steps) == 2 {
			pair := h.On + " " + h.Off
			for _, name := range h.Steps {
				if other := pairs[name]; other != "" && other != pair {
					l.about(n, "on", "step %s is already switched against another step", name)
				}
				pairs[name] = pair
			}
		}
	}
}

// reference checks the claims of a published experiment: what tests them, and
// that their arithmetic can be done.
func (l *loader) reference() {
	if l.e.Reference == nil {
		return
	}
	var ids []string
	for _, h := range l.e.Hypotheses {
		ids = append(ids, h.ID)
	}
	list := l.root.get("reference").get("claims")
	for i, n := range list.elements() {
		if i >= len(l.e.Reference.Claims) {
			return
		}
		r := l.e.Reference.Claims[i]
		if r.Hypothesis != "" && !slices.Contains(ids, r.Hypothesis) {
			l.word(n.get("hypothesis"), quote(r.Hypothesis)+" is not a hypothesis", r.Hypothesis, ids)
		}
		if r.Formula == "" {
			continue
		}
		_, err := EvalFormula(r.Formula, r.Values)
		var unknown *unknownName
		if errors.As(err, &unknown) {
			l.word(n.get("formula"), fmt.Sprintf("%q is not among the claim's values", unknown.name), unknown.name, unknown.known)
		} else if err != nil {
			l.about(n, "formula", "%v", err)
		}
	}
}

// chosen resolves and checks the steps that profiles name.
func (l *loader) chosen(c *claims) {
	l.e.source.chosen = map[string]map[string]bool{}
	for _, e := range entriesOf(l.root.get("profiles")) {
		if e.value.kind != mapping {
			continue
		}
		in := c.chosen(e.value)
		if whole := e.value.get("whole"); whole != nil {
			c.resolve(whole)
		}
		l.complete(in, e.value)
		if in != nil {
			l.e.source.chosen[e.key] = in
		}
	}
}

// profiles checks that every profile can be run.
func (l *loader) profiles(opts Options) {
	list := l.root.get("profiles")
	for _, e := range entriesOf(list) {
		if !namePattern.match(e.key) {
			p := list.keyProblem(e, quote(e.key)+" cannot name a profile")
			p.Allowed = namePattern.allowed
			l.add(p)
		}
	}
	names := slices.Sorted(maps.Keys(l.e.Profiles))
	profile := opts.Profile
	if _, ok := l.e.Profiles["standard"]; ok && profile == "" {
		profile = "standard"
	}
	if _, ok := l.e.Profiles[profile]; profile != "" && !ok {
		l.add(l.unknownProfile(profile, names))
		return
	}
	l.e.source.profile = profile
	if len(l.list) > 0 {
		return
	}
	for _, name := range names {
		if scale := l.e.Profiles[name].Scale; scale != 1 && len(l.list) == 0 {
			_, _ = l.e.at(l.problems, scale)
		}
	}
}

func (l *loader) unknownProfile(profile string, known []string) FileError {
	e := FileError{
		Line: 1, Column: 1, Override: "--profile " + profile,
		Message:    fmt.Sprintf("%s is not a profile of %s", quote(profile), l.e.Name),
		Suggestion: nearest(profile, known), Allowed: list(known),
	}
	if len(known) == 0 {
		e.Message = fmt.Sprintf("%s declares no profiles", l.e.Name)
	}
	return e
}

func entriesOf(n *node) []entry {
	if n == nil {
		return nil
	}
	return n.entries
}

// unused refuses factors that change nothing.
func (l *loader) unused(steps []concrete) {
	for _, s := range steps {
		for _, e := range entriesOf(s.authored.get("factors")) {
			if !s.used[e.key] {
				l.add(s.authored.get("factors").keyProblem(e, fmt.Sprintf("no field of the step and no formula uses this factor; write ${%s} where it belongs", e.key)))
			}
		}
	}
}

// idle warns of apps that no step deploys.
func (l *loader) idle(steps []concrete) {
	if len(l.list) > 0 {
		return
	}
	deployed := map[string]bool{}
	for _, s := range steps {
		for _, a := range s.Apps {
			deployed[a.Name] = true
		}
	}
	for i, n := range l.root.get("apps").elements() {
		// A step may ask for copies where the experiment has one app.
		if name := l.e.Apps[i].Name; !deployed[name] && !deployed[name+"-1"] {
			l.warn(n.fieldProblem("name", "no step deploys this app"))
		}
	}
}

func (l *loader) warn(e FileError) {
	e.File = l.file
	l.e.source.warnings = append(l.e.source.warnings, &e)
}

// YAML returns the file as it was loaded. With overrides it is the file with
// them applied, without its comments.
func (e *Experiment) YAML() ([]byte, error) {
	if e.source == nil {
		return nil, errors.New("the experiment was not loaded from a file")
	}
	if !e.source.overridden {
		return bytes.Clone(e.source.data), nil
	}
	return yaml.MarshalWithOptions(e.source.root.plain(), yaml.UseLiteralStyleIfMultiline(true), yaml.Indent(2), yaml.IndentSequence(true))
}
