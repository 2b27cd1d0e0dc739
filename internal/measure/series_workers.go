package measure

import (
	"context"
	"slices"

	"brink/internal/record"
)

// Workers is the pool of workers of a step's apps over time, as it is seen
// from outside, summed over the apps.
type Workers struct {
	// Total can serve, Busy hold a request, and Queued requests wait for one, in
	// the accept queue or behind a worker that has taken them.
	Total, Busy, Queued []BandPoint
	// Repetitions is how many repetitions the bands are over.
	Repetitions int
	// Unknown are the apps whose workers cannot be told from outside, sorted.
	// Where there are any, the bands are empty: a sum without them would be wrong.
	Unknown []string
}

// Most is the highest median of a band, 0 for an empty one.
func Most(points []BandPoint) float64 {
	most := 0.0
	for _, p := range points {
		most = max(most, p.P50)
	}
	return most
}

// Workers reads the pool of a step while its traffic ran, aligned at the start
// of traffic. Of a step without samples nothing is known and nothing unknown.
func (t *Table) Workers(ctx context.Context, r *record.Reader, step string) (Workers, error) {
	info, _ := t.Step(step)
	var w Workers
	var total, busy, queued [][]Reading
	seen, counted := map[string]bool{}, map[string]bool{}
	for _, rep := range info.Repetitions {
		if rep.Status != record.Done || rep.Excluded != "" || rep.Twin {
			continue
		}
		w.Repetitions++
		one := workerReadings{rep: rep, apps: len(info.Apps), last: map[string]workerReading{}, seen: seen, counted: counted}
		for s, err := range r.Samples(ctx, rep.ID) {
			if err != nil {
				return Workers{}, err
			}
			one.add(s)
		}
		total, busy, queued = append(total, one.total), append(busy, one.busy), append(queued, one.queued)
	}
	for app := range seen {
		if !counted[app] {
			w.Unknown = append(w.Unknown, app)
		}
	}
	if slices.Sort(w.Unknown); len(w.Unknown) > 0 {
		return w, nil
	}
	w.Total, w.Busy, w.Queued = Band(total, seriesWidth), Band(busy, seriesWidth), Band(queued, seriesWidth)
	return w, nil
}

// workerReading is what was last read of one app; queued may be -1.
type workerReading struct{ total, busy, queued int64 }

// workerReadings collects one repetition.
type workerReadings struct {
	rep  RepetitionInfo
	apps int
	last map[string]workerReading
	// seen are the apps that were read while traffic ran, counted those whose
	// workers were.
	seen, counted       map[string]bool
	total, busy, queued []Reading
}

// add takes a sample. Sums begin with the first reading of every app.
func (w *workerReadings) add(s *record.Sample) {
	if s.App == "" || s.AtNs < w.rep.TrafficNs || s.AtNs > w.rep.TrafficEndNs {
		return
	}
	w.seen[s.App] = true
	if s.Workers < 0 || s.Busy < 0 {
		return
	}
	w.counted[s.App] = true
	w.last[s.App] = workerReading{s.Workers, s.Busy, s.Queued}
	if len(w.last) < w.apps {
		return
	}
	var sum workerReading
	for _, one := range w.last {
		sum.total += one.total
		sum.busy += one.busy
		if one.queued < 0 || sum.queued < 0 {
			sum.queued = -1
		} else {
			sum.queued += one.queued
		}
	}
	at := float64(s.AtNs-w.rep.TrafficNs) / 1e9
	w.total = append(w.total, Reading{T: at, X: float64(sum.total)})
	w.busy = append(w.busy, Reading{T: at, X: float64(sum.busy)})
	if sum.queued >= 0 {
		w.queued = append(w.queued, Reading{T: at, X: float64(sum.queued)})
	}
}
