package queue

import (
	"fmt"
	"math"
	"math/cmplx"
	"sort"
)

// ErlangB is the share of Poisson arrivals that find all workers busy if none
// waits (M/G/c/c; Erlang 1917), for an offered load in erlangs: rate times
// service. NaN if workers or offered is negative.
func ErlangB(workers int, offered float64) float64 {
	if workers < 0 || !(offered >= 0) || math.IsInf(offered, 0) {
		return math.NaN()
	}
	b := 1.0
	for k := 1; k <= workers; k++ {
		b = offered * b / (float64(k) + offered*b)
	}
	return b
}

// ErlangC is the share of Poisson arrivals that have to wait for exponential
// services (M/M/c; Erlang 1917), for an offered load in erlangs: 1 if it is
// not below the number of workers. NaN if workers is below 1 or offered is
// negative.
func ErlangC(workers int, offered float64) float64 {
	if workers < 1 {
		return math.NaN()
	}
	if offered >= float64(workers) {
		return 1
	}
	b := ErlangB(workers, offered)
	return b / (1 - offered/float64(workers)*(1-b))
}

// Wait is what a request has to expect in the queue in the steady state.
type Wait struct {
	// Probability is the chance that it has to wait at all.
	Probability float64
	// Mean is the mean wait over all requests, in seconds.
	Mean float64
}

// Model predicts the wait for c workers without a limit, from arrivals per
// second and the mean service in seconds. At a utilisation of 1 and above
// there is no steady state: the probability is 1 and the mean +Inf. Without
// workers, and for a negative rate or service, both are NaN.
type Model func(workers int, rate, service float64) Wait

var (
	_ Model = MMC
	_ Model = MDC
)

// MMC is the Model for Poisson arrivals and exponential services, from Erlang
// C. It is exact.
func MMC(workers int, rate, service float64) Wait {
	if w, done := extremes(workers, rate, service); done {
		return w
	}
	p := ErlangC(workers, rate*service)
	return Wait{Probability: p, Mean: p * service / (float64(workers) - rate*service)}
}

// MDC is the Model for Poisson arrivals and constant services. It is exact, up
// to rounding. The numbers of requests at times one service apart form a Markov
// chain, whose generating function is known from the c zeros of
// z^c - exp(a(z-1)) in the closed unit disc, with a the offered load (Crommelin
// 1932, Post Office Electrical Engineers' Journal 25, 41-50). Its slope at 1 is
// the mean number of requests, and its numerator's leading coefficient the
// probability that a worker is free.
func MDC(workers int, rate, service float64) Wait {
	if w, done := extremes(workers, rate, service); done {
		return w
	}
	c, a := float64(workers), rate*service
	requests := (c - (c-a)*(c-a)) / (2 * (c - a))
	free := math.Log(c - a)
	for k := 1; k < workers; k++ {
		u := complement(cmplx.Rect(1, 2*math.Pi*float64(k)/c), a/c)
		requests += real(1 / u)
		free -= math.Log(cmplx.Abs(u))
	}
	return Wait{
		Probability: max(0, -math.Expm1(free)),
		Mean:        max(0, requests-a) / rate,
	}
}

// complement is 1-z for the z in the unit disc with z = root exp(rho (z-1)),
// by Newton's method. Fixed-point steps, which contract there, bring it near.
func complement(root complex128, rho float64) complex128 {
	r := complex(rho, 0)
	u := complex(1, 0)
	for range 8 {
		u = 1 - root*cmplx.Exp(-r*u)
	}
	const enough = 50
	for range enough {
		e := root * cmplx.Exp(-r*u)
		step := (u - 1 + e) / (1 - r*e)
		u -= step
		if cmplx.Abs(step) <= 1e-15*cmplx.Abs(u) {
			break
		}
	}
	return u
}

// extremes answers what needs no formula.
func extremes(workers int, rate, service float64) (w Wait, done bool) {
	a := rate * service
	switch {
	case workers < 1 || !(rate >= 0) || !(service >= 0) || math.IsNaN(a):
		return Wait{Probability: math.NaN(), Mean: math.NaN()}, true
	case a == 0:
		return Wait{}, true
	case a >= float64(workers):
		return Wait{Probability: 1, Mean: math.Inf(1)}, true
	}
	return Wait{}, false
}

// Utilisation is the share of their time that workers are busy with rate
// arrivals per second of service seconds each (the utilisation law). Above 1
// the queue grows without end.
func Utilisation(workers int, rate, service float64) float64 {
	return rate * service / float64(workers)
}

// SustainableRate is the number of requests per second at which the workers
// have no idle time left, for a mean service in seconds. The queue keeps up
// only below it.
func SustainableRate(workers int, service float64) float64 {
	return float64(workers) / service
}

// maxWorkers bounds the search of WorkersFor, and with it its time.
const maxWorkers = 10_000

// WorkersFor is the least number of workers with a mean wait of at most target
// seconds, for arrivals per second and a mean service in seconds. It is an
// error if one of them is not positive, or if it takes over 10,000 workers.
func WorkersFor(target, rate, service float64, model Model) (int, error) {
	for _, in := range []struct {
		name  string
		value float64
	}{{"target", target}, {"rate", rate}, {"service", service}} {
		if !(in.value > 0) || math.IsInf(in.value, 0) {
			return 0, fmt.Errorf("queue: %s is %v, it must be above 0 and finite", in.name, in.value)
		}
	}
	tooMany := fmt.Errorf("queue: %v requests/s of %v s need more than %d workers", rate, service, maxWorkers)
	if !(rate*service < maxWorkers) {
		return 0, tooMany
	}
	least := int(rate*service) + 1
	enough := func(more int) bool { return model(min(least+more, maxWorkers), rate, service).Mean <= target }
	more := 1
	for ; !enough(more); more *= 2 {
		if least+more >= maxWorkers {
			return 0, tooMany
		}
	}
	return least + sort.Search(more, enough), nil
}
