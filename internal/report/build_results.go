package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"brink/internal/measure"
	"brink/internal/metric"
	"brink/internal/stats"
)

// headline metrics are shown for every step, after those that hypotheses name.
var headline = []string{
	"last_answer_s", "latency_p50_ms", "queue_wait_max_s",
	"peak_in_service", "workers_seen", "busy_pct", "failure_pct", "cpu_pct", "accept_queue_max", "memory_mb",
	"cold_start_s", "send_lag_p99_ms",
}

// results fills section 10: a table per step, and the noise floor.
func (b *builder) results() error {
	names := b.shownMetrics()
	for _, s := range b.Table.Steps {
		r := StepResult{Step: s.Name, Title: s.Title, Planned: b.Design.Repetitions}
		for _, rep := range s.Repetitions {
			if rep.Status == "done" && rep.Excluded == "" && !rep.Twin {
				r.Valid++
			}
			if rep.Skipped > 0 && !rep.Twin {
				b.m.Exclusions = append(b.m.Exclusions, fmt.Sprintf("%s, repetition %d: the first %d requests were warm-up and are not counted.", s.Name, rep.Number, rep.Skipped))
			}
			if rep.Excluded != "" {
				b.m.Exclusions = append(b.m.Exclusions, fmt.Sprintf("%s, repetition %d was left out: %s.", s.Name, rep.Number, strings.TrimPrefix(rep.Excluded, "excluded: ")))
			}
		}
		if s.Requests > 0 {
			pct := 100 * float64(s.Failed) / float64(s.Requests)
			r.FailurePct = &pct
		}
		for _, name := range names {
			if row, ok := b.row(s, name); ok {
				r.Rows = append(r.Rows, row)
			}
		}
		r.Notes = b.waitNotes(s)
		b.m.Results = append(b.m.Results, r)
	}
	if b.Options.NoWarmUp {
		b.m.Exclusions = append(b.m.Exclusions, "Nothing was left out as warm-up (--warm-up none).")
	}
	if b.Options.NoCensoring {
		b.m.Exclusions = append(b.m.Exclusions, "Limits were taken for values (--censoring none): \"at least 30 s\" counts as 30 s.")
	}
	b.noiseFloor()
	return nil
}

// waitNotes say where the waits of a step, which are all the time that a request
// was not in the app, are for something else than a worker.
func (b *builder) waitNotes(s measure.StepInfo) []string {
	waits := b.Table.Cell(s.Name, "queue_wait_max_s")
	if len(waits.Usable()) == 0 || len(s.Traffic) == 0 || len(s.Apps) == 0 {
		return nil
	}
	var notes []string
	if workers, _ := servesAtOnce(asked(s)); workers == 0 {
		notes = append(notes, waits.Metric.Title+": nobody waits for a worker on an event loop; this is the time until the app took a request up.")
	}
	if connect := b.median(s.Name, "connect_max_s"); connect.None == "" && connect.X >= retried {
		notes = append(notes, fmt.Sprintf("%s: the time to connect is part of it, and took up to %s%s here, since a connection that finds the accept queue full is tried again after a second and more.",
			waits.Metric.Title, boundMark(connect.AtLeast), formatValue(connect.X, "s")))
	}
	return notes
}

// shownMetrics are the hypotheses' metrics, then the headline ones.
func (b *builder) shownMetrics() []string {
	var names []string
	seen := map[string]bool{}
	add := func(name string) {
		if name != "" && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	for _, h := range b.Design.Experiment.Hypotheses {
		add(h.Metric)
		for _, s := range h.Signals {
			add(s)
		}
	}
	for _, name := range headline {
		add(name)
	}
	return names
}

// row summarises one metric of one step over its repetitions.
func (b *builder) row(s measure.StepInfo, name string) (Row, bool) {
	cell := b.Table.Cell(s.Name, name)
	sample := sampleOf(cell.Values)
	row := Row{Metric: cell.Metric, N: len(sample)}
	if len(sample) == 0 {
		reason := ""
		for _, v := range cell.Values {
			reason = v.Missing
		}
		if reason == "" {
			return row, false
		}
		none := Number{None: reason}
		row.Median, row.Q1, row.Q3, row.Min, row.Max = none, none, none, none, none
		return row, true
	}
	sum := stats.Summarize(sample, 0.95)
	row.Median, row.Min, row.Max = numberOf(sum.Median), numberOf(sum.Min), numberOf(sum.Max)
	row.Q1, row.Q3 = numberOf(sum.Q1), numberOf(sum.Q3)
	if sum.MeanMisleads && sum.Mean.Known() {
		row.Mean = &sum.Mean.X
	}
	if name == "latency_p50_ms" {
		p95, p99 := pooled(s.P95), pooled(s.P99)
		row.P95, row.P99 = &p95, &p99
	}
	return row, true
}

func sampleOf(values []measure.Value) stats.Sample {
	var s stats.Sample
	for _, v := range values {
		if v.Missing == "" {
			s = append(s, stats.Obs{X: v.X, Censored: v.Censored})
		}
	}
	return s
}

func numberOf(e stats.Estimate) Number {
	if !e.Known() {
		return Number{None: "unknown"}
	}
	return Number{X: e.X, AtLeast: e.Bound == stats.LowerBound || e.Bound == stats.Between}
}

func pooled(v measure.Value) Number {
	if v.Missing != "" {
		return Number{None: "n too small"}
	}
	return Number{X: v.X, AtLeast: v.Censored}
}

// still tells whether all values are the same to the last digit that a ratio
// of measured times can be trusted with.
func still(s stats.Sample) bool {
	for _, o := range s {
		if math.Abs(o.X-s[0].X) > 1e-6*math.Abs(s[0].X) {
			return false
		}
	}
	return true
}

// noiseFloor compares the baseline with its own second execution, for every
// metric that a hypothesis names.
func (b *builder) noiseFloor() {
	step := b.Design.Experiment.Baseline
	if step == "" {
		return
	}
	seen := map[string]bool{}
	for _, h := range b.Design.Experiment.Hypotheses {
		if h.Metric == "" || seen[h.Metric] {
			continue
		}
		seen[h.Metric] = true
		cell := b.Table.Cell(step, h.Metric)
		first, second := sampleOf(cell.Values), sampleOf(cell.Twins)
		scale := stats.Points
		if cell.Metric.Kind == metric.Ratio {
			scale = stats.Ratio
		}
		shift := stats.HodgesLehmann(first, second, scale, 0.95)
		if !shift.Estimate.Known() {
			continue
		}
		d := shift.Estimate.X
		if scale == stats.Ratio {
			d--
		}
		b.m.NoiseFloor = append(b.m.NoiseFloor, NoiseFloor{
			Metric: h.Metric, Step: step, Difference: math.Abs(d), Relative: scale == stats.Ratio,
			Still: still(append(slices.Clone(first), second...)), N: min(len(first), len(second)),
		})
	}
}
