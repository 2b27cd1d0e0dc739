package verdict

import (
	"fmt"
	"strings"
	"testing"
)

// simulations is how many experiments stand behind each figure.
const simulations = 1000

var repetitionsTried = []int{3, 4, 5, 6, 8, 10}

// BenchmarkErrorRate prints how many of 1,000 experiments without an effect end
// "supported", by claim and number of repetitions, in the noise that is worst for
// it; and fails where there are more than chance allows at 5 %: 64, the 97.5 %
// quantile of the binomial distribution. A noise of 1 % is the hardest for claims
// of sameness and laws: with much they are never supported.
func BenchmarkErrorRate(b *testing.B) {
	noises := []noise{lognormal(1), lognormal(10), lognormal(20), lognormal(30), lognormal(50), heavyTailed}
	for b.Loop() {
		e := errorRates{b: b, table: newTextTable("no effect: supported of 1,000", headsOf(repetitionsTried)...), limit: most(simulations, 0.975)}
		for _, w := range withoutEffect() {
			e.try(w, noises)
		}
		for _, w := range withoutCliff() {
			e.try(w, []noise{lognormal(20), heavyTailed})
		}
		e.table.print()
		b.ReportMetric(float64(e.worst), "worst-of-1000")
	}
}

// BenchmarkErrorRateAtTheEffect is the same where the truth is exactly the
// smallest effect that is claimed. With three repetitions the chance is one in
// twenty by construction, which exceeds the limit for one look now and then: the
// limit is that of all looks together.
func BenchmarkErrorRateAtTheEffect(b *testing.B) {
	worlds := []world{compared(ratioMetric, "rise", 1.1), compared(ratioMetric, "fall", 0.9), compared(pointsMetric, "rise", 10)}
	noises := []noise{lognormal(1), lognormal(10), lognormal(20), lognormal(50), heavyTailed}
	looks := float64(len(worlds) * len(noises) * len(repetitionsTried))
	for b.Loop() {
		e := errorRates{b: b, table: newTextTable("truth = smallest effect: supported of 1,000", headsOf(repetitionsTried)...), limit: most(simulations, 1-0.025/looks)}
		for _, w := range worlds {
			e.try(w, noises)
		}
		e.table.print()
		b.ReportMetric(float64(e.worst), "worst-of-1000")
	}
}

// errorRates is a table of errors and the largest of them.
type errorRates struct {
	b            *testing.B
	table        *textTable
	limit, worst int
}

// try adds a row: the highest number over the noises.
func (e *errorRates) try(w world, noises []noise) {
	row := make([]string, len(repetitionsTried))
	for i, n := range repetitionsTried {
		highest := 0
		for _, nz := range noises {
			got := simulate(e.b, simulations, n, nz, w).supported
			if got > e.limit {
				e.b.Errorf("%s, %s, n = %d: %d of %d end supported, at most %d may", w.name, nz.name, n, got, simulations, e.limit)
			}
			highest = max(highest, got)
		}
		row[i], e.worst = fmt.Sprint(highest), max(e.worst, highest)
	}
	e.table.row(w.name, row...)
}

// BenchmarkFamily claims six things at once of which none is true, with six
// repetitions, and counts the experiments in which any of them is Measured.
func BenchmarkFamily(b *testing.B) {
	families := []struct {
		name   string
		worlds []world
	}{
		{"six comparisons", []world{
			compared(ratioMetric, "rise", 1), compared(ratioMetric, "fall", 1), compared(ratioMetric, "differ", 1),
			compared(pointsMetric, "rise", 0), compared(pointsMetric, "fall", 0), compared(pointsMetric, "differ", 0),
		}},
		{"six forms", []world{
			compared(ratioMetric, "rise", 1), equivalent(ratioMetric, 100, 110), trended(ratioMetric, "rise"),
			caused(ratioMetric, "rise"), lawful("1 step", 110), compared(pointsMetric, "differ", 0),
		}},
		{"six at the margin", []world{
			equivalent(ratioMetric, 100, 110), equivalent(ratioMetric, 110, 100), equivalent(pointsMetric, 100, 110),
			lawful("1 step", 110), lawful("1 step", 90), equivalent(pointsMetric, 110, 100),
		}},
	}
	noises := []noise{lognormal(1), lognormal(10), lognormal(20), lognormal(30), lognormal(50), heavyTailed}
	for b.Loop() {
		limit, worst := most(simulations, 0.975), 0
		t := newTextTable("6 claims, no effect, n = 6: any Measured, of 1,000", namesOf(noises)...)
		for _, f := range families {
			row := make([]string, len(noises))
			for i, nz := range noises {
				got := simulate(b, simulations, 6, nz, f.worlds...).measured
				if got > limit {
					b.Errorf("%s, %s: %d of %d have a Measured claim, at most %d may", f.name, nz.name, got, simulations, limit)
				}
				row[i], worst = fmt.Sprint(got), max(worst, got)
			}
			t.row(f.name, row...)
		}
		t.print()
		b.ReportMetric(float64(worst), "worst-of-1000")
	}
}

// BenchmarkPower prints how often six repetitions show what is true: a
// difference of 30 % where 10 % is claimed, and sameness within 10 %. It fails
// when less is found than the noise explains.
func BenchmarkPower(b *testing.B) {
	for b.Loop() {
		noises := []noise{lognormal(10), lognormal(20), lognormal(30), lognormal(50)}
		t := newTextTable("true +30 %, claimed ≥ 10 %, n = 6", namesOf(noises)...)
		rises := powerRows(b, t, "rise", compared(ratioMetric, "rise", 1.3), noises)
		powerRows(b, t, "differ", compared(ratioMetric, "differ", 1.3), noises)
		t.print()
		if rises[0] < 600 || rises[3] > rises[0] {
			b.Errorf("supported %v of 1,000: a shift of 1.7 standard deviations beyond the claim should mostly be found, and less of it in more noise", rises)
		}

		noises = []noise{lognormal(1), lognormal(2), lognormal(5), lognormal(10)}
		t = newTextTable("no difference, margin 10 %, n = 6", namesOf(noises)...)
		same := powerRows(b, t, "2 steps", equivalent(ratioMetric, 100, 100), noises)
		powerRows(b, t, "3 steps", equivalent(ratioMetric, 100, 100, 100), noises)
		t.print()
		if same[0] != simulations {
			b.Errorf("sameness within 10 %% at a noise of 1 %% was found in %d of %d", same[0], simulations)
		}
		b.ReportMetric(float64(rises[1])/10, "rise-CV20-%")
		b.ReportMetric(float64(same[2])/10, "same-CV5-%")
	}
}

// powerRows adds the shares that end supported and Measured, and returns the
// numbers of the first.
func powerRows(b *testing.B, t *textTable, name string, w world, noises []noise) []int {
	supported := make([]int, len(noises))
	rows := [2][]string{}
	for i, nz := range noises {
		got := simulate(b, simulations, 6, nz, w)
		supported[i] = got.supported
		rows[0] = append(rows[0], share(got.supported))
		rows[1] = append(rows[1], share(got.measured))
	}
	t.row(name+": supported", rows[0]...)
	t.row(name+": Measured", rows[1]...)
	return supported
}

func share(k int) string { return fmt.Sprintf("%.1f %%", 100*float64(k)/simulations) }

// BenchmarkJudge is one experiment of six claims in six repetitions.
func BenchmarkJudge(b *testing.B) {
	worlds := []world{
		compared(ratioMetric, "rise", 1.3), equivalent(ratioMetric, 100, 100), trended(ratioMetric, "rise"),
		caused(ratioMetric, "rise"), lawful("1 step", 100), compared(pointsMetric, "differ", 30),
	}
	for b.Loop() {
		if t := simulate(b, 1, 6, lognormal(10), worlds...); t.experiments != 1 {
			b.Fatal(t)
		}
	}
}

// textTable prints as Markdown.
type textTable struct{ lines []string }

func newTextTable(corner string, heads ...string) *textTable {
	t := &textTable{}
	t.row(corner, heads...)
	t.row("---", strings.Split(strings.Repeat("---: ", len(heads)), " ")[:len(heads)]...)
	return t
}

func (t *textTable) row(name string, cells ...string) {
	t.lines = append(t.lines, fmt.Sprintf("| %s | %s |", name, strings.Join(cells, " | ")))
}

// print goes past the log of the benchmark, which cuts what is long.
func (t *textTable) print() { fmt.Printf("\n%s\n\n", strings.Join(t.lines, "\n")) }

func headsOf(repetitions []int) []string {
	heads := make([]string, len(repetitions))
	for i, n := range repetitions {
		heads[i] = fmt.Sprintf("n = %d", n)
	}
	return heads
}

func namesOf(noises []noise) []string {
	names := make([]string, len(noises))
	for i, nz := range noises {
		names[i] = nz.name
	}
	return names
}
