// Package doctor says what is wrong with a machine or an app, and how it
// knows. It judges a [evidence.Case] with rules, one file each, and puts causes
// before their symptoms. No rule reads a file, and no reader judges.
//
// Every number that a finding names is the evidence's own, with the file and
// field that it came from. What was not seen is listed and never counts as
// healthy.
package doctor

import (
	"cmp"
	"slices"
	"time"

	"brink/internal/evidence"
)

// Format is the version of the JSON document. Fields may be added to it; a
// change of meaning changes the number.
const Format = "brink-doctor/1"

// Verdict is the answer in a word.
type Verdict string

// The verdicts.
const (
	// Findings: at least one failure mode was found.
	Findings Verdict = "findings"
	// Healthy: something was looked at and good, nothing was found, and nothing
	// that was given stays unexplained or unread. It holds for the areas it names.
	Healthy Verdict = "healthy"
	// Unknown: the evidence does not carry a verdict.
	Unknown Verdict = "unknown"
)

// Report is what doctor says about a case.
type Report struct {
	Format  string  `json:"format"`
	Verdict Verdict `json:"verdict"`
	// Summary is one sentence, fit to forward.
	Summary string `json:"summary"`
	// From and To are the first and last instant in the evidence.
	From *time.Time `json:"from,omitempty"`
	To   *time.Time `json:"to,omitempty"`
	// Findings are ordered: causes before what they explain. LeftOut is how many
	// beyond the most that a report holds there were.
	Findings []Finding `json:"findings"`
	LeftOut  int       `json:"left_out,omitempty"`
	// Good is what was looked at and found in order, Unsure what the evidence
	// cannot tell although there is some, Notes what to know.
	Good   []Check `json:"good"`
	Unsure []Check `json:"unsure"`
	Notes  []Check `json:"notes"`
	// Unseen is what could not be seen, and which modes that leaves open.
	Unseen []Unseen `json:"could_not_see"`

	Inputs    []evidence.Input    `json:"inputs"`
	Strangers []evidence.Stranger `json:"not_understood"`
}

// mostFindings bounds a report: at some 1.6 kB each the document stays below 10
// MB.
const mostFindings = 5_000

// Unseen is a kind of evidence that the case does not hold.
type Unseen struct {
	What   evidence.Signal `json:"what"`
	Why    evidence.Reason `json:"why"`
	Detail string          `json:"detail,omitempty"`
	// Modes are those of which nothing can be said, and for which this was
	// wanted.
	Modes []Mode `json:"modes,omitempty"`
}

// ExitCode is what a command ends with: 0 healthy, 1 findings, 3 too little
// evidence. 2, bad input, is not the report's to give.
func (r *Report) ExitCode() int {
	switch r.Verdict {
	case Healthy:
		return 0
	case Findings:
		return 1
	}
	return 3
}

// Finding returns the finding of a mode, nil if there is none.
func (r *Report) Finding(mode Mode) *Finding {
	for i := range r.Findings {
		if r.Findings[i].Mode == mode {
			return &r.Findings[i]
		}
	}
	return nil
}

// Diagnose judges a case.
func Diagnose(c *evidence.Case) *Report {
	l := newLook(c)
	r := &Report{
		Format: Format, Findings: []Finding{}, Good: []Check{}, Unsure: []Check{}, Notes: []Check{},
		Inputs: orEmpty(c.Inputs), Strangers: orEmpty(c.Strangers),
	}
	var silent []*Rule
	for i := range rules {
		rule := &rules[i]
		a := &answer{rule: rule}
		if rule.able(c) {
			rule.Judge(l, a)
		}
		if a.silent() {
			silent = append(silent, rule)
		}
		r.Findings = append(r.Findings, a.findings...)
		r.Good = append(r.Good, a.good...)
		r.Unsure = append(r.Unsure, a.unsure...)
		r.Notes = append(r.Notes, a.notes...)
	}
	r.Findings = inCausalOrder(r.Findings)
	if n := len(r.Findings) - mostFindings; n > 0 {
		r.Findings, r.LeftOut = r.Findings[:mostFindings], n
	}
	general(l, r)
	r.consistent()
	r.explained()
	r.Unseen = unseen(c, silent)
	if from, to := c.Interval(); !from.IsZero() {
		r.From, r.To = &from, &to
	}
	r.conclude()
	return r
}

// consistent drops what is in order with the workers of an app of which a finding
// says that it is not, for a pool whose workers are killed while they boot is idle,
// and what looks bad about it and has its cause in that finding.
func (r *Report) consistent() {
	modes := []Mode{BootTimeoutLoop, WorkerTimeout, FailedStart, SlowStart, CrashLoop, RestartCascade, EventLoopBlocked, WorkerExhaustion}
	told := func(c Check) bool {
		return c.of != "" && slices.ContainsFunc(r.Findings, func(f Finding) bool {
			return (f.Subject == c.of || slices.Contains(f.places, c.of)) && slices.Contains(modes, f.Mode)
		})
	}
	r.Good, r.Unsure = slices.DeleteFunc(r.Good, told), slices.DeleteFunc(r.Unsure, told)
}

// explained drops suspicions about memory where a finding says what is the
// matter with it.
func (r *Report) explained() {
	short := slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return slices.Contains([]Mode{SwapThrash, FileThrash, MemoryPressure, HiddenMemory, OOMKill}, f.Mode)
	})
	if short {
		r.Unsure = slices.DeleteFunc(r.Unsure, func(c Check) bool { return c.suspicious && c.Area == Memory })
	}
}

// noVerdict begins the summary where there is none.
const noVerdict = "No verdict: "

// conclude gives the verdict and its sentence.
func (r *Report) conclude() {
	switch {
	case len(r.Findings) > 0:
		r.Verdict = Findings
		r.Summary = r.Findings[0].What
		if g := groups(r.Findings)[0]; len(g) > 1 {
			r.Summary = g.title() + g.colon() + g.inShort()
		}
	case len(r.Good) > 0 && !slices.ContainsFunc(r.Unsure, func(c Check) bool { return c.suspicious }):
		r.Verdict = Healthy
		r.Summary = "Nothing is wrong, as far as this evidence goes: " + areas(r.Good) + "."
		if spoilt := r.unreadable(); spoilt != "" {
			r.Verdict = Unknown
			r.Summary = noVerdict + "a part of the evidence cannot be read: " + spoilt + "."
		}
	case len(r.Unsure) > 0:
		r.Verdict = Unknown
		r.Summary = noVerdict + r.Unsure[0].Text
	default:
		r.Verdict = Unknown
		r.Summary = noVerdict + "there is too little evidence to judge anything by."
	}
}

// unreadable says which evidence was given and is spoilt; empty if none is. It may
// have held anything.
func (r *Report) unreadable() string {
	i := slices.IndexFunc(r.Unseen, func(u Unseen) bool { return u.Why == evidence.Unreadable })
	if i < 0 {
		return ""
	}
	return cmp.Or(r.Unseen[i].Detail, string(r.Unseen[i].What))
}

// unseen lists what the case does not hold, with the modes of which nothing can
// be said and that it would have helped to judge.
func unseen(c *evidence.Case, silent []*Rule) []Unseen {
	list := []Unseen{}
	for _, gap := range c.Unseen() {
		u := Unseen{What: gap.What, Why: gap.Why, Detail: gap.Detail}
		for _, rule := range silent {
			if rule.needs(gap.What) {
				u.Modes = append(u.Modes, rule.Mode)
			}
		}
		list = append(list, u)
	}
	return list
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
