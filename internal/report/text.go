package report

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"brink/internal/metric"
)

// maxText bounds one app-written string in a report; the record keeps it all.
const maxText = 600

// visible is clean for app-written strings, which may be very long: what
// exceeds maxText is cut, and that is said.
func visible(s string) string {
	n := 0
	for i := range s {
		if n == maxText {
			return clean(s[:i]) + "… (" + formatCount(int64(utf8.RuneCountInString(s[i:]))) + " more characters)"
		}
		n++
	}
	return clean(s)
}

// clean makes a string safe to look at: control characters show as Unicode
// control pictures, so that an escape sequence is seen and not obeyed;
// direction overrides and invalid bytes become U+FFFD; line breaks and tabs
// become spaces.
func clean(s string) string {
	return strings.TrimSpace(safe(s))
}

// safe is clean without trimming.
func safe(s string) string {
	return strings.Map(visibleRune, strings.ToValidUTF8(s, string(utf8.RuneError)))
}

func visibleRune(r rune) rune {
	switch {
	case r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029':
		return ' '
	case r < 0x20:
		return 0x2400 + r
	case r == 0x7f:
		return 0x2421
	case r >= 0x80 && r < 0xa0, unicode.Is(unicode.Bidi_Control, r), r == '\ufeff':
		return utf8.RuneError
	}
	return r
}

// formatNumber gives four significant digits, thousands grouped, with a real
// minus sign.
func formatNumber(x float64) string {
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
		s = formatCount(n)
	}
	if s == "0" {
		return "< 0.0001"
	}
	if x < 0 {
		return "−" + s
	}
	return s
}

// formatCount groups thousands.
func formatCount(n int64) string { return humanize.Comma(n) }

// formatValue is a number with its unit, joined by a space that does not break.
func formatValue(x float64, unit string) string {
	if unit == "" {
		return formatWhole(x)
	}
	return formatNumber(x) + "\u00a0" + unit
}

// formatWhole drops the decimals of numbers that have none.
func formatWhole(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return strings.Replace(formatCount(int64(x)), "-", "−", 1)
	}
	return formatNumber(x)
}

// formatMetric is a value of a metric without its unit, as tables show it.
func formatMetric(x float64, m metric.Metric) string {
	if m.Kind == metric.Count {
		return formatWhole(x)
	}
	return formatNumber(x)
}

// formatEffect is a difference with its sign: in percent when relative,
// otherwise in the unit, percentages in points.
func formatEffect(x float64, relative bool, unit string) string {
	sign := ""
	if x > 0 {
		sign = "+"
	}
	switch {
	case relative:
		return sign + trimmed(x*100) + "\u00a0%"
	case unit == "%":
		return sign + trimmed(x) + "\u00a0points"
	case unit == "":
		return sign + formatWhole(x)
	}
	return sign + formatValue(x, unit)
}

// trimmed is a percentage: one decimal below 1,000 unless it is 0, none above.
func trimmed(x float64) string {
	decimals := 1
	if math.Abs(x) >= 999.95 {
		decimals = 0
	}
	s := strings.TrimSuffix(strconv.FormatFloat(math.Abs(x), 'f', decimals, 64), ".0")
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		s = formatCount(n)
	}
	if x < 0 && strings.Trim(s, "0.") != "" {
		return "−" + s
	}
	return s
}

// formatP is a p value: three decimals, and a bound below.
func formatP(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

// formatDuration is a span rounded to what a reader needs.
func formatDuration(d time.Duration) string {
	switch {
	case d < 0:
		return "−" + formatDuration(-d)
	case d == 0:
		return "0 s"
	case d < time.Second:
		return formatWhole(float64(d.Round(time.Millisecond)/time.Millisecond)) + "\u00a0ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "\u00a0s"
	case d < time.Hour:
		d = d.Round(time.Second)
		return strconv.Itoa(int(d/time.Minute)) + "\u00a0min " + strconv.Itoa(int(d%time.Minute/time.Second)) + "\u00a0s"
	}
	d = d.Round(time.Minute)
	return strconv.Itoa(int(d/time.Hour)) + "\u00a0h " + strconv.Itoa(int(d%time.Hour/time.Minute)) + "\u00a0min"
}

func plural(n int, word string) string {
	s := formatCount(int64(n)) + " " + word
	if n != 1 {
		s += "s"
	}
	return s
}

// round keeps three decimals: a specification needs no more.
func round(x float64) float64 { return math.Round(x*1000) / 1000 }
