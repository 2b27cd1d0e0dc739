package stats

// TrendTest is a Jonckheere-Terpstra test over steps in the order given.
type TrendTest struct {
	// J counts the pairs of observations from different steps in which the
	// later step has the larger value, ties as one half; Pairs is their
	// number, and Pairs/2 the mean of J without a trend.
	J     float64
	Pairs int
	// P is two-sided, PRising and PFalling one-sided; 1 if there is a Reason.
	P, PRising, PFalling float64
	// MinP is the smallest two-sided P that could have come out.
	MinP float64
	// Exact is false where p comes from random relabelings or the normal
	// approximation; the Note names which.
	Exact bool
	// Note is a caveat that leaves the test valid.
	Note string
	// Reason says why there is no test, and is empty if there is one.
	Reason string
}

// exactTrendCost bounds the multiplications for an exact distribution of J.
const exactTrendCost = 1e8

// JonckheereTerpstra tests for a trend over ordered steps (Hollander, Wolfe and
// Chicken, 6.2). Without ties the distribution is exact; with ties all relabelings
// are enumerated when they are few, else drawn with the seed. Steps hold
// independent repetitions; the steps of one ladder are not.
func JonckheereTerpstra(steps []Sample, seed uint64) TrendTest {
	t := TrendTest{P: 1, PRising: 1, PFalling: 1, MinP: 1}
	if t.Reason = stepsProblem(steps, 2); t.Reason != "" {
		return t
	}
	values, note := commonValues(steps)
	data := pool(values)
	sizes := labelCounts(data.labels)
	doubled := doubledJ(data, data.labels, make([]int, len(steps)))
	t.J, t.Pairs, t.Note = float64(doubled)/2, stepPairs(sizes), note

	var p tails
	switch {
	case tied(data.ties):
		p, t.Exact = relabeledTrend(data, len(steps), doubled, t.Pairs, seed)
		if !t.Exact {
			p.least = max(p.least, JonckheereMinP(sizes...))
			t.Note = joinNotes(t.Note, randomNote(seed))
		}
	case trendCost(sizes) <= exactTrendCost:
		p, t.Exact = tailsOf(jonckheereNull(sizes), doubled/2), true
	default:
		p = approximateTails(t.J, float64(t.Pairs)/2, jonckheereVariance(sizes))
		t.Note = joinNotes(t.Note, "normal approximation")
	}
	t.P, t.PRising, t.PFalling, t.MinP = p.two, p.greater, p.less, p.least
	return t
}

// JonckheereMinP is the two-sided p of complete order over steps of the given
// numbers of repetitions: the smallest without ties.
func JonckheereMinP(sizes ...int) float64 {
	orders, placed := 1.0, 0
	for _, n := range sizes {
		if n < 1 {
			return 1
		}
		placed += n
		orders *= choose(placed, n)
	}
	return min(1, 2/orders)
}

func stepsProblem(steps []Sample, atLeast int) string {
	if len(steps) < atLeast {
		return map[int]string{2: "it needs at least two steps", 3: "it needs at least three steps"}[atLeast]
	}
	return firstProblem(steps...)
}

func stepPairs(sizes []int) int {
	pairs, before := 0, 0
	for _, n := range sizes {
		pairs += before * n
		before += n
	}
	return pairs
}

// doubledJ is 2J under the given labels. seen is scratch, one cell per step.
func doubledJ(data pooled, labels []int, seen []int) int {
	clear(seen)
	j, at := 0, 0
	for _, t := range data.ties {
		block := labels[at : at+t]
		for i, l := range block {
			for _, n := range seen[:l] {
				j += 2 * n
			}
			for _, other := range block[:i] {
				if other != l {
					j++
				}
			}
		}
		for _, l := range block {
			seen[l]++
		}
		at += t
	}
	return j
}

func relabeledTrend(data pooled, steps, doubled, mean int, seed uint64) (tails, bool) {
	far := func(j int) int { return max(j-mean, mean-j) }
	seen := make([]int, steps)
	var p tails
	extreme, extremes := 0, 0.0
	n, exact := relabelings(data.labels, seed, func(labels []int) {
		j := doubledJ(data, labels, seen)
		if j <= doubled {
			p.less++
		}
		if j >= doubled {
			p.greater++
		}
		if far(j) >= far(doubled) {
			p.two++
		}
		switch {
		case far(j) > extreme:
			extreme, extremes = far(j), 1
		case far(j) == extreme:
			extremes++
		}
	})
	return tails{p.less / n, p.greater / n, p.two / n, extremes / n}, exact
}

// jonckheereNull is the distribution of J without ties: the U of each step
// against all before it are independent.
func jonckheereNull(sizes []int) []float64 {
	null, before := []float64{1}, sizes[0]
	for _, n := range sizes[1:] {
		null = convolve(null, uNull(before, n))
		before += n
	}
	return null
}

func trendCost(sizes []int) float64 {
	cost, before := 0.0, 0
	for _, n := range sizes {
		cost += float64(before*n) * float64(before*n)
		before += n
	}
	return cost
}

func jonckheereVariance(sizes []int) float64 {
	term := func(n int) float64 { return float64(n) * float64(n) * float64(2*n+3) }
	total, own := 0, 0.0
	for _, n := range sizes {
		total += n
		own += term(n)
	}
	return (term(total) - own) / 72
}
