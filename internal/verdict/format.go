package verdict

import (
	"fmt"
	"math"
	"strings"

	"brink/internal/metric"
	"brink/internal/phrase"
	"brink/internal/stats"
)

// withUnit prints a value of a metric.
func withUnit(x float64, m metric.Metric) string {
	switch m.Unit {
	case "":
		return phrase.Whole(x)
	default:
		return phrase.Whole(x) + " " + m.Unit
	}
}

// estimate prints a median with its bound.
func estimate(e stats.Estimate, m metric.Metric) string {
	switch e.Bound {
	case stats.Unknown:
		return "unknown"
	case stats.LowerBound, stats.Between:
		return "≥ " + withUnit(e.X, m)
	}
	return withUnit(e.X, m)
}

// effect prints a difference with its sign: "+33 %" or "+5 %-points".
func effect(x float64, s stats.Scale, m metric.Metric) string {
	if s == stats.Ratio {
		return minus(signed(100*x) + " %")
	}
	unit := m.Unit
	if unit == "%" {
		unit = "points"
	}
	return minus(strings.TrimSpace(signed(x) + " " + unit))
}

// signed prints three digits of a difference, or all before the point.
func signed(x float64) string {
	if math.Abs(x) < 999.5 {
		return fmt.Sprintf("%+.3g", x)
	}
	if x > 0 {
		return "+" + phrase.Whole(math.Round(x))
	}
	return phrase.Whole(math.Round(x))
}

// minus writes a real minus sign, as all other numbers have it.
func minus(s string) string { return strings.Replace(s, "-", "−", 1) }

// shiftText prints a shift with its interval.
func shiftText(sh stats.Shift, m metric.Metric) string {
	if !sh.Estimate.Known() {
		return "difference unknown"
	}
	text := effect(shown(sh.Estimate.X, sh.Scale), sh.Scale, m)
	if sh.Estimate.Bound == stats.LowerBound {
		text = "at least " + text
	}
	if sh.Interval.Bounded() {
		text += fmt.Sprintf(" [%s to %s, %.3g %%]",
			effect(shown(sh.Interval.Lo, sh.Scale), sh.Scale, m),
			effect(shown(sh.Interval.Hi, sh.Scale), sh.Scale, m), 100*sh.Interval.Level)
	}
	return text
}

// marginText prints a declared size.
func marginText(size stats.Margin, m metric.Metric) string {
	return strings.TrimPrefix(effect(size.Size, size.Scale, m), "+")
}
