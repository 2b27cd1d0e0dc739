package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"brink/internal/experiment"
	"brink/internal/record"
)

// Aspect is one of the things that two sides must have in common.
type Aspect string

// The aspects, in the order in which they are told.
const (
	// Plan: CPUs, memory and swap, and whether these limits held.
	Plan Aspect = "plan"
	// Accelerator: none, kvm or tcg.
	Accelerator Aspect = "accelerator"
	// Host: the kind of host, and the machine's CPUs and memory.
	Host Aspect = "host"
	// Workload: the traffic, its warm-up, and the place in a ladder.
	Workload Aspect = "workload"
	// Apps: how the apps are configured. Two steps of different names may
	// differ in them: that is then what is compared.
	Apps Aspect = "apps"
	// Brink: the version of the program that measured.
	Brink Aspect = "brink"
)

// Aspects lists all aspects.
func Aspects() []Aspect { return []Aspect{Plan, Accelerator, Host, Workload, Apps, Brink} }

// Difference is something that the two sides do not have in common.
type Difference struct {
	Aspect Aspect `json:"aspect"`
	// Text is a clause, such as "the plans differ: cpus: 1 in A, 2 in B".
	Text string `json:"text"`
	// Steps are the pairs that it is about; none when it is about all.
	Steps []string `json:"steps,omitempty"`
}

func (d Difference) String() string {
	switch n := len(d.Steps); {
	case n == 0:
		return d.Text
	case n > maxNamedSteps:
		return fmt.Sprintf("%s (%d steps: %s and %d more)", d.Text, n, strings.Join(d.Steps[:maxNamedSteps-1], ", "), n-maxNamedSteps+1)
	case n == 1 && !strings.Contains(d.Steps[0], " and "):
		return d.Text + " (step " + d.Steps[0] + ")"
	}
	return d.Text + " (steps " + strings.Join(d.Steps, ", ") + ")"
}

// maxNamedSteps is how many steps a sentence names.
const maxNamedSteps = 4

// RefusedError says why two sides are not compared.
type RefusedError struct {
	A, B        string
	Differences []Difference
}

// Error gives a sentence for each difference, with the way around it.
func (e *RefusedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s and %s are not comparable", e.A, e.B)
	for _, d := range e.Differences {
		fmt.Fprintf(&b, "\n  %s; --allow %s compares them all the same", d, d.Aspect)
	}
	return b.String()
}

// differences collects what stands between the two sides, each text once.
type differences struct{ all []Difference }

func (d *differences) add(a Aspect, step, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for i, x := range d.all {
		if x.Aspect == a && x.Text == text {
			if step != "" {
				d.all[i].Steps = append(d.all[i].Steps, step)
			}
			return
		}
	}
	x := Difference{Aspect: a, Text: text}
	if step != "" {
		x.Steps = []string{step}
	}
	d.all = append(d.all, x)
}

// check compares everything that the sides must have in common.
func check(a, b *Side, pairs [][2]step) []Difference {
	var d differences
	d.conditions(a, b)
	for _, p := range pairs {
		d.pair(a, b, p[0], p[1])
	}
	slices.SortStableFunc(d.all, func(x, y Difference) int {
		return slices.Index(Aspects(), x.Aspect) - slices.Index(Aspects(), y.Aspect)
	})
	return d.all
}

// conditions compares what holds for whole sides.
func (d *differences) conditions(a, b *Side) {
	d.stated(Accelerator, a, b, func(s *Side) string {
		if s.Run != nil {
			return s.Run.Accelerator
		}
		return s.data.Accelerator
	})
	d.stated(Host, a, b, func(s *Side) string {
		if s.Run != nil {
			return s.Run.Host
		}
		return s.data.Host
	})
	if a.Run == nil || b.Run == nil || a.Run.same(b.Run) {
		return
	}
	for _, name := range machineFacts {
		x, y := fact(a.Run.facts, name), fact(b.Run.facts, name)
		if x != y {
			d.add(Host, "", "the machines differ: %s is %s in A and %s in B", name, orNone(x), orNone(y))
		}
	}
	if a.Run.Brink != b.Run.Brink {
		d.add(Brink, "", "different versions of brink measured: %s in A and %s in B", a.Run.Brink, b.Run.Brink)
	}
}

// stated compares a condition that a data file may leave out.
func (d *differences) stated(aspect Aspect, a, b *Side, of func(*Side) string) {
	x, y := of(a), of(b)
	for _, s := range []*Side{a, b} {
		if s.Run == nil && of(s) == "" {
			d.add(aspect, "", "%s does not state its %s", s.Name, aspect)
			return
		}
	}
	if x != y {
		d.add(aspect, "", "the %ss differ: %s in A and %s in B", aspect, orNone(x), orNone(y))
	}
}

// machineFacts are the lines of the environment that make a machine another
// one. Others are told as a caveat.
var machineFacts = []string{"CPU model", "CPUs", "MemTotal"}

func fact(facts []record.Fact, name string) string {
	for _, f := range facts {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// otherFacts lists further lines of the environment that differ.
func otherFacts(a, b []record.Fact) []string {
	values := map[string][2]string{}
	for i, facts := range [][]record.Fact{a, b} {
		for _, f := range facts {
			v := values[f.Name]
			v[i] = f.Value
			values[f.Name] = v
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if v := values[name]; v[0] != v[1] && !slices.Contains(machineFacts, name) {
			out = append(out, fmt.Sprintf("%s: %s in A, %s in B", name, orNone(v[0]), orNone(v[1])))
		}
	}
	return out
}

// pair compares two steps.
func (d *differences) pair(a, b *Side, x, y step) {
	name := x.name
	if y.name != x.name {
		name += " and " + y.name
	}
	if x.design == nil || y.design == nil {
		d.pairWithData(a, b, x, y, name)
		return
	}
	if diff := differing(x.design.Plan, y.design.Plan); len(diff) > 0 {
		d.add(Plan, name, "the plans differ: %s", strings.Join(diff, "; "))
	}
	limits, inA := limitsApart(x.held, y.held)
	for _, limit := range limits {
		d.add(Plan, name, "the plan's limit of %s held in %s only", limit, map[bool]string{true: "A", false: "B"}[inA(limit)])
	}
	if diff := differing(workloadOf(*x.design), workloadOf(*y.design)); len(diff) > 0 {
		d.add(Workload, name, "the workloads differ: %s", strings.Join(diff, "; "))
	}
	if x.name == y.name {
		for _, field := range appsDiffer(x, y) {
			d.add(Apps, name, "the apps differ: %s", field)
		}
	}
}

// pairWithData compares a step with what a data file states.
func (d *differences) pairWithData(a, b *Side, x, y step, name string) {
	type terms struct {
		plan     *experiment.Plan
		workload string
	}
	of := func(s *Side, st step) terms {
		if st.design != nil {
			return terms{&st.design.Plan, st.design.TrafficText()}
		}
		return terms{s.data.Plan, s.data.Workload}
	}
	tx, ty := of(a, x), of(b, y)
	for i, t := range []terms{tx, ty} {
		s := [2]*Side{a, b}[i]
		if t.plan == nil {
			d.add(Plan, "", "%s does not state its plan", s.Name)
		}
		if t.workload == "" {
			d.add(Workload, "", "%s does not state its workload", s.Name)
		}
	}
	if tx.plan != nil && ty.plan != nil {
		if diff := differing(tx.plan, ty.plan); len(diff) > 0 {
			d.add(Plan, name, "the plans differ: %s", strings.Join(diff, "; "))
		}
	}
	if tx.workload != "" && ty.workload != "" && tx.workload != ty.workload {
		d.add(Workload, name, "the workloads differ: %q in A, %q in B", tx.workload, ty.workload)
	}
}

// limitsApart names the limits of the plan that held in one of two steps only;
// inA tells in which. Steps without a repetition that tells have none.
func limitsApart(x, y map[string]bool) (names []string, inA func(string) bool) {
	inA = func(name string) bool { return x[name] }
	if x == nil || y == nil {
		return nil, inA
	}
	all := maps.Clone(x)
	maps.Copy(all, y)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if x[name] != y[name] {
			names = append(names, name)
		}
	}
	return names, inA
}

// workload is what a step does to its apps. Streams name their app by its
// place, since apps that are compared may have different names.
type workload struct {
	Apps    int                  `json:"apps"`
	Traffic []experiment.Traffic `json:"traffic"`
	WarmUp  experiment.Duration  `json:"warm_up,omitempty"`
	Settle  experiment.Duration  `json:"settle,omitempty"`
	Ladder  bool                 `json:"ladder,omitempty"`
	Rung    int                  `json:"rung,omitempty"`
}

func workloadOf(s experiment.Step) workload {
	w := workload{Apps: len(s.Apps), Traffic: slices.Clone(s.Traffic), WarmUp: s.WarmUp, Settle: s.Settle, Ladder: s.Ladder != "", Rung: s.Rung}
	for i := range w.Traffic {
		at := slices.IndexFunc(s.Apps, func(a experiment.App) bool { return a.Name == w.Traffic[i].App })
		w.Traffic[i].App = fmt.Sprintf("the app in place %d", at+1)
	}
	return w
}

// appsDiffer lists how the apps of two steps differ, a line for each field and
// the apps that differ alike in it. Apps are paired by place; their names are
// left out.
func appsDiffer(x, y step) []string {
	unnamed := func(apps []experiment.App) []experiment.App {
		apps = slices.Clone(apps)
		for i := range apps {
			apps[i].Name = ""
		}
		return apps
	}
	xs, ys := unnamed(x.design.Apps), unnamed(y.design.Apps)
	if len(xs) != len(ys) {
		type list struct {
			App []experiment.App `json:"app"`
		}
		return differing(list{xs}, list{ys})
	}
	var order []string
	places := map[string][]int{}
	for i := range xs {
		for _, field := range differing(xs[i], ys[i]) {
			if places[field] == nil {
				order = append(order, field)
			}
			places[field] = append(places[field], i+1)
		}
	}
	for i, field := range order {
		order[i] = placesText(places[field]) + " " + field
	}
	return order
}

// placesText names apps by their places: "app 1", "apps 1 to 8", "apps 1, 3".
func placesText(places []int) string {
	first, last := places[0], places[len(places)-1]
	switch {
	case len(places) == 1:
		return fmt.Sprintf("app %d", first)
	case len(places) > 2 && last-first == len(places)-1:
		return fmt.Sprintf("apps %d to %d", first, last)
	}
	return "apps " + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(places)), ", "), "[]")
}

// differing lists the fields in which two values of one type differ, under the
// names that they have in JSON: "cpus: 1 in A, 2 in B".
func differing(a, b any) []string {
	fields := func(v any) map[string]string {
		raw, err := json.Marshal(v)
		var tree any
		if err == nil {
			err = json.Unmarshal(raw, &tree)
		}
		if err != nil {
			return map[string]string{"": err.Error()}
		}
		flat := map[string]string{}
		flatten("", tree, flat)
		return flat
	}
	x, y := fields(a), fields(b)
	names := map[string]bool{}
	for n := range x {
		names[n] = true
	}
	for n := range y {
		names[n] = true
	}
	var out []string
	for _, n := range slices.Sorted(maps.Keys(names)) {
		if x[n] != y[n] {
			out = append(out, fmt.Sprintf("%s: %s in A, %s in B", n, orNone(x[n]), orNone(y[n])))
		}
	}
	return out
}

func flatten(path string, v any, into map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			flatten(strings.TrimPrefix(path+" "+k, " "), x, into)
		}
	case []any:
		for i, x := range v {
			flatten(fmt.Sprintf("%s %d", path, i+1), x, into)
		}
	default:
		into[path] = fmt.Sprint(v)
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
