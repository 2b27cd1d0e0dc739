package verdict

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/metric"
	"brink/internal/phrase"
	"brink/internal/record"
	"brink/internal/stats"
)

// ModeKind is a way in which a plan whose memory fills up breaks.
type ModeKind string

// The kinds of mode.
const (
	// StartupDegradation: apps take twice as long to start as on the emptiest
	// plan, or longer.
	StartupDegradation ModeKind = "start-up degradation"
	// CapacityCliff: new apps fail while others serve.
	CapacityCliff ModeKind = "capacity cliff"
	// RestartCascade: apps start over together and stay down for a while.
	RestartCascade ModeKind = "restart cascade"
	// MemoryPlateau: memory in use stands still while more and more is in swap.
	MemoryPlateau ModeKind = "memory plateau"
)

// ModeKinds are all of them.
var ModeKinds = []ModeKind{StartupDegradation, CapacityCliff, RestartCascade, MemoryPlateau}

// Rule says by what a mode is told, in one clause.
func (k ModeKind) Rule() string {
	switch k {
	case StartupDegradation:
		return fmt.Sprintf("the median app takes %s times as long to start, or longer, as in the step of least load that differs in nothing else", phrase.Whole(startsSlower))
	case CapacityCliff:
		return "the last request to at least one app failed while at least one other app served; named with it is the step of the next smaller load, where none fails there"
	case RestartCascade:
		return fmt.Sprintf("in most repetitions half of the apps or more, and at least %d, start over within %s and are not all back for %s", leastTogether, cascadeWithin, cascadeDown)
	case MemoryPlateau:
		return fmt.Sprintf("over %d steps or more, in which the load grows to %s times, memory in use stays within %s points and below %s %%, while swap in use grows by %s MB or more",
			levelSteps, phrase.Whole(loadGrows), phrase.Whole(levelPoints), phrase.Whole(pinned), phrase.Whole(swapGrows))
	}
	return ""
}

// Mode is one such way, found in a record.
type Mode struct {
	Kind ModeKind `json:"kind"`
	// Steps are those in which it shows, from the least load to the highest. Of a
	// cliff they are the last step before it, if there is one, and the first
	// beyond.
	Steps []string `json:"steps"`
	// Sentence says what was seen, with its numbers.
	Sentence string `json:"sentence"`
}

// What a detector calls by its name.
const (
	startsSlower  = 2.0 // times the cold start on the emptiest plan
	levelPoints   = 2.0 // points of memory within which it stands still
	pinned        = 99.0
	swapGrows     = 100.0 // MB
	loadGrows     = 1.2
	levelSteps    = 3
	leastTogether = 2
	cascadeWithin = experiment.Duration(60 * time.Second)
	cascadeDown   = experiment.Duration(10 * time.Second)
)

// Modes finds the ways in which plans broke. It looks at what was deployed and
// at what was measured; names of steps, their order and the hypotheses play no
// part.
func Modes(t *measure.Table) []Mode {
	var all []Mode
	for _, group := range loadGroups(t, false) {
		all = append(all, startup(group)...)
	}
	for _, group := range loadGroups(t, true) {
		all = append(all, cliffs(group)...)
		all = append(all, plateaus(group)...)
	}
	all = append(all, cascades(t)...)
	slices.SortStableFunc(all, func(a, b Mode) int { return cmp.Compare(a.Kind, b.Kind) })
	return all
}

// loaded is a step with what it puts on its plan.
type loaded struct {
	measure.StepInfo
	table *measure.Table
	// mb is what apps fill and what comes with each of them, in units of 2^20
	// bytes.
	mb int
}

// median is the median of a metric, NaN where there is none. A bound counts as
// what it is known to be at least.
func (l loaded) median(name string) float64 {
	var s stats.Sample
	for _, v := range l.table.Cell(l.Name, name).Usable() {
		s = append(s, stats.Obs{X: v.X, Censored: v.Censored})
	}
	m := stats.Median(s)
	if m.Bound != stats.Exact && m.Bound != stats.LowerBound {
		return math.NaN()
	}
	return m.X
}

func (l loaded) text(name string) string {
	m, _ := metric.Lookup(name)
	return withUnit(l.median(name), m)
}

// loadGroups sorts steps that differ in nothing but their load by it. Where how
// apps are started does not matter, whether they are alike in it does not
// either.
func loadGroups(t *measure.Table, alikeStarts bool) [][]loaded {
	var keys []string
	groups := map[string][]loaded{}
	for _, s := range t.Steps {
		l := loaded{StepInfo: s, table: t}
		for _, a := range s.Apps {
			l.mb += max(1, a.Workers)*a.AllocMB + s.Plan.Share.SidecarMB
		}
		key := likeness(s.Step, alikeStarts)
		if groups[key] == nil {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], l)
	}
	slices.Sort(keys) // not as they came
	var all [][]loaded
	for _, key := range keys {
		group := groups[key]
		slices.SortFunc(group, func(a, b loaded) int {
			return cmp.Or(cmp.Compare(a.mb, b.mb), cmp.Compare(len(a.Apps), len(b.Apps)), cmp.Compare(a.median("cold_start_s"), b.median("cold_start_s")))
		})
		all = append(all, group)
	}
	return all
}

// likeness is all of a step but its load and its names.
func likeness(s experiment.Step, alikeStarts bool) string {
	var kinds []string
	for _, a := range s.Apps {
		a.Name, a.AllocMB = "", 0
		if text := asJSON(a); !slices.Contains(kinds, text) {
			kinds = append(kinds, text)
		}
	}
	slices.Sort(kinds)
	parts := []any{kinds, s.Plan, s.Pressure}
	if alikeStarts {
		parts = append(parts, s.Start, s.Stagger, s.Ladder != "")
	}
	return asJSON(parts)
}

func asJSON(v any) string {
	text, _ := json.Marshal(v) // plain structs
	return string(text)
}

// startup finds the steps of a group in which apps start much more slowly than
// in the one of the least load.
func startup(group []loaded) []Mode {
	const name = "cold_start_median_s"
	var base *loaded
	mode := Mode{Kind: StartupDegradation}
	var worst loaded
	for i, l := range group {
		x := l.median(name)
		switch {
		case math.IsNaN(x):
		case base == nil:
			base = &group[i]
		case l.mb > base.mb && x >= startsSlower*base.median(name):
			mode.Steps = append(mode.Steps, l.Name)
			if len(mode.Steps) == 1 || x > worst.median(name) {
				worst = l
			}
		}
	}
	if len(mode.Steps) == 0 {
		return nil
	}
	mode.Sentence = fmt.Sprintf("Apps start in %s with %s that fill %d MB with what comes with them, and in up to %s (%s, %d MB): %s times as long.",
		base.text(name), phrase.Plural(len(base.Apps), "app"), base.mb, worst.text(name), phrase.Plural(len(worst.Apps), "app"), worst.mb,
		phrase.Whole(math.Round(10*worst.median(name)/base.median(name))/10))
	return []Mode{mode}
}

// cliffs finds the load of a group from which on apps fail while others serve.
func cliffs(group []loaded) []Mode {
	fails := func(l loaded) bool { return l.median("apps_failing") >= 1 && l.median("apps_serving") >= 1 }
	at := slices.IndexFunc(group, fails)
	if at < 0 {
		return nil
	}
	l := group[at]
	mode := Mode{Kind: CapacityCliff, Steps: []string{l.Name}}
	mode.Sentence = fmt.Sprintf("%s of %s failed and %s served, at %s memory.", l.text("apps_failing"),
		phrase.Plural(len(l.Apps), "app"), l.text("apps_serving"), l.text("memory_pct"))
	if at > 0 && group[at-1].median("apps_failing") == 0 {
		before := group[at-1]
		mode.Steps = []string{before.Name, l.Name}
		mode.Sentence += fmt.Sprintf(" With %s all served, at %s.", phrase.Plural(len(before.Apps), "app"), before.text("memory_pct"))
	}
	return []Mode{mode}
}

// plateaus finds the longest stretch of a group over which memory in use stands
// still although the load and what is in swap grow.
func plateaus(group []loaded) []Mode {
	var best []loaded
	for i := range group {
		for j := len(group); j-i >= levelSteps && j-i > len(best); j-- {
			if standsStill(group[i:j]) {
				best = group[i:j]
			}
		}
	}
	if best == nil {
		return nil
	}
	first, last := best[0], best[len(best)-1]
	mode := Mode{Kind: MemoryPlateau}
	for _, l := range best {
		mode.Steps = append(mode.Steps, l.Name)
	}
	mode.Sentence = fmt.Sprintf("Memory stands at %s to %s from %d MB to %d MB of load, while swap in use goes from %s to %s.",
		first.text("memory_pct"), last.text("memory_pct"), first.mb, last.mb, first.text("swap_used_mb"), last.text("swap_used_mb"))
	return []Mode{mode}
}

func standsStill(steps []loaded) bool {
	least, most := math.Inf(1), math.Inf(-1)
	for _, l := range steps {
		x := l.median("memory_pct")
		if math.IsNaN(x) {
			return false
		}
		least, most = min(least, x), max(most, x)
	}
	first, last := steps[0], steps[len(steps)-1]
	return most-least <= levelPoints && most < pinned && float64(last.mb) >= loadGrows*float64(first.mb) &&
		last.median("swap_used_mb")-first.median("swap_used_mb") >= swapGrows
}

// counts tells whether what happened to the apps in a repetition counts. One that
// was cut short says nothing of what would have come.
func counts(r measure.RepetitionInfo) bool {
	return r.Excluded == "" && !r.Twin && r.Status != record.Interrupted && r.Status != record.Running
}

// cascades finds the steps in most of whose repetitions half of the apps, and at
// least two, start over within a minute and are not all back for ten seconds.
func cascades(t *measure.Table) []Mode {
	var all []Mode
	for _, s := range t.Steps {
		seen, n := 0, 0
		for _, r := range s.Repetitions {
			if !counts(r) {
				continue
			}
			n++
			if r.Cascade(max(leastTogether, (len(s.Apps)+1)/2), cascadeWithin, cascadeDown) {
				seen++
			}
		}
		if 2*seen <= n {
			continue
		}
		l := loaded{StepInfo: s, table: t}
		sentence := fmt.Sprintf("Half of %s or more start over together in %d of %s", phrase.Plural(len(s.Apps), "app"), seen, phrase.Plural(n, "repetition"))
		if !math.IsNaN(l.median("recovery_s")) {
			bound := ""
			if slices.ContainsFunc(t.Cell(s.Name, "recovery_s").Usable(), func(v measure.Value) bool { return v.Censored }) {
				bound = "at least "
			}
			sentence += fmt.Sprintf("; until all are back it takes %s%s", bound, l.text("recovery_s"))
		}
		all = append(all, Mode{Kind: RestartCascade, Steps: []string{s.Name}, Sentence: sentence + "."})
	}
	slices.SortFunc(all, func(a, b Mode) int { return cmp.Compare(a.Sentence, b.Sentence) })
	return all
}
