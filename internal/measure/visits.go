package measure

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat"

	"brink/internal/record"
)

// maxVisits bounds the answered requests of one repetition that are kept to
// find out how they shared the workers.
const maxVisits = 100_000

// visit is one request that was answered by an app that says how long it
// served, in Unix nanoseconds.
type visit struct {
	due, done, served int64
	// first is when the answer's first byte came.
	first int64
	pid   int32
	// counted tells that it was due after the warm-up.
	counted bool
}

// over is what the request took beside its time in the app: its wait and
// what accepting, reading and answering need.
func (v visit) over() int64 { return v.done - v.due - v.served }

// visits are the answered requests of one repetition, those of the warm-up
// too: they kept workers as well.
type visits struct {
	list    []visit
	tooMany bool
	// lost counts the requests of which nobody knows how long they kept a worker.
	lost int64
}

func (vs *visits) add(p *record.Probe, counted bool) {
	switch {
	case p.Status == 0 || p.Outcome == "timeout" || p.ServedNs < 0:
		vs.lost++
	case len(vs.list) == maxVisits:
		vs.tooMany = true
	default:
		v := visit{due: p.Due, done: p.Done, served: p.ServedNs, first: p.FirstByte, pid: p.Pid, counted: counted}
		if v.first == 0 {
			v.first = v.done
		}
		vs.list = append(vs.list, v)
	}
}

// peak is the highest number of overlapping service intervals after the
// warm-up. Intervals are shortened by a tenth at both ends: an answer reaches the
// client after its worker has taken the next request, on a busy machine by tens
// of milliseconds.
func (vs *visits) peak() int {
	type edge struct {
		at    int64
		delta int
	}
	edges := make([]edge, 0, 2*len(vs.list))
	for _, v := range vs.list {
		if trim := v.served / 10; v.counted {
			edges = append(edges, edge{v.first - v.served + trim, 1}, edge{v.first - trim, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), a.delta-b.delta) })
	now, most := 0, 0
	for _, e := range edges {
		now += e.delta
		most = max(most, now)
	}
	return most
}

// byDue sorts the visits as they were due; a batch keeps its order.
func (vs *visits) byDue() {
	slices.SortStableFunc(vs.list, func(a, b visit) int { return cmp.Compare(a.due, b.due) })
}

// overhead is what requests take beside their time in the app, in nanoseconds.
type overhead struct {
	// free is the mean of what those took that found a free worker: no wait is in
	// it.
	free float64
	// worker is what a request keeps its worker for beside its time in the app.
	worker float64
	// seen tells that there were requests to learn this from.
	seen bool
}

// clearly is by how much a request must have been due before its worker's last
// answer to count as one that was waiting then: connecting takes time.
const clearly = 5e6

// fewPairs is the least number of pairs of answers that says what a worker
// needs between them.
const fewPairs = 3

// overhead learns from the visits, which must be in order of due, of a pool of
// so many workers. With single, each process serves one request at a time.
//
// What the client of an idle server sees, which includes connecting and the
// waking of a worker, is not what the worker is kept for: the former is more by
// what happens before the worker, the latter by what it does once the answer is
// out. So that is measured where it shows, between two answers of one worker of
// which the second request was already there. How long anybody waited is not in
// it. Both are means and not medians because they stand for a part of means:
// on a busy machine a few requests are held up for long.
func (vs *visits) overhead(workers int, single bool) overhead {
	var free []float64
	dones := make([]int64, len(vs.list))
	for i, v := range vs.list {
		dones[i] = v.done
	}
	slices.Sort(dones)
	for i, v := range vs.list {
		gone := sort.Search(len(dones), func(k int) bool { return dones[k] > v.due })
		if i-gone < workers {
			free = append(free, float64(v.over()))
		}
	}
	if len(free) == 0 {
		return overhead{}
	}
	o := overhead{free: stat.Mean(free, nil), seen: true}
	o.worker = o.free
	if pairs := vs.pairs(); single && len(pairs) >= fewPairs {
		o.worker = max(0, stat.Mean(pairs, nil))
	}
	return o
}

// pairs returns, for each two answers of one process of which the second was
// waited for already, the time between them less the second's time in the app.
func (vs *visits) pairs() []float64 {
	order := slices.Clone(vs.list)
	slices.SortStableFunc(order, func(a, b visit) int { return cmp.Compare(a.done, b.done) })
	last := map[int32]int64{}
	var all []float64
	for _, v := range order {
		if before, ok := last[v.pid]; ok && v.due <= before-clearly {
			all = append(all, float64(v.done-before-v.served))
		}
		last[v.pid] = v.done
	}
	return all
}

// tooManyVisits is why nothing is said about very many requests.
var tooManyVisits = Value{Missing: fmt.Sprintf("more than %d requests", maxVisits)}
