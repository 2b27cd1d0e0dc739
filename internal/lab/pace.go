package lab

import "time"

// pace estimates how long a run still takes. Steps differ a hundredfold, so that
// each is expected to take what it took before, in this run or in what it
// resumes; one that nobody has seen takes the mean of all, and before anything
// was seen its share of what the design estimates.
type pace struct {
	assumed time.Duration // of one execution, by the design
	took    map[string]time.Duration
	times   map[string]int
	left    map[string]int // executions by step
}

func newPace(assumed time.Duration) *pace {
	return &pace{assumed: assumed, took: map[string]time.Duration{}, times: map[string]int{}, left: map[string]int{}}
}

// saw learns from an execution.
func (p *pace) saw(step string, took time.Duration) {
	p.took[step] += took
	p.times[step]++
}

// remaining is what all executions that are left are expected to take.
func (p *pace) remaining() time.Duration {
	usual := p.assumed
	var all time.Duration
	var n int
	for step, took := range p.took {
		all += took
		n += p.times[step]
	}
	if n > 0 {
		usual = all / time.Duration(n)
	}
	var sum time.Duration
	for step, left := range p.left {
		each := usual
		if n := p.times[step]; n > 0 {
			each = p.took[step] / time.Duration(n)
		}
		sum += each * time.Duration(left)
	}
	return sum
}
