package verdict

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"brink/internal/metric"
	"brink/internal/stats"
)

// formatP prints a p value with two significant digits, and never as zero.
func formatP(p float64) string {
	switch {
	case p < 0.0001:
		return "< 0.0001"
	case p >= 0.995:
		return "1"
	}
	return strconv.FormatFloat(p, 'g', 2, 64)
}

// equation prints "p = 0.05" or "p < 0.0001".
func equation(name string, p float64) string {
	text := formatP(p)
	if strings.HasPrefix(text, "<") {
		return name + " " + text
	}
	return name + " = " + text
}

// formatNumber prints three significant digits, whole numbers in full.
func formatNumber(x float64) string {
	a := math.Abs(x)
	switch {
	case x == math.Trunc(x) && a < 1e15:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case a >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case a >= 1:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// withUnit prints a value of a metric.
func withUnit(x float64, m metric.Metric) string {
	switch m.Unit {
	case "":
		return formatNumber(x)
	default:
		return formatNumber(x) + " " + m.Unit
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
		return fmt.Sprintf("%+.3g %%", 100*x)
	}
	unit := m.Unit
	if unit == "%" {
		unit = "points"
	}
	return strings.TrimSpace(fmt.Sprintf("%+.3g %s", x, unit))
}

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

// plural prints a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
