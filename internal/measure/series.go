package measure

import (
	"context"
	"slices"

	"brink/internal/record"
	"brink/internal/stats"
)

// Signal names of Series.
const (
	SeriesCPU    = "cpu_pct"
	SeriesQueue  = "accept_queue"
	SeriesMemory = "memory_mb"
)

// maxBins bounds the instants of a series.
const maxBins = 200

// Band is one instant of a series over the repetitions of a step: the median,
// and the 5th and 95th percentile. T counts in seconds from the start of
// traffic.
type Band struct {
	T, P5, P50, P95 float64
}

// Series reads a step's signals over time, aligned at the start of traffic.
// Memory is bounded by the number of bins and repetitions.
func (t *Table) Series(ctx context.Context, r *record.Reader, step string) (map[string][]Band, int, error) {
	info, _ := t.Step(step)
	var used []RepetitionInfo
	var longest int64
	for _, rep := range info.Repetitions {
		if rep.Status == "done" && rep.Excluded == "" && !rep.Twin {
			used = append(used, rep)
			longest = max(longest, rep.TrafficEndNs-rep.TrafficNs)
		}
	}
	if len(used) == 0 || longest == 0 {
		return nil, 0, nil
	}
	width := max(longest/maxBins, int64(100e6))
	bins := map[string][][]float64{}
	for i, rep := range used {
		if err := t.binRepetition(ctx, r, info, rep, i, len(used), width, longest, bins); err != nil {
			return nil, 0, err
		}
	}
	out := map[string][]Band{}
	for name, rows := range bins {
		for at, values := range rows {
			values = slices.DeleteFunc(slices.Clone(values), func(x float64) bool { return x < 0 })
			if len(values) == 0 {
				continue
			}
			s := stats.Of(values...)
			out[name] = append(out[name], Band{
				T:   (float64(at) + 0.5) * float64(width) / 1e9,
				P50: stats.Median(s).X, P5: stats.Quantile(s, 0.05).X, P95: stats.Quantile(s, 0.95).X,
			})
		}
	}
	return out, len(used), nil
}

// binRepetition spreads one repetition's samples over the bins; -1 marks a bin
// without a reading.
func (t *Table) binRepetition(ctx context.Context, r *record.Reader, info StepInfo, rep RepetitionInfo, index, reps int, width, longest int64, bins map[string][][]float64) error {
	n := int(longest/width) + 1
	put := func(name string, at int64, x float64) {
		i := int((at - rep.TrafficNs) / width)
		if at < rep.TrafficNs || i >= n || x < 0 {
			return
		}
		if bins[name] == nil {
			bins[name] = make([][]float64, n)
			for k := range bins[name] {
				bins[name][k] = slices.Repeat([]float64{-1}, reps)
			}
		}
		bins[name][i][index] = max(bins[name][i][index], x)
	}
	var lastCPU, lastAt int64 = -1, 0
	rss := map[string]int64{}
	for s, err := range r.Samples(ctx, rep.ID) {
		if err != nil {
			return err
		}
		if s.App != "" {
			put(SeriesQueue, s.AtNs, float64(s.QueueDepth))
			rss[s.App] = s.RSS
			var sum int64
			for _, x := range rss {
				sum += max(x, 0)
			}
			put(SeriesMemory, s.AtNs, float64(sum)/(1<<20))
			continue
		}
		if s.CPUNs >= 0 && lastCPU >= 0 && s.AtNs > lastAt && t.cpus(info.Step) > 0 {
			put(SeriesCPU, s.AtNs, 100*float64(s.CPUNs-lastCPU)/float64(s.AtNs-lastAt)/float64(t.cpus(info.Step)))
		}
		lastCPU, lastAt = s.CPUNs, s.AtNs
	}
	return nil
}

// Bar is one request for the picture of a batch; times count in seconds from
// the first due request.
type Bar struct {
	Due, Start, End float64
	// Pid is the worker that served it, 0 when none is known.
	Pid     int32
	Outcome string
}

// Bars reads the first most requests of one repetition, with the number of all.
func Bars(ctx context.Context, r *record.Reader, repetition int64, most int) (bars []Bar, total int, err error) {
	streams, err := r.Streams(ctx, repetition)
	if err != nil {
		return nil, 0, err
	}
	var first int64
	for _, s := range streams {
		for p, err := range r.Probes(ctx, s.ID) {
			if err != nil {
				return nil, 0, err
			}
			total++
			if len(bars) >= most {
				continue
			}
			if first == 0 {
				first = p.Due
			}
			bars = append(bars, bar(p, first))
		}
	}
	return bars, total, nil
}

func bar(p *record.Probe, first int64) Bar {
	s := func(ns int64) float64 { return float64(ns-first) / 1e9 }
	b := Bar{Due: s(p.Due), Start: s(p.Due), End: s(p.Done), Pid: p.Pid, Outcome: p.Outcome}
	if p.ServedNs >= 0 {
		b.Start = max(b.Due, s(p.Done-p.ServedNs))
	} else {
		b.Pid = 0
	}
	return b
}
