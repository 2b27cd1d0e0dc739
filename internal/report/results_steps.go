package report

import (
	"fmt"
	"slices"

	"brink/internal/metric"
	"brink/internal/phrase"
)

// foldSteps is the number of steps beyond which each is folded away below a
// table of all of them.
const foldSteps = 6

// byStepBlocks shows each step with its pictures and its table.
func byStepBlocks(m *Model, beside map[string][]*figure) []block {
	if len(m.Results) == 0 {
		return nil
	}
	blocks := []block{heading("By step")}
	many := len(m.Results) > foldSteps
	if many {
		blocks = append(blocks, gridBlock(glance(m.Results)))
	}
	for _, r := range m.Results {
		var own []block
		for _, f := range beside[r.Step] {
			own = append(own, block{Figure: f})
		}
		own = append(own, stepBlocks(r)...)
		if many {
			own = []block{folded(stepCaption(r), own...)}
		}
		blocks = append(blocks, own...)
	}
	return blocks
}

// atAGlance are the columns of the table of all steps, those of steps whose plan
// has a memory of its own first.
var atAGlance = []struct {
	title, metric string
	memory        bool
}{
	{"Memory, %", "memory_pct", true}, {"Swap, MB", "swap_used_mb", true}, {"PSI some, %", "psi_memory_some_pct", true},
	{"CPU, %", "machine_cpu_pct", true}, {"Start, s", "cold_start_median_s", false}, {"Latency, ms", "latency_p50_ms", false},
	{"Last answer, s", "last_answer_s", false}, {"Failed, %", "failure_pct", false}, {"Never up", "never_up", true}, {"Boot kills", "boot_kills", true}, {"OOM kills", "oom_kills", true},
}

// glance is a table of all steps, with medians; columns for which nothing was
// read are left out.
func glance(results []StepResult) *grid {
	memory := results[0].Memory
	g := &grid{Caption: "All steps at a glance: medians over n repetitions, of the median app's cold start and the median latency", Columns: columns("Step", "#n")}
	cells := make([][]cell, len(results))
	for _, c := range atAGlance {
		if c.memory && !memory || c.metric == "last_answer_s" && memory {
			continue
		}
		column, known := make([]cell, len(results)), false
		for i, r := range results {
			column[i] = words("–")
			for _, row := range r.Rows {
				if row.Metric.Name == c.metric && row.Median.None == "" {
					column[i], known = words(boundMark(row.Median.AtLeast)+formatMetric(row.Median.X, row.Metric)), true
				}
			}
		}
		if !known {
			continue
		}
		g.Columns = append(g.Columns, columns("#"+c.title)...)
		for i := range results {
			cells[i] = append(cells[i], column[i])
		}
	}
	for i, r := range results {
		g.Rows = append(g.Rows, append([]cell{{code(r.Step)}, words(fmt.Sprintf("%d of %d", r.Valid, r.Planned))}, cells[i]...))
	}
	return g
}

// stepCaption names a step and says how many of its repetitions can be used.
func stepCaption(r StepResult) string {
	caption := clean(r.Step)
	if r.Title != "" {
		caption += ": " + clean(r.Title)
	}
	caption += fmt.Sprintf(" (%d of %s usable", r.Valid, phrase.Plural(r.Planned, "repetition"))
	if r.FailurePct != nil {
		caption += fmt.Sprintf(", %s\u00a0%% of requests failed", trimmed(*r.FailurePct))
	}
	return caption + ")"
}

func stepBlocks(r StepResult) []block {
	g := &grid{Caption: stepCaption(r), Columns: columns("Metric", "Unit", "#n", "#Median", "#p95", "#p99", "#IQR", "#Min", "#Max")}
	if !slices.ContainsFunc(r.Rows, func(row Row) bool { return row.N > 1 }) { // one value has no range
		g.Columns = g.Columns[:6]
	}
	var notes [][]span
	for _, row := range r.Rows {
		g.Rows = append(g.Rows, metricRow(row)[:len(g.Columns)])
		if row.Mean != nil && row.Median.None == "" && !row.Median.AtLeast && *row.Mean > 1.5*row.Median.X && row.Median.X > 0 {
			notes = append(notes, words(fmt.Sprintf("%s: the mean is %s, more than 1.5 times the median; a few large values pull it.",
				row.Metric.Title, formatValue(*row.Mean, row.Metric.Unit))))
		}
	}
	for _, n := range r.Notes {
		notes = append(notes, prose(n))
	}
	blocks := []block{gridBlock(g)}
	if len(notes) > 0 {
		blocks = append(blocks, block{List: notes})
	}
	return blocks
}

func metricRow(r Row) []cell {
	show := func(n *Number) cell {
		switch {
		case n == nil, n.None != "" && n.None == r.Median.None && n != &r.Median:
			return words("–")
		case n.None != "":
			return cell{muted(clean(n.None))}
		}
		return words(boundMark(n.AtLeast) + formatMetric(n.X, r.Metric))
	}
	iqr := show(&r.Q1)
	if r.N == 1 {
		iqr = words("–") // one value has no range
	} else if r.Q1.None == "" && r.Q3.None == "" {
		iqr = words(formatMetric(r.Q1.X, r.Metric) + " – " + boundMark(r.Q3.AtLeast) + formatMetric(r.Q3.X, r.Metric))
	}
	median := show(&r.Median)
	if r.Median.None == "" {
		median = cell{strong(median[0].Text)}
	}
	return []cell{words(r.Metric.Title), words(unitName(r.Metric)), words(fmt.Sprint(r.N)), median,
		show(r.P95), show(r.P99), iqr, show(&r.Min), show(&r.Max)}
}

func unitName(m metric.Metric) string { return orDash(m.Unit) }
