package report

import (
	"fmt"
	"slices"
	"strings"

	"brink/internal/measure"
	"brink/internal/phrase"
	"brink/internal/record"
	"brink/internal/verdict"
)

// extent counts what the run has executed of its design: a run can be made in
// pieces, and a report of one that is not finished must say so.
func (b *builder) extent() error {
	x := &b.m.Extent
	for _, s := range b.Table.Steps {
		planned := b.Design.RepetitionsOf(s.Step)
		done := ended(s, came)
		x.Steps++
		x.Repetitions += planned
		x.DoneRepetitions += done
		if done == 0 {
			x.Waiting = append(x.Waiting, s.Name)
			continue
		}
		x.DoneSteps++
	}
	return nil
}

// executed are the steps of which something came to its end.
func (b *builder) executed() []measure.StepInfo {
	return slices.DeleteFunc(slices.Clone(b.Table.Steps), func(s measure.StepInfo) bool { return slices.Contains(b.m.Extent.Waiting, s.Name) })
}

// came tells whether a repetition came to its end, whatever that was.
func came(r measure.RepetitionInfo) bool {
	return r.Status == record.Done || r.Status == record.Failed || r.Status == record.Invalid
}

// fit tells whether a repetition's numbers may be used.
func fit(r measure.RepetitionInfo) bool { return r.Status == record.Done && r.Excluded == "" }

// ended counts the repetitions of a step of which all is as asked: of an
// intervention the phases, of which a step has two in each.
func ended(s measure.StepInfo, as func(measure.RepetitionInfo) bool) int {
	phases := map[int][]int{}
	wanted := 1
	for _, r := range s.Repetitions {
		if r.Phase > 0 {
			wanted = 2
		}
		if !r.Twin && as(r) && !slices.Contains(phases[r.Number], r.Phase) {
			phases[r.Number] = append(phases[r.Number], r.Phase)
		}
	}
	n := 0
	for _, these := range phases {
		if len(these) >= wanted {
			n++
		}
	}
	return n
}

// unfinished tells whether there is more to execute.
func (x Extent) unfinished() bool { return x.DoneRepetitions < x.Repetitions }

// says is how much was executed, as a clause.
func (x Extent) says() string {
	return fmt.Sprintf("%s of %s and %s of %s were executed", phrase.Count(int64(x.DoneSteps)), phrase.Plural(x.Steps, "step"),
		phrase.Count(int64(x.DoneRepetitions)), phrase.Plural(x.Repetitions, "repetition"))
}

// lacks names the steps of a hypothesis that were not executed, where its verdict
// is open for that reason.
func (x Extent) lacks(v verdict.Verdict) []string {
	if v.Outcome != verdict.Inconclusive || v.Level != verdict.Unknown {
		return nil
	}
	var missing []string
	for _, s := range distinct(append(slices.Clone(v.Hypothesis.Steps), v.Hypothesis.On, v.Hypothesis.Off)) {
		if slices.Contains(x.Waiting, s) {
			missing = append(missing, s)
		}
	}
	return missing
}

// waitingFor are the IDs of the hypotheses that wait for steps.
func (m *Model) waitingFor() []string {
	var ids []string
	for _, v := range m.Verdicts {
		if len(m.Extent.lacks(v)) > 0 {
			ids = append(ids, v.Hypothesis.ID)
		}
	}
	return ids
}

// waitingBlocks says which hypotheses wait for steps, and for which.
func waitingBlocks(m *Model) []block {
	var spans []span
	n := 0
	for _, v := range m.Verdicts {
		missing := m.Extent.lacks(v)
		if len(missing) == 0 {
			continue
		}
		if n++; n > 1 {
			spans = append(spans, text("; "))
		}
		spans = append(spans, strong(clean(v.Hypothesis.ID)), text(" (for "+clean(some(missing))+")"))
	}
	if n == 0 {
		return nil
	}
	head := text(waitingWords(n) + " for steps that were not executed: ")
	return []block{para(append(append([]span{head}, spans...), text("."))...)}
}

func waitingWords(n int) string {
	if n == 1 {
		return "1 hypothesis waits"
	}
	return fmt.Sprintf("%d hypotheses wait", n)
}

// some lists at most three names.
func some(names []string) string {
	const most = 3
	if len(names) <= most+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// unexecutedBlocks says in section 8 what was not executed.
func unexecutedBlocks(m *Model) []block {
	if !m.Extent.unfinished() {
		return nil
	}
	blocks := []block{{Para: prose(capital(m.Extent.says()) + "; `brink run --resume DIR` goes on where it ended.")}}
	if names := m.Extent.Waiting; len(names) > 0 {
		list := block{Para: codes(names)}
		blocks = append(blocks, folded(fmt.Sprintf("Steps that were not executed (%d)", len(names)), list))
	}
	return blocks
}

// codes are names as code, separated by commas.
func codes(names []string) []span {
	var spans []span
	for i, s := range names {
		if i > 0 {
			spans = append(spans, text(", "))
		}
		spans = append(spans, code(s))
	}
	return spans
}
