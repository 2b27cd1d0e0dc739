package stats

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

const (
	// enumerable is up to how many relabelings all of them are visited.
	enumerable = 60_000
	// resamples is how many random ones stand for them beyond that; the
	// smallest p is then 1/(resamples+1).
	resamples = 19_999
)

func newRand(seed uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
}

// relabelings visits labellings that are equally likely when the labels mean
// nothing: all distinct ones if they can be enumerated, else the observed one and
// a seeded random draw, so that counts of visits over n are valid p values either
// way (Phipson and Smyth 2010). visit must not keep its argument.
func relabelings(observed []int, seed uint64, visit func(labels []int)) (n float64, exact bool) {
	labels := slices.Clone(observed)
	if multinomial(labels) <= enumerable {
		slices.Sort(labels)
		for {
			n++
			visit(labels)
			if !nextPermutation(labels) {
				return n, true
			}
		}
	}
	visit(labels)
	r := newRand(seed)
	for range resamples {
		r.Shuffle(len(labels), func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
		visit(labels)
	}
	return resamples + 1, false
}

func randomNote(seed uint64) string {
	return fmt.Sprintf("p from %d random relabelings, seed %d", resamples, seed)
}

// multinomial is the number of distinct orders of the labels.
func multinomial(labels []int) float64 {
	ways, placed := 1.0, 0
	for _, t := range labelCounts(labels) {
		placed += t
		ways *= choose(placed, t)
	}
	return ways
}

func labelCounts(labels []int) []int {
	counts := make([]int, slices.Max(labels)+1)
	for _, l := range labels {
		counts[l]++
	}
	return counts
}

// nextPermutation steps to the next order in lexicographic order.
func nextPermutation(a []int) bool {
	i := len(a) - 2
	for i >= 0 && a[i] >= a[i+1] {
		i--
	}
	if i < 0 {
		return false
	}
	j := len(a) - 1
	for a[j] <= a[i] {
		j--
	}
	a[i], a[j] = a[j], a[i]
	slices.Reverse(a[i+1:])
	return true
}

// pooled is all observations of several groups in ascending order of value.
type pooled struct {
	// labels are the groups that the values came from.
	labels []int
	// ties are the sizes of the runs of equal values.
	ties []int
}

func pool(groups [][]float64) pooled {
	type entry struct {
		x     float64
		label int
	}
	var all []entry
	for g, xs := range groups {
		for _, x := range xs {
			all = append(all, entry{x, g})
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int {
		switch {
		case a.x < b.x:
			return -1
		case a.x > b.x:
			return 1
		}
		return 0
	})
	p := pooled{ties: tieSizes(groups...)}
	for _, e := range all {
		p.labels = append(p.labels, e.label)
	}
	return p
}

// doubledRanks are twice the midranks, in the order of labels.
func (p pooled) doubledRanks() []int {
	ranks := make([]int, 0, len(p.labels))
	for _, t := range p.ties {
		mid := 2*len(ranks) + t + 1
		for range t {
			ranks = append(ranks, mid)
		}
	}
	return ranks
}
