package audit

import (
	"math"
	"strconv"
	"strings"
)

// formatNumber prints whole numbers in full and others with four significant
// digits, thousands apart.
func formatNumber(x float64) string {
	text := strconv.FormatFloat(math.Abs(x), 'f', 0, 64)
	if x != math.Trunc(x) {
		digits := 3 - int(math.Floor(math.Log10(math.Abs(x))))
		text = strconv.FormatFloat(math.Abs(x), 'f', max(0, digits), 64)
	}
	whole, fraction, has := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction = strings.TrimRight(fraction, "0"); has && fraction != "" {
		whole += "." + fraction
	}
	if x < 0 {
		return "−" + whole
	}
	return whole
}

// withUnit prints a number with its unit; counts and ratios have none.
func withUnit(x float64, unit string) string {
	switch unit {
	case "", "count":
		return formatNumber(x)
	case "×":
		return formatNumber(x) + "×"
	}
	return formatNumber(x) + " " + unit
}

// signed prints a change with its sign.
func signed(x float64, unit string) string {
	if x > 0 {
		return "+" + withUnit(x, unit)
	}
	return withUnit(x, unit)
}

// signedSpan prints a claimed change with its sign.
func signedSpan(s *Span, unit string) string {
	if s.exact() {
		return signed(*s.Lo, unit)
	}
	return s.text(unit)
}

// rounded is a number as a reader would round it, to four significant digits.
func rounded(x float64) float64 {
	if x == 0 {
		return 0
	}
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	if err != nil {
		return x
	}
	return y
}
