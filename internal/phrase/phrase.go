// Package phrase is how numbers read in sentences and tables: one way for all
// rooms, so that a figure looks the same wherever it stands.
package phrase

import (
	"math"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// Number gives four significant digits, thousands grouped, with a real minus
// sign. What is closer to 0 than 0.0001 is said to be so.
func Number(x float64) string {
	if x == 0 {
		return "0"
	}
	decimals := 3 - int(math.Floor(math.Log10(math.Abs(x))))
	decimals = min(max(decimals, 0), 4)
	s := strconv.FormatFloat(math.Abs(x), 'f', decimals, 64)
	if whole, frac, ok := strings.Cut(s, "."); ok {
		if frac = strings.TrimRight(frac, "0"); len(frac) < 2 && whole != "0" && decimals >= 2 {
			frac = (frac + "00")[:2]
		}
		s = strings.TrimSuffix(whole+"."+frac, ".")
	} else if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		s = Count(n)
	}
	if s == "0" {
		return "< 0.0001"
	}
	if x < 0 {
		return "−" + s
	}
	return s
}

// Whole drops the decimals of numbers that have none, and is Number otherwise.
func Whole(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return strings.Replace(Count(int64(x)), "-", "−", 1)
	}
	return Number(x)
}

// Count groups thousands.
func Count(n int64) string { return humanize.Comma(n) }

// Plural is a count with its noun: "1 step", "2 steps".
func Plural(n int, noun string) string {
	s := Count(int64(n)) + " " + noun
	if n != 1 {
		s += "s"
	}
	return s
}

// P is a p value with two significant digits, and never 0.
func P(p float64) string {
	switch {
	case p < 0.0001:
		return "< 0.0001"
	case p >= 0.995:
		return "1"
	}
	return strconv.FormatFloat(p, 'g', 2, 64)
}

// Equation is a p value with its name: "p = 0.05", "p < 0.0001".
func Equation(name string, p float64) string {
	text := P(p)
	if strings.HasPrefix(text, "<") {
		return name + " " + text
	}
	return name + " = " + text
}
