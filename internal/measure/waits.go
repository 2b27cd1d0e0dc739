package measure

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"time"

	"brink/internal/experiment"
	"brink/internal/queue"
)

// pool is how many requests an app serves at once, 0 where the server does not
// have a fixed number of workers that can be told from outside: on an event
// loop everything that waits is in service.
func pool(a experiment.App) int {
	switch {
	case a.Runtime == "go", a.Runtime == "flask" && (a.WorkerClass == "sync" || a.WorkerClass == ""):
		return a.Workers
	case a.Runtime == "flask" && a.WorkerClass == "gthread":
		return a.Workers * max(a.Threads, 1)
	}
	return 0
}

// target is the app that all streams of a step are sent to; ok is false when
// there are several.
func target(step experiment.Step) (app experiment.App, ok bool) {
	for i, t := range step.Traffic {
		if i > 0 && t.App != step.Traffic[0].App {
			return app, false
		}
	}
	for _, a := range step.Apps {
		if len(step.Apps) == 1 || len(step.Traffic) > 0 && a.Name == step.Traffic[0].App {
			return a, true
		}
	}
	return app, false
}

// Why there is nothing to say about a pool of workers.
const (
	severalApps = "requests went to several apps"
	noPool      = "the server has no fixed number of workers"
	notSaid     = "the app does not say how long it served"
	allWaited   = "no request found a free worker, so nobody knows what a request costs besides its time in the app"
	notPoisson  = "the step is not one stream of Poisson arrivals"
	unsteady    = "at a utilisation of 1 and above there is no steady state"
)

// pooled are the metrics that need a pool of workers to say anything.
var pooled = []string{
	"utilisation_pct", "occupied_ms", "wait_simulated_ms", "wait_over_simulated", "wait_theory_ms", "wait_over_theory",
}

// waits computes how the step's workers were used, and how long requests
// should have waited for them by simulation and by theory. mean is the measured
// mean wait in nanoseconds.
func (r *requests) waits(step experiment.Step, v map[string]Value) {
	app, one := target(step)
	workers := pool(app)
	reason := ""
	switch {
	case r.served.TotalCount() == 0:
		reason = notSaid
	case !one:
		reason = severalApps
	case workers == 0:
		reason = noPool
	}
	if reason != "" {
		for _, name := range pooled {
			v[name] = Value{Missing: reason}
		}
		return
	}
	n := r.served.TotalCount()
	span := float64(workers) * float64(r.lastDone-r.firstDue)
	v["utilisation_pct"] = Value{X: 100 * r.servedSum / span, N: n, Censored: r.visits.lost > 0}
	r.predictions(step, app, workers, v)
}

func (r *requests) predictions(step experiment.Step, app experiment.App, workers int, v map[string]Value) {
	none := func(missing Value) {
		for _, name := range pooled[1:] {
			if _, ok := v[name]; !ok {
				v[name] = missing
			}
		}
	}
	switch {
	case r.visits.lost > 0:
		none(Value{Missing: fmt.Sprintf("%d requests had no answer, and nobody knows how long they kept a worker", r.visits.lost)})
		return
	case r.visits.tooMany:
		none(tooManyVisits)
		return
	}
	n := r.served.TotalCount()
	r.visits.byDue()
	o := r.visits.overhead(workers, app.Threads <= 1)
	if !o.seen {
		none(Value{Missing: allWaited})
		return
	}
	occupied := r.servedSum/float64(n) + o.worker
	v["occupied_ms"] = Value{X: occupied / 1e6, N: n}
	measured := v["wait_mean_ms"].X
	compare := func(name, over string, predicted float64) {
		predicted += o.free / 1e6
		v[name] = Value{X: predicted, N: n}
		v[over] = Value{X: measured / predicted, N: n}
	}
	if simulated, missing := r.visits.simulate(app, workers, o.worker); missing != "" {
		none(Value{Missing: missing})
	} else {
		compare("wait_simulated_ms", "wait_over_simulated", simulated/1e6)
	}
	switch rate, ok := poisson(step); {
	case !ok:
		none(Value{Missing: notPoisson})
	default:
		wait := queue.MDC(workers, rate, occupied/1e9).Mean * 1e3
		if math.IsInf(wait, 1) {
			none(Value{Missing: unsteady})
			return
		}
		compare("wait_theory_ms", "wait_over_theory", wait)
	}
}

// poisson returns the rate of a step that is nothing but one stream of Poisson
// arrivals. Theory is about that rate and not about how many happened to come.
func poisson(step experiment.Step) (rate float64, ok bool) {
	if len(step.Traffic) != 1 {
		return 0, false
	}
	t := step.Traffic[0]
	return t.Rate, t.Kind == "rate" && t.Arrivals == "poisson"
}

// simulate gives the mean wait in nanoseconds that the counted requests would
// have had at workers that serve them first come, first served, each for its
// own time in the app and the worker's overhead.
func (vs *visits) simulate(app experiment.App, workers int, overhead float64) (mean float64, missing string) {
	var sum float64
	var counted, i int
	limit := queue.Unlimited
	if app.Backlog > 0 {
		limit = queue.Backlog(app.Backlog)
	}
	result, err := queue.Simulate(queue.Config{Workers: workers, Limit: limit, Each: func(q queue.Visit) {
		if vs.list[i].counted {
			sum += float64(q.Wait)
			counted++
		}
		i++
	}}, vs.requests(overhead))
	switch {
	case err != nil:
		return 0, err.Error()
	case result.Refused > 0:
		return 0, "in the simulation the accept queue overflowed, and what a lost SYN costs is not simulated"
	case counted == 0:
		return 0, notSaid
	}
	return sum / float64(counted), ""
}

// requests are the visits as a simulation takes them, in order of due.
func (vs *visits) requests(overhead float64) iter.Seq[queue.Request] {
	return func(yield func(queue.Request) bool) {
		for _, v := range vs.list {
			q := queue.Request{At: time.Duration(v.due - vs.list[0].due), Service: time.Duration(float64(v.served) + overhead)}
			if !yield(q) {
				return
			}
		}
	}
}

// busiest is the share of the answers that came from the worker that gave most
// of them, in percent.
func busiest(pids map[int32]int64) float64 {
	var most, all int64
	for _, n := range pids {
		most, all = max(most, n), all+n
	}
	return 100 * float64(most) / float64(cmp.Or(all, 1))
}
