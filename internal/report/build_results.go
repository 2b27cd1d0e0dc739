package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/metric"
	"brink/internal/phrase"
	"brink/internal/stats"
)

// headline metrics are shown for every step, after those that hypotheses name.
var headline = []string{
	"last_answer_s", "latency_p50_ms", "queue_wait_max_s",
	"peak_in_service", "workers_seen", "busy_pct", "failure_pct", "cpu_pct", "accept_queue_max", "memory_mb",
	"cold_start_s", "send_lag_p99_ms",
}

// memoryHeadline are shown besides for steps whose plan has a memory of its own.
var memoryHeadline = []string{
	"memory_pct", "memory_peak_pct", "memory_pages_pct", "swap_used_mb", "swap_used_max_mb",
	"psi_memory_some_pct", "psi_memory_full_pct", "psi_memory_some_start_pct", "machine_cpu_pct", "machine_cpu_start_pct", "kswapd_cpu_pct", "platform_cpu_pct",
	"pgscan_kswapd", "pgscan_direct", "allocstalls", "pswpin", "pswpout", "refaults_anon", "refaults_file", "direct_reclaim_s", "delay_swapin_s",
	"cold_start_median_s", "apps_serving", "never_up", "oom_kills", "boot_kills", "restarts", "http_5xx", "recovery_s",
	"cgroup_memory_mb", "cgroup_swap_mb", "resident_ratio", "swap_disk_busy_pct", "samples_late_pct", "agent_cpu_pct", "agent_rss_mb",
}

// aboutMemory tells whether a step's plan has a memory of its own.
func aboutMemory(s experiment.Step) bool {
	return s.Plan.MemoryMB != 0 || s.Plan.SwapMB != 0 || s.Plan.Share != (experiment.Share{})
}

// results fills section 10: a table per step that was executed, and the noise
// floor.
func (b *builder) results() error {
	names := b.shownMetrics()
	withMemory := distinct(append(slices.Clone(names), memoryHeadline...))
	for _, s := range b.Table.Steps {
		if slices.Contains(b.m.Extent.Waiting, s.Name) {
			continue
		}
		r := StepResult{Step: s.Name, Title: s.Title, Planned: b.Design.RepetitionsOf(s.Step), Valid: ended(s, fit), Memory: aboutMemory(s.Step)}
		b.exclusions(s)
		if s.Requests > 0 {
			pct := 100 * float64(s.Failed) / float64(s.Requests)
			r.FailurePct = &pct
		}
		shown := names
		if r.Memory {
			shown = withMemory
		}
		for _, name := range shown {
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

// exclusions says what of a step was left out.
func (b *builder) exclusions(s measure.StepInfo) {
	var least, most int64
	warmed := 0
	for _, rep := range s.Repetitions {
		if rep.Skipped > 0 && !rep.Twin {
			if warmed++; warmed == 1 {
				least = rep.Skipped
			}
			least, most = min(least, rep.Skipped), max(most, rep.Skipped)
		}
		if rep.Excluded != "" {
			b.m.Exclusions = append(b.m.Exclusions, fmt.Sprintf("%s, repetition %d was left out: %s.", s.Name, rep.Number, strings.TrimPrefix(rep.Excluded, "excluded: ")))
		}
	}
	if warmed == 0 {
		return
	}
	first := phrase.Count(least)
	if least < most {
		first += " to " + phrase.Count(most)
	}
	b.m.Exclusions = append(b.m.Exclusions, fmt.Sprintf("%s: the first %s requests of %s were warm-up and are not counted.", s.Name, first, phrase.Plural(warmed, "repetition")))
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
	for _, f := range b.Design.Published() {
		add(f.Metric.Name)
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
