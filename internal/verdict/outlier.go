package verdict

import (
	"fmt"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/stats"
)

// Tukey's outer fences: what lies further than three interquartile ranges
// from the quartiles is far out (Exploratory Data Analysis, 1977, 2D).
const (
	fence        = 3
	minForFences = 5
)

// outliers finds, for one hypothesis, the repetitions whose value lies far out
// when exactly one of the step's does: several are a tail, and a tail stays.
func (j *judge) outliers(h experiment.Hypothesis) []measure.Exclusion {
	var out []measure.Exclusion
	for _, step := range involved(h) {
		values := j.table.Cell(step, h.Metric).Usable()
		s, _ := j.sample(step, h.Metric)
		q1, q3 := stats.Quantile(s, 0.25), stats.Quantile(s, 0.75)
		if len(values) < minForFences || q1.Bound != stats.Exact || q3.Bound != stats.Exact {
			continue
		}
		reach := fence * (q3.X - q1.X)
		var far []measure.Value
		for _, v := range values {
			if v.X < q1.X-reach || v.X > q3.X+reach {
				far = append(far, v)
			}
		}
		if len(far) == 1 {
			out = append(out, measure.Exclusion{
				Step: step, Number: far[0].Number,
				Reason: fmt.Sprintf("far out at %s", withUnit(far[0].X, j.table.Cell(step, h.Metric).Metric)),
			})
		}
	}
	return out
}

func involved(h experiment.Hypothesis) []string {
	if h.Form == experiment.CausedBy {
		return []string{h.On, h.Off}
	}
	return h.Steps
}

// withoutOutliers says what the verdict would be without single outliers. The
// verdict itself keeps them: nothing is left out without a cause that somebody
// names (brink report --exclude).
func (j *judge) withoutOutliers(h experiment.Hypothesis) string {
	left := j.outliers(h)
	if h.Metric == "" || len(left) == 0 {
		return ""
	}
	f := forms[h.Form](&judge{table: j.table.Without(left...), design: j.design}, h)
	text := ""
	for i, x := range left {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("repetition %d of %s (%s)", x.Number, x.Step, x.Reason)
	}
	outcome := f.evidence.outcome
	if f.evidence.missing != "" {
		outcome = Inconclusive
	}
	return fmt.Sprintf("%s is kept; without it: %s, %s", text, outcome, f.short)
}
