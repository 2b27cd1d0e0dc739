package measure

import (
	"context"

	"brink/internal/record"
)

// Signal names of Series.
const (
	SeriesCPU    = "cpu_pct"
	SeriesQueue  = "accept_queue"
	SeriesMemory = "memory_mb"
)

// Series reads a step's signals over time, aligned at the start of traffic,
// with the number of repetitions behind them. Readings that were not possible
// are left out.
func (t *Table) Series(ctx context.Context, r *record.Reader, step string) (map[string][]BandPoint, int, error) {
	info, _ := t.Step(step)
	readings := map[string][][]Reading{}
	n := 0
	for _, rep := range info.Repetitions {
		if rep.Status != record.Done || rep.Excluded != "" || rep.Twin {
			continue
		}
		n++
		one, err := t.readings(ctx, r, info, rep)
		if err != nil {
			return nil, 0, err
		}
		for name, xs := range one {
			readings[name] = append(readings[name], xs)
		}
	}
	out := map[string][]BandPoint{}
	for name, xs := range readings {
		if points := Band(xs, seriesWidth); len(points) > 0 {
			out[name] = points
		}
	}
	return out, n, nil
}

// seriesWidth is the finest bin of a series, in seconds.
const seriesWidth = 0.1

// readings are the signals of one repetition while traffic ran.
func (t *Table) readings(ctx context.Context, r *record.Reader, info StepInfo, rep RepetitionInfo) (map[string][]Reading, error) {
	out := map[string][]Reading{}
	add := func(name string, at int64, x float64) {
		if at >= rep.TrafficNs && at <= rep.TrafficEndNs && x >= 0 {
			out[name] = append(out[name], Reading{T: float64(at-rep.TrafficNs) / 1e9, X: x})
		}
	}
	var lastCPU, lastAt int64 = -1, 0
	memory := appMemory{}
	for s, err := range r.Samples(ctx, rep.ID) {
		if err != nil {
			return nil, err
		}
		if s.App != "" {
			add(SeriesQueue, s.AtNs, float64(s.QueueDepth))
			add(SeriesMemory, s.AtNs, float64(memory.sum(s))/(1<<20))
			continue
		}
		if cpus := t.cpus(info.Step); s.CPUNs >= 0 && lastCPU >= 0 && s.AtNs > lastAt && cpus > 0 {
			add(SeriesCPU, s.AtNs, 100*float64(s.CPUNs-lastCPU)/float64(s.AtNs-lastAt)/float64(cpus))
		}
		lastCPU, lastAt = s.CPUNs, s.AtNs
	}
	return out, nil
}

// appMemory holds the last resident memory of each app.
type appMemory map[string]int64

// sum takes a reading and returns what all apps hold, -1 before any is known.
func (m appMemory) sum(s *record.Sample) int64 {
	if s.RSS >= 0 {
		m[s.App] = s.RSS
	}
	if len(m) == 0 {
		return -1
	}
	var sum int64
	for _, rss := range m {
		sum += rss
	}
	return sum
}

// Bar is one request for the picture of a batch; times count in seconds from
// the first due request.
type Bar struct {
	Due, Start, End float64
	// Connected is when it had its connection, 0 where it opened none.
	Connected float64
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
	if p.Connected > 0 {
		b.Connected = s(p.Connected)
	}
	if p.ServedNs >= 0 {
		b.Start = max(b.Due, s(p.Done-p.ServedNs))
	} else {
		b.Pid = 0
	}
	return b
}
