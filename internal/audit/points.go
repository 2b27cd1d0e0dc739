package audit

import (
	"fmt"
	"strings"
)

func bounds(ps []point) (lo, hi float64) {
	lo, hi = ps[0].x, ps[0].x
	for _, p := range ps {
		lo, hi = min(lo, p.x), max(hi, p.x)
	}
	return lo, hi
}

// extent prints the least and the greatest of the numbers.
func extent(ps []point, unit string) string {
	lo, hi := bounds(ps)
	if lo == hi {
		return withUnit(rounded(lo), unit)
	}
	return formatNumber(rounded(lo)) + " to " + withUnit(rounded(hi), unit)
}

// labelled prints numbers with their places.
func labelled(ps []point) string {
	var parts []string
	for _, p := range ps {
		parts = append(parts, fmt.Sprintf("%s (%s)", p.label, formatNumber(rounded(p.x))))
	}
	return strings.Join(parts, ", ")
}

// arrows prints numbers in their order.
func arrows(ps []point) string {
	var parts []string
	for _, p := range ps {
		parts = append(parts, formatNumber(rounded(p.x)))
	}
	return strings.Join(parts, " → ")
}

func labelsOf(ps []point) []string {
	var labels []string
	for _, p := range ps {
		labels = append(labels, p.label)
	}
	return labels
}
