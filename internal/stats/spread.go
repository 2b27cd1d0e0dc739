package stats

// SpreadChange says whether the spread within repetitions changed.
type SpreadChange struct {
	// Test is on the spreads themselves.
	Test RankTest
	// Ratio is by what factor the typical spread changed.
	Ratio Shift
}

// Spread compares the spread within repetitions between a base a and b, given
// each repetition's interquartile range. Each repetition yields one spread, so the
// exact Mann-Whitney test applies to them and holds its level at any n. (Tests of
// dispersion on the values of the repetitions, such as Ansari-Bradley, hold theirs
// only if the medians are equal, and next to nothing reaches 5 % with six values.)
//
// A spread of zero leaves the test intact and the Ratio unknown.
func Spread(a, b Sample, level float64) SpreadChange {
	for _, s := range []Sample{a, b} {
		for _, o := range s {
			if o.X < 0 {
				reason := "an interquartile range cannot be negative"
				return SpreadChange{
					Test:  RankTest{N: len(a), M: len(b), P: 1, PGreater: 1, PLess: 1, MinP: 1, Reason: reason},
					Ratio: Shift{Scale: Ratio, Estimate: unknown(reason), Interval: noInterval(reason)},
				}
			}
		}
	}
	return SpreadChange{Test: MannWhitney(a, b), Ratio: HodgesLehmann(a, b, Ratio, level)}
}
