package stats

import (
	"fmt"
	"math"
	"slices"
)

// Shape is what the medians of ordered steps look like.
type Shape int

const (
	// NoShape: all steps have the same median, or there is no answer.
	NoShape Shape = iota
	// StepShape: one level up to a boundary, another from there on.
	StepShape
	// SpikeShape: one step differs and the next is back at the old level.
	SpikeShape
	// ExcursionShape: several steps differ before the level returns.
	ExcursionShape
	// GradualShape: a straight line fits better than any single jump.
	GradualShape
)

// String returns the shape in lower case.
func (s Shape) String() string {
	return [...]string{"none", "step", "spike", "excursion", "gradual"}[s]
}

// ChangePoint is the place between two neighbouring steps where a level changes.
type ChangePoint struct {
	// Shape says what was found; only StepShape has a boundary.
	Shape Shape
	// Boundary is the index of the last step before the change, from 0; -1
	// if there is none. It is the best candidate: P decides whether it holds.
	Boundary int
	// Spike is the index of a step that differs alone and was set aside; -1
	// if there is none.
	Spike int
	// P is for "the order of the steps does not matter", allowing for the
	// boundary having been searched for; 1 without a boundary.
	P float64
	// Delta is Cliff's delta between all observations before the boundary
	// and all after it: the strength of the change, from -1 to 1.
	Delta float64
	// Exact is false where P comes from random relabelings.
	Exact bool
	// Note is a caveat that leaves the answer valid.
	Note string
	// Reason says why there is no answer, and is empty if there is one.
	Reason string
}

// Found reports whether there is a boundary with P below alpha.
func (c ChangePoint) Found(alpha float64) bool { return c.Boundary >= 0 && c.P < alpha }

// FindChange looks for a change point over steps in the order given. The shape
// comes from least squares on the steps' medians (of logarithms on Ratio): one
// jump against a lone spike or an excursion that returns, and against a straight
// line. P is a permutation test of the rank-sum statistic at that boundary against
// its maximum over all boundaries (as Pettitt 1979, Appl. Statist. 28, 126-135, but
// standardised): enumerated when possible, else seeded. A lone spike is set aside
// and the remaining steps are searched once more.
//
// A spike in the first or last step cannot be told from a change next to it and
// counts as a change.
func FindChange(steps []Sample, scale Scale, seed uint64) ChangePoint {
	none := ChangePoint{Boundary: -1, Spike: -1, P: 1}
	none.Reason = stepsProblem(steps, 2)
	if none.Reason == "" {
		none.Reason = problemOn(scale, steps...)
	}
	if none.Reason != "" {
		return none
	}
	onScale := make([]Sample, len(steps))
	for i, s := range steps {
		onScale[i] = s.onScale(scale)
	}
	values, _ := commonValues(onScale)
	_, none.Note = commonValues(steps)

	first := none
	first.search(values, seed)
	if first.Shape != SpikeShape {
		return first
	}
	rest := none
	rest.search(slices.Delete(slices.Clone(values), first.Spike, first.Spike+1), seed)
	if rest.Shape != StepShape {
		return first
	}
	rest.Spike = first.Spike
	if rest.Boundary >= first.Spike {
		rest.Boundary++
	}
	rest.Note = joinNotes(rest.Note, fmt.Sprintf("step %d spikes alone and was set aside", first.Spike+1))
	return rest
}

// search fills in shape, boundary and test for values that are known.
func (c *ChangePoint) search(values [][]float64, seed uint64) {
	medians := make([]float64, len(values))
	for i, xs := range values {
		sorted := slices.Sorted(slices.Values(xs))
		medians[i] = interpolate(sorted, 0.5)
	}
	var at int
	c.Shape, at = shapeOf(medians)
	switch c.Shape {
	case SpikeShape:
		c.Spike = at
	case StepShape:
		c.Boundary = at
		c.P, c.Exact = boundaryP(pool(values), len(values), at, seed)
		if !c.Exact {
			c.Note = joinNotes(c.Note, randomNote(seed))
		}
		before, after := slices.Concat(values[:at+1]...), slices.Concat(values[at+1:]...)
		pairs := len(before) * len(after)
		c.Delta = float64(doubledU(before, after)-pairs) / float64(pairs)
	}
}

// shapeOf fits the medians and returns the best shape, with the boundary of a
// step or the index of a spike.
func shapeOf(medians []float64) (shape Shape, at int) {
	k := len(medians)
	if slices.Min(medians) == slices.Max(medians) {
		return NoShape, 0
	}
	total := residual(medians)
	// What is as good as a step up to rounding is a step.
	best := math.Inf(1)
	better := func(rss float64) bool { return rss < best-1e-12*total }
	for b := range k - 1 {
		if rss := residual(medians[:b+1]) + residual(medians[b+1:]); better(rss) {
			shape, at, best = StepShape, b, rss
		}
	}
	for from := 1; from < k-1; from++ {
		for to := from; to < k-1; to++ {
			outside := slices.Concat(medians[:from], medians[to+1:])
			if rss := residual(medians[from:to+1]) + residual(outside); better(rss) {
				shape, at, best = ExcursionShape, from, rss
				if from == to {
					shape = SpikeShape
				}
			}
		}
	}
	if better(total - lineSum(medians)) {
		return GradualShape, 0
	}
	return shape, at
}

// residual is the sum of squares around the mean.
func residual(xs []float64) float64 {
	mean := 0.0
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	sum := 0.0
	for _, x := range xs {
		sum += (x - mean) * (x - mean)
	}
	return sum
}

// lineSum is the sum of squares that a straight line over the index explains.
func lineSum(xs []float64) float64 {
	centre := float64(len(xs)-1) / 2
	xy, xx := 0.0, 0.0
	for i, x := range xs {
		d := float64(i) - centre
		xy += d * x
		xx += d * d
	}
	return xy * xy / xx
}

// boundaryP is the share of relabelings whose strongest boundary is at least as
// strong as boundary at under the observed labels.
func boundaryP(data pooled, steps, at int, seed uint64) (p float64, exact bool) {
	ranks := data.doubledRanks()
	sizes := labelCounts(data.labels)
	sums := make([]int, steps)
	observed := boundaryStrengths(ranks, data.labels, sizes, sums)[at]
	hits := 0.0
	n, exact := relabelings(data.labels, seed, func(labels []int) {
		if slices.Max(boundaryStrengths(ranks, labels, sizes, sums)) >= observed-1e-9 {
			hits++
		}
	})
	return hits / n, exact
}

// boundaryStrengths are the absolute rank sums before each boundary, centred and
// scaled alike. sums is scratch, one cell per step.
func boundaryStrengths(ranks, labels, sizes, sums []int) []float64 {
	clear(sums)
	for i, l := range labels {
		sums[l] += ranks[i]
	}
	strengths := make([]float64, len(sizes)-1)
	sum, before := 0, 0
	for b := range strengths {
		sum += sums[b]
		before += sizes[b]
		centred := float64(sum - before*(len(ranks)+1))
		strengths[b] = math.Abs(centred) / math.Sqrt(float64(before*(len(ranks)-before)))
	}
	return strengths
}
