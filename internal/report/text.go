package report

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"brink/internal/metric"
	"brink/internal/phrase"
)

// maxText bounds one app-written string in a report; the record keeps it all.
const maxText = 600

// visible is clean for app-written strings, which may be very long: what
// exceeds maxText is cut, and that is said.
func visible(s string) string {
	n := 0
	for i := range s {
		if n == maxText {
			return clean(s[:i]) + "… (" + phrase.Count(int64(utf8.RuneCountInString(s[i:]))) + " more characters)"
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

// formatValue is a number with its unit, joined by a space that does not break.
func formatValue(x float64, unit string) string {
	if unit == "" {
		return phrase.Whole(x)
	}
	return phrase.Number(x) + "\u00a0" + unit
}

// formatMetric is a value of a metric without its unit, as tables show it.
func formatMetric(x float64, m metric.Metric) string {
	if m.Kind == metric.Count {
		return phrase.Whole(x)
	}
	return phrase.Number(x)
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
		return sign + phrase.Whole(x)
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
		s = phrase.Count(n)
	}
	if x < 0 && strings.Trim(s, "0.") != "" {
		return "−" + s
	}
	return s
}

// round keeps three decimals: a specification needs no more.
func round(x float64) float64 { return math.Round(x*1000) / 1000 }

// formatDuration is a span rounded to what a reader needs.
func formatDuration(d time.Duration) string {
	switch {
	case d < 0:
		return "−" + formatDuration(-d)
	case d == 0:
		return "0 s"
	case d < time.Second:
		return phrase.Whole(float64(d.Round(time.Millisecond)/time.Millisecond)) + "\u00a0ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "\u00a0s"
	case d < time.Hour:
		d = d.Round(time.Second)
		return strconv.Itoa(int(d/time.Minute)) + "\u00a0min " + strconv.Itoa(int(d%time.Minute/time.Second)) + "\u00a0s"
	}
	d = d.Round(time.Minute)
	return strconv.Itoa(int(d/time.Hour)) + "\u00a0h " + strconv.Itoa(int(d%time.Hour/time.Minute)) + "\u00a0min"
}
