package doctor

import (
	"slices"
	"strings"

	"brink/internal/evidence"
)

// Rule looks for one failure mode.
type Rule struct {
	Mode Mode
	// Needs are sets of signals. With all of any one set the rule can judge;
	// without, it stays silent and its mode is listed as not judged.
	Needs [][]evidence.Signal
	// Judge looks at the case and answers. It may read values that are missing:
	// comparisons with them are false.
	Judge func(l *look, a *answer)
}

// rules are in the order in which findings of equal standing are reported:
// causes first.
var rules = []Rule{
	strictOvercommit, hiddenMemory, cpuThrottling, swapThrash, fileThrash, memoryPressure, capacityCliff,
	memoryPlateau, cpuContention, oomKill, bootTimeoutLoop, failedStart, slowStart, restartCascade, crashLoop,
	eventLoopBlocked, workerExhaustion, acceptQueueOverflow, workerTimeout,
}

// able reports whether the case holds what the rule needs.
func (r *Rule) able(c *evidence.Case) bool {
	return slices.ContainsFunc(r.Needs, func(set []evidence.Signal) bool {
		return !slices.ContainsFunc(set, func(s evidence.Signal) bool { return !c.Has(s) })
	})
}

// needs reports whether a signal is in any of the rule's sets.
func (r *Rule) needs(s evidence.Signal) bool {
	return slices.ContainsFunc(r.Needs, func(set []evidence.Signal) bool { return slices.Contains(set, s) })
}

// anyOf makes sets of one signal each.
func anyOf(signals ...evidence.Signal) [][]evidence.Signal {
	var sets [][]evidence.Signal
	for _, s := range signals {
		sets = append(sets, []evidence.Signal{s})
	}
	return sets
}

// Area is what a check is about.
type Area string

// The areas.
const (
	Memory  Area = "memory"
	Swap    Area = "swap"
	CPU     Area = "CPU"
	Workers Area = "workers"
	Queues  Area = "accept queues"
	Starts  Area = "starts and restarts"
	Traffic Area = "requests"
	Source  Area = "the source"
)

// Check is something that was looked at and is no finding.
type Check struct {
	Area Area `json:"area"`
	// Text is one sentence or more.
	Text    string   `json:"text"`
	Numbers []Number `json:"numbers"`
	// Settle is what would tell, of what is not sure.
	Settle string `json:"settle,omitempty"`
	// suspicious checks forbid the verdict healthy.
	suspicious bool
	// of is the app that the check is about, where it has a name.
	of string
}

// answer is what a rule says.
type answer struct {
	rule                *Rule
	findings            []Finding
	good, unsure, notes []Check
}

// silent reports whether the rule said nothing at all.
func (a *answer) silent() bool {
	return len(a.findings)+len(a.good)+len(a.unsure)+len(a.notes) == 0
}

// found takes in a finding.
func (a *answer) found(f *Finding) {
	f.Mode = a.rule.Mode
	a.findings = append(a.findings, f.finished())
}

// fine says that something was looked at and is in order.
func (a *answer) fine(area Area, text string, w *words) {
	a.good = append(a.good, check(area, text, w))
}

// fineOf says the same of an app, unless another rule finds something about it.
func (a *answer) fineOf(app string, area Area, text string, w *words) {
	a.fine(area, text, w)
	a.good[len(a.good)-1].of = app
}

// note says something to know.
func (a *answer) note(area Area, text string, w *words) {
	a.notes = append(a.notes, check(area, text, w))
}

// cannotTell says that there is evidence, and too little of it.
func (a *answer) cannotTell(area Area, text, settle string, w *words) {
	c := check(area, text, w)
	c.Settle = settle
	a.unsure = append(a.unsure, c)
}

// suspect says that something looks bad and nothing here says why.
func (a *answer) suspect(area Area, text, settle string, w *words) {
	a.cannotTell(area, text, settle, w)
	a.unsure[len(a.unsure)-1].suspicious = true
}

func check(area Area, text string, w *words) Check {
	c := Check{Area: area, Text: text, Numbers: []Number{}}
	if w != nil {
		c.Numbers = orEmpty(w.numbers)
	}
	return c
}

// areas names the areas of checks, each once.
func areas(checks []Check) string {
	var names []string
	for _, c := range checks {
		if !slices.Contains(names, string(c.Area)) {
			names = append(names, string(c.Area))
		}
	}
	return strings.Join(names, ", ")
}
