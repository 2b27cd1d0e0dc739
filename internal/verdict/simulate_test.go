package verdict

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/metric"
)

// The metrics of the simulations: one of each kind.
const (
	ratioMetric  = "latency_p50_ms"
	pointsMetric = "queue_wait_p50_ms"
)

// noise is how one repetition differs from the next: a factor around 1.
type noise struct {
	name string
	draw func(r *rand.Rand) float64
}

// lognormal has the given coefficient of variation in percent.
func lognormal(cv float64) noise {
	sigma := math.Sqrt(math.Log1p(cv * cv / 1e4))
	return noise{fmt.Sprintf("CV %v %%", cv), func(r *rand.Rand) float64 { return math.Exp(sigma * r.NormFloat64()) }}
}

// heavyTailed has logarithms that follow Student's t with two degrees of
// freedom, which has no variance: most repetitions are within a fifth, and some
// are off by a multiple.
var heavyTailed = noise{"heavy-tailed", func(r *rand.Rand) float64 {
	t := r.NormFloat64() / math.Sqrt(r.ExpFloat64())
	return math.Exp(max(-20, min(20, 0.2*t)))
}}

// world is a truth and a claim about it. It adds its steps, named with the
// prefix, to an experiment of n repetitions.
type world struct {
	name string
	add  func(x *bench, prefix string, n int, draw func() float64) experiment.Hypothesis
}

// repeated gives n values around a median. Points metrics differ by addition.
func repeated(metricName string, median float64, n int, draw func() float64) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		if metricName == pointsMetric {
			xs[i] = median + 100*math.Log(draw())
		} else {
			xs[i] = median * draw()
		}
	}
	return xs
}

func (x *bench) stepsAt(metricName, prefix string, n int, draw func() float64, medians ...float64) []string {
	names := make([]string, len(medians))
	for i, m := range medians {
		names[i] = fmt.Sprintf("%s%d", prefix, i)
		x.step(names[i], map[string]float64{"level": float64(i + 1)})
		x.values(names[i], metricName, repeated(metricName, m, n, draw)...)
	}
	return names
}

// compared is a claim that the second step differs by 10 %, or ten points,
// where the truth is a factor or a difference.
func compared(metricName, direction string, truth float64) world {
	w := world{name: fmt.Sprintf("compare: %s, %s", direction, kindOf(metricName))}
	w.add = func(x *bench, prefix string, n int, draw func() float64) experiment.Hypothesis {
		second, size := 100*truth, percent(10)
		if metricName == pointsMetric {
			second, size = 100+truth, points(10)
		}
		steps := x.stepsAt(metricName, prefix, n, draw, 100, second)
		return experiment.Hypothesis{ID: prefix, Form: experiment.Compare, Metric: metricName, Steps: steps, Direction: direction, Effect: size}
	}
	return w
}

func kindOf(metricName string) string {
	m, _ := metric.Lookup(metricName)
	return string(m.Kind)
}

// equivalent is a claim that steps differ by no more than 10 %, or ten points,
// where the true medians are these.
func equivalent(metricName string, medians ...float64) world {
	w := world{name: fmt.Sprintf("equivalent: %d steps, %s", len(medians), kindOf(metricName))}
	w.add = func(x *bench, prefix string, n int, draw func() float64) experiment.Hypothesis {
		size := percent(10)
		if metricName == pointsMetric {
			size = points(10)
		}
		steps := x.stepsAt(metricName, prefix, n, draw, medians...)
		return experiment.Hypothesis{ID: prefix, Form: experiment.Equivalent, Metric: metricName, Steps: steps, Margin: size}
	}
	return w
}

// trended is a claim of a trend by 10 % over steps without one.
func trended(metricName, direction string) world {
	w := world{name: fmt.Sprintf("trend: %s, %s", direction, kindOf(metricName))}
	w.add = func(x *bench, prefix string, n int, draw func() float64) experiment.Hypothesis {
		size := percent(10)
		if metricName == pointsMetric {
			size = points(10)
		}
		steps := x.stepsAt(metricName, prefix, n, draw, 100, 100, 100, 100)
		return experiment.Hypothesis{ID: prefix, Form: experiment.Trend, Metric: metricName, Steps: steps, Factor: "level", Direction: direction, Effect: size}
	}
	return w
}

// cliff is a claim that something breaks over steps of which none does.
func cliff(name string, medians ...float64) world {
	return world{"cliff: " + name, func(x *bench, prefix string, n int, draw func() float64) experiment.Hypothesis {
		steps := x.stepsAt(ratioMetric, prefix, n, draw, medians...)
		return experiment.Hypothesis{ID: prefix, Form: experiment.Cliff, Metric: ratioMetric, Steps: steps, Effect: percent(10)}
	}}
}

// caused is a claim that an intervention without effect has one: each
// repetition is at a level of its own and has two phases on and two off.
func caused(metricName, direction string) world {
	w := world{name: fmt.Sprintf("caused_by: %s, %s", direction, kindOf(metricName))}
	w.add = func(x *bench, prefix string, n int, draw func() float64) experiment.Hypothesis {
		base := make([]float64, n)
		for i := range base {
			base[i] = 100 * draw()
		}
		h := experiment.Hypothesis{ID: prefix, Form: experiment.CausedBy, Metric: metricName, On: prefix + "on", Off: prefix + "off", Direction: direction, Effect: percent(10)}
		if metricName == pointsMetric {
			h.Effect = points(10)
		}
		m, _ := metric.Lookup(metricName)
		for _, step := range []string{h.On, h.Off} {
			x.step(step, nil)
			c := measure.Cell{Metric: m, Step: step}
			for i, b := range base {
				two := repeated(metricName, b, 2, draw)
				for _, v := range two {
					c.Phases = append(c.Phases, measure.Value{Number: i + 1, X: v})
				}
				c.Values = append(c.Values, measure.Value{Number: i + 1, X: (two[0] + two[1]) / 2})
			}
			x.cells = append(x.cells, c)
		}
		return h
	}
	return w
}

// lawful is a claim of 100 within 10 % where the true medians are these.
func lawful(name string, medians ...float64) world {
	return world{"law: " + name, func(x *bench, prefix string, n int, draw func() float64) experiment.Hypothesis {
		steps := x.stepsAt(ratioMetric, prefix, n, draw, medians...)
		return experiment.Hypothesis{ID: prefix, Form: experiment.Law, Metric: ratioMetric, Steps: steps, Formula: "100 + 0 * level", Tolerance: percent(10)}
	}}
}

// tally is how many experiments ended so.
type tally struct{ experiments, supported, measured int }

// simulate does experiments in which all worlds are claimed together. Each has
// a random stream of its own, so that the figures depend neither on the number
// of processors nor on the order. An experiment counts as supported, or as
// Measured, when any of its claims is.
func simulate(tb testing.TB, experiments, n int, nz noise, worlds ...world) tally {
	tb.Helper()
	key := fnv.New64a()
	fmt.Fprint(key, nz.name, n)
	for _, w := range worlds {
		fmt.Fprint(key, w.name)
	}
	total := tally{experiments: experiments}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for first := range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := first; i < experiments; i += runtime.GOMAXPROCS(0) {
				supported, measured, err := once(rand.New(rand.NewPCG(key.Sum64(), uint64(i))), n, nz, worlds)
				mu.Lock()
				if err != nil {
					tb.Errorf("%s, n = %d, experiment %d: %v", nz.name, n, i, err)
				}
				if supported {
					total.supported++
				}
				if measured {
					total.measured++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return total
}

func once(r *rand.Rand, n int, nz noise, worlds []world) (supported, measured bool, err error) {
	var x bench
	for i, w := range worlds {
		h := w.add(&x, string(rune('a'+i)), n, func() float64 { return nz.draw(r) })
		x.exp.Hypotheses = append(x.exp.Hypotheses, h)
	}
	verdicts, err := Judge(&experiment.Design{Experiment: &x.exp}, measure.Assemble(x.steps, x.cells))
	for _, v := range verdicts {
		supported = supported || v.Outcome == Supported
		measured = measured || v.Level == Measured
	}
	return supported, measured, err
}

// most is the largest number of experiments of which one in twenty ends
// "supported" by chance that is not yet a sign of more: the quantile of the
// binomial distribution.
func most(experiments int, quantile float64) int {
	b := distuv.Binomial{N: float64(experiments), P: alpha}
	k := 0
	for b.CDF(float64(k)) < quantile {
		k++
	}
	return k
}

// withoutEffect are worlds in which the claim is wrong: there is no effect, or for
// claims of sameness a difference that just reaches the margin.
func withoutEffect() []world {
	return []world{
		compared(ratioMetric, "rise", 1), compared(ratioMetric, "fall", 1), compared(ratioMetric, "differ", 1),
		compared(pointsMetric, "rise", 0), compared(pointsMetric, "differ", 0),
		equivalent(ratioMetric, 100, 110), equivalent(ratioMetric, 100, 110, 110/math.Sqrt(1.1)), equivalent(pointsMetric, 100, 110),
		trended(ratioMetric, "rise"), trended(ratioMetric, "fall"), trended(pointsMetric, "rise"),
		caused(ratioMetric, "rise"), caused(ratioMetric, "differ"), caused(pointsMetric, "fall"),
		lawful("1 step", 110), lawful("3 steps, 1 off", 100, 110, 100),
	}
}

// withoutCliff are apart: their test draws 20,000 permutations. The steps of the
// slope are half of the effect that is claimed.
func withoutCliff() []world {
	return []world{
		cliff("no change", 100, 100, 100, 100, 100),
		cliff("a spike", 100, 100, 200, 100, 100),
		cliff("a slope", 100, 105, 110.3, 115.8, 121.6),
	}
}

// With 1,000 experiments that quantile is the 64 of docs/METHODOLOGY.md: Bin(1000,
// 0.05) has mean 50 and standard deviation 6.9, and 50 + 1.96 × 6.9 = 63.5.
func TestMostIsTheBinomialBound(t *testing.T) {
	if got := most(1000, 0.975); got != 64 {
		t.Errorf("%d, want 64", got)
	}
}

// A smaller form of BenchmarkErrorRate: 200 experiments for each claim and number
// of repetitions, in the noise that is worst for it, against the 99.9 % bound.
func TestClaimsWithoutEffectAreRarelySupported(t *testing.T) {
	const experiments = 200
	limit := most(experiments, 0.999)
	for _, w := range withoutEffect() {
		nz := heavyTailed
		if strings.HasPrefix(w.name, "equivalent") || strings.HasPrefix(w.name, "law") {
			nz = lognormal(1)
		}
		for _, n := range []int{3, 4, 6} {
			if got := simulate(t, experiments, n, nz, w); got.supported > limit {
				t.Errorf("%s, %s, n = %d: %d of %d end supported, at most %d may", w.name, nz.name, n, got.supported, experiments, limit)
			}
		}
	}
	if got := simulate(t, 20, 3, lognormal(10), withoutCliff()[0]); got.supported > most(20, 0.999) {
		t.Errorf("cliff: %d of 20 end supported", got.supported)
	}
}

// The same chain finds what is there: otherwise silence would pass for rigour.
func TestTrueClaimsAreMostlySupported(t *testing.T) {
	for _, w := range []world{
		compared(ratioMetric, "rise", 2), compared(ratioMetric, "differ", 2), compared(pointsMetric, "rise", 60),
		equivalent(ratioMetric, 100, 100), lawful("1 step", 100), lawful("3 steps", 100, 100, 100),
	} {
		for _, n := range []int{4, 6} {
			if got := simulate(t, 100, n, lognormal(2), w); got.supported < 95 {
				t.Errorf("%s, n = %d: only %d of 100 end supported", w.name, n, got.supported)
			}
		}
	}
}
