package stats

import (
	"math"
	"slices"
)

// choose is the binomial coefficient n over k.
func choose(n, k int) float64 {
	c := 1.0
	for i := 1; i <= k; i++ {
		c = c * float64(n-k+i) / float64(i)
	}
	return math.Round(c)
}

// tieSizes returns how often each distinct value occurs, in ascending order.
func tieSizes(groups ...[]float64) []int {
	all := slices.Concat(groups...)
	slices.Sort(all)
	var sizes []int
	for i, x := range all {
		if i > 0 && x == all[i-1] {
			sizes[len(sizes)-1]++
		} else {
			sizes = append(sizes, 1)
		}
	}
	return sizes
}

func tied(sizes []int) bool {
	return slices.ContainsFunc(sizes, func(t int) bool { return t > 1 })
}

// tiedUNull is the exact distribution of 2U, U being the Mann-Whitney statistic
// of m observations drawn at random out of all those counted in ties (Klotz 1966,
// JASA 61, 772-787). Tie groups are taken in ascending order; j of the t members
// of a group fall to the drawn sample in C(t, j) ways and add 2j for each lower
// member of the other sample and j(t-j) within the group.
func tiedUNull(ties []int, m int) []float64 {
	total := 0
	for _, t := range ties {
		total += t
	}
	top := 2 * m * (total - m)
	ways, next := newTable(m+1, top+1), newTable(m+1, top+1)
	ways[0][0] = 1
	seen := 0
	for _, t := range ties {
		for _, row := range next {
			clear(row)
		}
		for drawn := max(0, seen-(total-m)); drawn <= min(m, seen); drawn++ {
			others := seen - drawn
			reached := ways[drawn][:2*drawn*others+1]
			for j := max(0, others+t-(total-m)); j <= min(t, m-drawn); j++ {
				c, to := choose(t, j), next[drawn+j][2*j*others+j*(t-j):]
				for u, w := range reached {
					to[u] += c * w
				}
			}
		}
		ways, next, seen = next, ways, seen+t
	}
	all := choose(total, m)
	for u := range ways[m] {
		ways[m][u] /= all
	}
	return ways[m]
}

// uNull is the exact distribution of U without ties, for samples of n and m:
// the largest observation belongs to the second sample with probability m/(n+m)
// and then exceeds all n of the first (Mann and Whitney 1947).
func uNull(n, m int) []float64 {
	row := newTable(m+1, 1)
	for j := range row {
		row[j][0] = 1
	}
	for i := 1; i <= n; i++ {
		next := make([][]float64, m+1)
		next[0] = []float64{1}
		for j := 1; j <= m; j++ {
			p := float64(j) / float64(i+j)
			d := make([]float64, i*j+1)
			for u, w := range next[j-1] {
				d[u+i] += p * w
			}
			for u, w := range row[j] {
				d[u] += (1 - p) * w
			}
			next[j] = d
		}
		row = next
	}
	return row[m]
}

// signedRankNull is the exact distribution of the sum of those weights whose
// sign comes up positive, each with probability ½.
func signedRankNull(weights []int) []float64 {
	top := 0
	for _, w := range weights {
		top += w
	}
	d := make([]float64, top+1)
	d[0] = 1
	for _, w := range weights {
		next := make([]float64, top+1)
		for s, p := range d {
			if p != 0 {
				next[s] += p / 2
				next[s+w] += p / 2
			}
		}
		d = next
	}
	return d
}

func convolve(a, b []float64) []float64 {
	out := make([]float64, len(a)+len(b)-1)
	for i, x := range a {
		for j, y := range b {
			out[i+j] += x * y
		}
	}
	return out
}

func newTable(rows, columns int) [][]float64 {
	t := make([][]float64, rows)
	for i := range t {
		t[i] = make([]float64, columns)
	}
	return t
}

// tails are the p values of one outcome of a discrete statistic.
type tails struct {
	// less and greater are one-sided and include the outcome; two counts
	// everything at least as far from the mean of the distribution.
	less, greater, two float64
	// least is the smallest two-sided p that the distribution can give.
	least float64
}

// tailsOf reads the p values of outcome x off a distribution over 0..len-1 with
// mean (len-1)/2.
func tailsOf(null []float64, x int) tails {
	top := len(null) - 1
	far := func(u int) int { return max(2*u-top, top-2*u) }
	extreme := 0
	for u, p := range null {
		if p > 0 {
			extreme = max(extreme, far(u))
		}
	}
	var t tails
	for u, p := range null {
		if u <= x {
			t.less += p
		}
		if u >= x {
			t.greater += p
		}
		if far(u) >= far(x) {
			t.two += p
		}
		if far(u) == extreme {
			t.least += p
		}
	}
	return tails{certain(t.less), certain(t.greater), certain(t.two), certain(t.least)}
}

// certain takes rounding out of a sum of probabilities that is all of them.
func certain(p float64) float64 {
	if p > 1-slack {
		return 1
	}
	return p
}

// criticalRank is the largest k with P(X < k) ≤ (1-level)/2, and the level
// 1-2·P(X < k) of the interval between the k-th smallest and k-th largest of the
// numbers that X counts. k is 0 if even the extremes do not reach the level.
func criticalRank(null []float64, level float64) (k int, reached float64) {
	limit := (1 - level) / 2 * (1 + slack)
	below := 0.0
	for k < (len(null)-1)/2 && below+null[k] <= limit {
		below += null[k]
		k++
	}
	if k == 0 {
		return 0, 0
	}
	return k, max(level, 1-2*below)
}
