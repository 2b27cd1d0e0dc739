package report

import (
	"fmt"
	"slices"
	"strings"

	"brink/internal/phrase"
	"brink/internal/verdict"
)

// sixteen are the sections of a report in their order. empty is what a
// section says when there is nothing for it.
var sixteen = []struct {
	title  string
	empty  string
	blocks func(*Model) []block
}{
	{"Question", "The experiment's file asks none.", func(m *Model) []block { return paragraphs(m.Question) }},
	{"Why this matters", "The experiment's file does not say.", func(m *Model) []block { return paragraphs(m.Why) }},
	{"Customer symptom", "The experiment's file names none.", func(m *Model) []block { return lists(m.Symptoms) }},
	{"Hypothesis", "The experiment's file states none: this report describes and does not judge.", hypothesisBlocks},
	{"Environment", "Nothing was recorded.", environmentBlocks},
	{"Variables", "The experiment's file names none.", variableBlocks},
	{"Instrumentation", "No signal was recorded.", signalBlocks},
	{"Procedure", "No repetition was started.", procedureBlocks},
	{"Expected signal", "The experiment's file states none.", func(m *Model) []block { return lists(m.Expected) }},
	{"Results", "No result was recorded.", nil}, // composed with its pictures
	{"Interpretation", "There is nothing to interpret.", interpretationBlocks},
	{"What this proves", "Nothing: no claim reached Observed, Measured or Strongly Suggested.", func(m *Model) []block { return statements(m.Proves) }},
	{"What this does not prove", "Nothing was left open.", openBlocks},
	{"Support takeaway", "The experiment's file gives none.", takeawayBlocks},
	{"Reproduction notes", "Nothing was recorded.", reproductionBlocks},
	{"Related documents", "The experiment's file names none.", relatedBlocks},
}

func lists(items []string) []block {
	if len(items) == 0 {
		return nil
	}
	return []block{proseList(items)}
}

func hypothesisBlocks(m *Model) []block {
	if len(m.Hypotheses) == 0 {
		return nil
	}
	g := &grid{Caption: "Hypotheses, written down before the run", Columns: columns("", "Claim", "Form", "Decided by")}
	for _, h := range m.Hypotheses {
		g.Rows = append(g.Rows, []cell{{strong(clean(h.ID))}, prose(h.Claim), prose(h.Form), prose(h.Test)})
	}
	return []block{gridBlock(g)}
}

func environmentBlocks(m *Model) []block {
	var blocks []block
	if facts := factGrid("Machine and software, as found", m.Environment); facts != nil {
		blocks = append(blocks, gridBlock(facts))
	}
	if m.Run.SpeedFactor > 0 {
		blocks = append(blocks, block{Para: prose(fmt.Sprintf("The accelerator was `%s`: the host ran %s times slower than the machine below it. Section 13 says what that and other properties of the emulation mean for the results.", m.Run.Accelerator, phrase.Number(m.Run.SpeedFactor)))})
	}
	if len(m.Missed) > 0 {
		g := &grid{Caption: "Requirements missed", Columns: columns("Need", "App", "What followed")}
		for _, r := range m.Missed {
			g.Rows = append(g.Rows, []cell{prose(r.Need), {code(orDash(r.App))}, prose(r.Consequence)})
		}
		blocks = append(blocks, gridBlock(g))
	} else if len(blocks) > 0 {
		blocks = append(blocks, para(text("Nothing that the experiment needs was missing.")))
	}
	if len(m.Limits) > 0 {
		blocks = append(blocks, gridBlock(limitGrid(m.Limits)))
	}
	return blocks
}

// limitGrid lists the parts of the plans; where plans differ, it says whose they
// are.
func limitGrid(limits []Limit) *grid {
	g := &grid{Caption: "The plan, and what of it held", Columns: columns("Limit", "Wanted", "Applied", "How")}
	differ := slices.ContainsFunc(limits, func(l Limit) bool { return len(l.Steps) > 0 })
	if differ {
		g.Columns = append(g.Columns, columns("In")...)
	}
	for _, l := range limits {
		applied := strong("not applied")
		if l.Applied {
			applied = text("applied")
		}
		row := []cell{prose(l.Name), prose(l.Wanted), {applied}, prose(l.How)}
		switch {
		case !differ:
		case len(l.Steps) == 0:
			row = append(row, words("all steps"))
		case len(l.Steps) > 4:
			row = append(row, words(phrase.Plural(len(l.Steps), "step")))
		default:
			row = append(row, codes(l.Steps))
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

func factGrid(caption string, facts []Fact) *grid {
	if len(facts) == 0 {
		return nil
	}
	g := &grid{Caption: caption, Columns: columns("Fact", "Value")}
	for _, f := range facts {
		g.Rows = append(g.Rows, []cell{prose(f.Name), {code(f.Value)}})
	}
	return g
}

func variableBlocks(m *Model) []block {
	var blocks []block
	if m.Type != "" {
		blocks = append(blocks, para(text("Experiment type: "), strong(clean(m.Type)), text(".")))
	}
	if len(m.Controlled) > 0 {
		blocks = append(blocks, heading("Controlled"), proseList(m.Controlled))
	}
	if len(m.Observed) > 0 {
		blocks = append(blocks, heading("Observed"), proseList(m.Observed))
	}
	return blocks
}

func signalBlocks(m *Model) []block {
	if len(m.Signals) == 0 {
		return nil
	}
	g := &grid{Caption: "Signals, and whether they could be read", Columns: columns("Signal", "Source", "Rate", "Read")}
	for _, s := range m.Signals {
		rate := "each"
		if s.Every > 0 {
			rate = "every\u00a0" + formatDuration(s.Every)
		}
		read := cell{text("yes")}
		if !s.Read {
			read = cell{strong("no")}
			if s.Reason != "" {
				read = append(read, text(": "), code(s.Reason))
			}
		}
		g.Rows = append(g.Rows, []cell{prose(s.Name), prose(s.Source), words(rate), read})
	}
	return []block{gridBlock(g)}
}

// foldAfter is the number of rows beyond which a table is folded away.
const foldAfter = 24

func procedureBlocks(m *Model) []block {
	if len(m.Procedure) == 0 {
		return nil
	}
	g := &grid{Caption: "Repetitions in the order in which they ran", Columns: columns("#", "Step", "#Repetition", "#Start", "#Took", "Status")}
	g.Columns[0] = column{Title: "Position", Number: true}
	unfit := 0
	for _, e := range m.Procedure {
		status := cell{text(statusWords(e.Status))}
		if e.Status != "done" {
			unfit++
			status = cell{strong(statusWords(e.Status))}
		}
		if e.Reason != "" {
			status = append(status, text(": "), code(e.Reason))
		}
		number := fmt.Sprint(e.Number)
		if e.Twin {
			number += " (twin)"
		}
		if e.Phase > 0 {
			number += fmt.Sprintf(", phase %d", e.Phase)
		}
		took := "–"
		if e.Duration > 0 {
			took = formatDuration(e.Duration)
		}
		g.Rows = append(g.Rows, []cell{words(fmt.Sprint(e.Position)), {code(e.Step)}, words(number), words(formatDuration(e.Start)), words(took), status})
	}
	says := fmt.Sprintf("%s ran one after another, in this order (seed %d). ", phrase.Plural(len(m.Procedure), "repetition"), m.Run.Seed)
	if unfit == 0 {
		says += "All of them are fit for use."
	} else {
		says += fmt.Sprintf("%d of them cannot be used; the table says why.", unfit)
	}
	blocks := append([]block{para(text(says))}, unexecutedBlocks(m)...)
	blocks = append(blocks, restrictedBlocks(m)...)
	blocks = append(blocks, resumedBlocks(m.Run)...)
	if len(g.Rows) > foldAfter {
		return append(blocks, folded(fmt.Sprintf("All %d repetitions", len(g.Rows)), gridBlock(g)))
	}
	return append(blocks, gridBlock(g))
}

// restrictedBlocks says what the profile leaves out.
func restrictedBlocks(m *Model) []block {
	if len(m.LeftOutSteps) == 0 {
		return nil
	}
	says := fmt.Sprintf("The %s leaves out %s of the experiment", profileWords(m.Run.Profile), phrase.Plural(len(m.LeftOutSteps), "step"))
	names := codes(m.LeftOutSteps)
	var blocks []block
	if len(m.LeftOutSteps) > foldAfter {
		blocks = append(blocks, para(text(says+".")), folded("Steps left out", para(names...)))
	} else {
		blocks = append(blocks, para(append([]span{text(says + ": ")}, append(names, text("."))...)...))
	}
	if len(m.LeftOut) == 0 {
		return append(blocks, para(text("All hypotheses are tested all the same.")))
	}
	g := &grid{Caption: "Hypotheses that this profile does not test", Columns: columns("", "Claim", "Why not")}
	for _, l := range m.LeftOut {
		g.Rows = append(g.Rows, []cell{{strong(clean(l.ID))}, prose(l.Claim), prose(l.Why)})
	}
	return append(blocks, gridBlock(g))
}

// resumedBlocks says when the run was taken up again.
func resumedBlocks(r Run) []block {
	if len(r.Resumed) == 0 {
		return nil
	}
	b := block{}
	for _, x := range r.Resumed {
		item := []span{text(fmt.Sprintf("Taken up again on %s by brink %s after it was %s", x.At.UTC().Format("2006-01-02 at 15:04 UTC"), clean(x.Brink), statusWords(x.Status)))}
		if x.Reason != "" {
			item = append(item, text(": "), code(x.Reason))
		}
		b.List = append(b.List, append(item, text(".")))
	}
	return []block{b, para(text("Repetitions of different pieces lie further apart in time than their order says; what drifts with the machine is not excluded between them."))}
}

func statements(lines []Statement) []block {
	if len(lines) == 0 {
		return nil
	}
	b := block{}
	for _, l := range lines {
		var item []span
		if l.Level != "" {
			item = append(item, level(l.Level), text(" "))
		}
		if l.Hypothesis != "" {
			item = append(item, strong(clean(l.Hypothesis)), text(": "))
		}
		b.List = append(b.List, append(item, prose(l.Text)...))
	}
	return []block{b}
}

// openBlocks is section 13: what is open, and what is a property of the emulation.
func openBlocks(m *Model) []block {
	blocks := statements(m.DoesNotProve)
	if len(m.Emulation) > 0 {
		blocks = append(blocks, heading("What is a property of the emulation, and not of the platform"), proseList(m.Emulation))
	}
	return blocks
}

func reproductionBlocks(m *Model) []block {
	var blocks []block
	if m.Reproduction.Command != "" {
		blocks = append(blocks, block{Command: clean(m.Reproduction.Command)})
	}
	if len(m.Reproduction.Notes) > 0 {
		blocks = append(blocks, proseList(m.Reproduction.Notes))
	}
	if g := factGrid("Versions", m.Reproduction.Versions); g != nil {
		blocks = append(blocks, gridBlock(g))
	}
	return blocks
}

func relatedBlocks(m *Model) []block {
	if len(m.Related) == 0 {
		return nil
	}
	b := block{}
	for _, l := range m.Related {
		b.List = append(b.List, link(l.Title, l.URL))
	}
	return []block{b}
}

func orDash(s string) string {
	if strings.TrimSpace(s) == "" {
		return "–"
	}
	return s
}

// levelMeanings explains the words of the badges to a reader who does not
// know the method.
var levelMeanings = []struct {
	level   verdict.Level
	meaning string
}{
	{verdict.Measured, "a number from at least five agreeing repetitions whose test passes after correction and whose interval excludes everything smaller than the declared effect; for a claim about a setting, the same outcome in two repetitions"},
	{verdict.Observed, "seen directly in one repetition, for the claim or against it"},
	{verdict.StronglySuggested, "several independent signals agree and each passes its test, but nothing was switched on and off, or repetitions were few"},
	{verdict.Inferred, "three agreeing repetitions, or a conclusion by a stated rule"},
	{verdict.Correlated, "things moved together, with too little strength for more"},
	{verdict.NotProven, "tested more than once with enough strength to see the declared effect, and not confirmed"},
	{verdict.Unknown, "the data cannot tell"},
}
