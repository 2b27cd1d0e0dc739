package stats

import "testing"

// The words and their limits are the methodology's: < 10, 10-25, 25-50, > 50 %.
func TestRatioMagnitude(t *testing.T) {
	for ratio, want := range map[float64]string{
		1: "negligible", 1.0999: "negligible", 0.9001: "negligible",
		1.1: "small", 0.9: "small", 1.2499: "small", 1.25: "medium", 0.75: "medium", 0.7: "medium",
		1.5: "medium", 0.5: "medium", 1.501: "large", 0.499: "large", 8: "large", 0: "", -1: "",
	} {
		if got := RatioMagnitude(ratio).String(); got != want {
			t.Errorf("%v is %q, want %q", ratio, got, want)
		}
	}
}

func TestEffectWordOfBounds(t *testing.T) {
	for _, c := range []struct {
		e    Estimate
		want string
	}{
		{Estimate{X: 1.3, Bound: Exact}, "medium"},
		{Estimate{X: 1.3, Bound: LowerBound}, "at least medium"},
		{Estimate{X: 1.7, Bound: LowerBound}, "large"},
		{Estimate{X: 0.7, Bound: UpperBound}, "at least medium"},
		{Estimate{X: 1.3, Bound: UpperBound}, ""},
		{Estimate{X: 0.7, Bound: LowerBound}, ""},
		{Estimate{X: 1.05, Bound: LowerBound}, ""},
		{Estimate{X: 1.26, Upper: 1.4, Bound: Between}, "medium"},
		{Estimate{X: 0.95, Upper: 1.05, Bound: Between}, "negligible"},
		{Estimate{X: 0.7, Upper: 1.3, Bound: Between}, ""},
		{Estimate{}, ""},
	} {
		if got := (Shift{Scale: Ratio, Estimate: c.e}).EffectWord(); got != c.want {
			t.Errorf("%v is %q, want %q", c.e, got, c.want)
		}
	}
	if got := (Shift{Scale: Points, Estimate: Estimate{X: 9, Bound: Exact}}).EffectWord(); got != "" {
		t.Errorf("points have the word %q", got)
	}
}

// By counting: of 15 pairs 8 go one way, 6 the other, one is tied.
func TestCliffsDeltaByCounting(t *testing.T) {
	wantExact(t, "delta", CliffsDelta(Of(10, 20, 30), Of(5, 25, 35, 40, 10)), 2./15)
	wantExact(t, "separated", CliffsDelta(Of(1, 2), Of(3, 4)), 1)
	wantExact(t, "equal", CliffsDelta(Of(7, 7), Of(7)), 0)
	d := CliffsDelta(Sample{{X: 1}, AtLeast(5)}, Sample{{X: 9}, {X: 5}})
	wantExact(t, "at the limit", d, 0.5)
	if d.Reason == "" {
		t.Error("censoring is not mentioned")
	}
}

func TestMargins(t *testing.T) {
	lo, hi := Margin{Ratio, 0.10}.Irrelevant()
	near(t, "irrelevant lo", lo, 0.9, 1e-12)
	near(t, "irrelevant hi", hi, 1.1, 1e-12)
	lo, hi = Margin{Ratio, 0.10}.Equivalent()
	near(t, "equivalent product", lo*hi, 1, 1e-12)
	lo, hi = Margin{Points, 5}.Irrelevant()
	near(t, "points", lo+hi, 0, 0)
	clear := Interval{Lo: 1.12, Hi: 1.4}
	if lo, hi := (Margin{Ratio, 0.10}).Irrelevant(); !clear.ClearOf(lo, hi) || (Interval{Lo: 1.05, Hi: 1.4}).ClearOf(lo, hi) {
		t.Error("[1.12, 1.4] is clear of 10 %, [1.05, 1.4] is not")
	}
	if (Interval{LoOpen: true, Hi: 1.4}).ClearOf(0.9, 1.1) || !(Interval{LoOpen: true, Hi: 0.8}).ClearOf(0.9, 1.1) {
		t.Error("an open end is clear of nothing on its own side")
	}
}
