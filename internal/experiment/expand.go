package experiment

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// concrete is one resolved step with the authored step that it came from.
type concrete struct {
	Step
	authored *node
	// used collects the factors that the authored step or a claim refers to; it
	// is shared by all steps of a matrix.
	used map[string]bool
}

// expander turns authored steps into resolved ones at one scale.
type expander struct {
	decoder
	root *node
	// base are the experiment's apps by name, in the order of the file.
	base  map[string]*node
	order []string
	// partial tells that some steps could not be resolved at all.
	partial bool
}

func newExpander(p *problems, root *node, scale float64) *expander {
	x := &expander{decoder: decoder{problems: p, scale: scale}, root: root, base: map[string]*node{}}
	for _, n := range root.get("apps").elements() {
		if name := n.get("name"); name != nil && name.kind == scalar {
			x.base[name.text] = n
			x.order = append(x.order, name.text)
		}
	}
	return x
}

// steps resolves all steps in the order of the file.
func (x *expander) steps() []concrete {
	list := x.root.get("steps")
	if list == nil || list.kind != sequence || len(list.items) == 0 {
		if list != nil {
			x.at(list, "is %s; write a list of at least one step", list.describe())
		}
		return nil
	}
	var all []concrete
	budget := maxExpansion
	for _, n := range list.items {
		if n.kind != mapping {
			x.at(n, "is %s; a step is a mapping of fields", n.describe())
			x.partial = true
			continue
		}
		before := len(x.list)
		factors := x.factors(n.get("factors"))
		if len(x.list) > before {
			x.partial = true
			continue
		}
		steps := count(factors)
		budget -= steps * (n.size() + x.root.get("apps").weight())
		if len(all)+steps > maxSteps || budget < 0 {
			x.at(n, "the matrix grows beyond %d steps or beyond what can be held; use fewer levels", maxSteps)
			x.partial = true
			return all
		}
		used := map[string]bool{}
		for _, levels := range combinations(factors) {
			all = append(all, concrete{Step: x.step(n, factors, levels, used), authored: n, used: used})
		}
	}
	x.ladders(all)
	return all
}

// weight is the size of a tree that may be absent.
func (n *node) weight() int {
	if n == nil {
		return 0
	}
	return n.size()
}

// step resolves one combination of levels.
func (x *expander) step(authored *node, factors []factor, levels map[string]level, used map[string]bool) Step {
	b := binding{problems: x.problems, levels: levels, scale: x.scale, used: used}
	template := *authored
	template.entries = slices.Clone(authored.entries)
	for _, field := range []string{"factors", "name", "title"} {
		template.remove(field)
	}
	n := b.resolve(&template)
	filled := *n
	filled.entries = slices.Clone(n.entries)
	for _, field := range []string{"warm_up", "settle", "wash_out"} {
		if v := x.root.get(field); v != nil && n.get(field) == nil {
			filled.set(field, v)
		}
	}
	if plan := mergedPlan(b.resolve(x.root.get("plan")), n.get("plan")); plan != nil {
		filled.set("plan", plan)
	}
	x.label(&filled, authored, factors, b)

	s := Step{}
	x.structure(&filled, reflect.ValueOf(&s).Elem())
	for name, l := range levels {
		if s.Factors == nil {
			s.Factors = map[string]Level{}
		}
		s.Factors[name] = l.resolved(x.scale)
	}
	x.plan(&s, filled.get("plan"))
	copies := x.apps(&s, &filled, b)
	x.starting(&s, &filled)
	x.fits(&s, &filled)
	x.traffic(&s, filled.get("traffic"), copies)
	if len(x.list) == 0 {
		x.agree(&s, authored)
	}
	return s
}

// authoredName is a step's name as a file may write it, references left out.
var authoredName = expression(`^[a-z0-9-]*$`)

// label fills in name and title. A name that refers to no factor gets the
// levels of the matrix appended, as the file writes them.
func (x *expander) label(n, authored *node, factors []factor, b binding) {
	// A factor that only appears in names changes nothing, so it does not count
	// as used.
	b.used = map[string]bool{}
	if title := authored.get("title"); title != nil {
		n.set("title", b.resolve(title))
	}
	name := authored.get("name")
	if name == nil {
		return
	}
	if name.kind == scalar && !authoredName().MatchString(reference().ReplaceAllString(name.text, "")) {
		p := name.problem(name.describe() + " is not allowed here")
		p.Allowed = namePattern.allowed
		x.add(p)
	}
	b.written = true
	full := *b.resolve(name)
	if full.kind == scalar && !hasReference(name.text) {
		for _, f := range factors {
			if f.matrix {
				full.text += "-" + f.name + "=" + inName(b.levels[f.name].node.text)
			}
		}
		if full.text != name.text {
			full.value = full.text
		}
	} else if full.text != name.text {
		full.text = inName(full.text)
		full.value = full.text
	}
	n.set("name", &full)
}

// inName replaces what a step's name cannot hold.
func inName(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r == '_' || r == '=' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, text)
}

// apps resolves a step's apps and returns the names of the copies of each.
func (x *expander) apps(s *Step, n *node, b binding) map[string][]string {
	var nodes []*node
	if list := n.get("apps"); list != nil {
		for _, item := range list.elements() {
			nodes = append(nodes, x.app(item, b))
		}
	} else {
		for _, name := range x.order {
			nodes = append(nodes, b.resolve(x.base[name]))
		}
		if len(nodes) == 0 {
			x.about(n, "apps", "is missing, and the experiment has no apps either")
		}
	}
	copies, ports := map[string][]string{}, map[int]string{}
	for _, an := range nodes {
		if an == nil {
			continue
		}
		var a App
		before := len(x.list)
		x.structure(an, reflect.ValueOf(&a).Elem())
		x.checkApp(an, &a)
		if limit := s.Plan.Platform.StartLimit; limit > 0 && an.get("start_limit") == nil {
			a.StartLimit = limit
		}
		if a.Name == "" {
			continue
		}
		if copies[a.Name] != nil {
			// The experiment's own list has been checked already.
			if n.get("apps") != nil && len(x.list) == before {
				x.about(an, "name", "%s stands twice in the step", quote(a.Name))
			}
			continue
		}
		if a.Port > 0 && a.Copies > 1 {
			x.about(an, "port", "belongs to one app, and copies asks for %d; leave it out", a.Copies)
		}
		if other := ports[a.Port]; a.Port > 0 && other != "" {
			x.about(an, "port", "%d is that of app %s in the same step; leave it out, or write another", a.Port, other)
		}
		ports[a.Port] = a.Name
		each := a.copies()
		for _, c := range each {
			copies[a.Name] = append(copies[a.Name], c.Name)
		}
		s.Apps = append(s.Apps, each...)
	}
	if len(s.Apps) > maxApps {
		x.about(n, "apps", "the step has %d apps; at most %d are allowed", len(s.Apps), maxApps)
	}
	return copies
}

// app resolves one item of a step's list of apps: the name of an app of the
// experiment, such an app with changed fields, or an app of its own.
func (x *expander) app(item *node, b binding) *node {
	if item.kind == mapping {
		if name := item.get("name"); name != nil && name.kind == scalar && x.base[name.text] != nil {
			return merged(b.resolve(x.base[name.text]), item)
		}
		return item
	}
	if item.kind != scalar || item.value == nil {
		x.at(item, "is %s; write the name of an app or a mapping of fields", item.describe())
		return nil
	}
	base := x.base[item.text]
	if base == nil {
		if !hasReference(item.text) {
			x.word(item, item.describe()+" is not an app of the experiment", item.text, x.order)
		}
		return nil
	}
	return b.resolve(base)
}

// copies returns the apps that the file's app stands for.
func (a App) copies() []App {
	n := a.Copies
	a.Copies = 0
	if n == 0 {
		return []App{a}
	}
	all := make([]App, n)
	for i := range all {
		all[i] = a
		all[i].Name = fmt.Sprintf("%s-%d", a.Name, i+1)
	}
	return all
}

// ladders numbers the rungs and checks that each only adds apps.
func (x *expander) ladders(all []concrete) {
	last := map[string]*concrete{}
	for i := range all {
		s := &all[i]
		if s.Ladder == "" {
			continue
		}
		if before := last[s.Ladder]; before != nil {
			s.Rung = before.Rung + 1
			if s.Plan != before.Plan {
				x.about(s.authored, "plan", "step %s changes the plan of ladder %s; all rungs share one", s.Name, s.Ladder)
			}
			if s.Repetitions != before.Repetitions {
				x.about(s.authored, "repetitions", "step %s is not repeated as often as the rung before it, %s; only whole ladders are repeated", s.Name, before.Name)
			}
			if !extends(s.Apps, before.Apps) {
				x.about(s.authored, "apps", "step %s does not have the apps of the rung before it, %s, unchanged; a rung only adds apps", s.Name, before.Name)
			}
		}
		last[s.Ladder] = s
	}
}

// extends tells whether each app of base stands in apps as it is.
func extends(apps, base []App) bool {
	for _, a := range base {
		if !slices.ContainsFunc(apps, func(b App) bool { return reflect.DeepEqual(a, b) }) {
			return false
		}
	}
	return true
}
