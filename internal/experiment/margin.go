package experiment

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"brink/internal/metric"
)

// ParseMargin reads a size of effect for a metric: a percentage for ratio
// metrics ("10%"), points or the metric's own unit for points metrics
// ("5 points", "0.5s"), a plain number for counts ("2"). Value is then in the
// metric's unit, or a fraction when Relative.
func ParseMargin(text string, m metric.Metric) (Margin, error) {
	out := Margin{Text: text}
	var err error
	switch m.Kind {
	case metric.Ratio:
		number, ok := strings.CutSuffix(text, "%")
		out.Relative = true
		if out.Value, err = parsePositive(number); err != nil || !ok {
			return Margin{}, fmt.Errorf("%s does not fit %s, which is compared by ratio; write a percentage such as \"10%%\"", quote(text), m.Name)
		}
		// Divided as text, so that "10%" is the same number as 0.1.
		out.Value /= 100
	case metric.Count:
		if out.Value, err = parsePositive(text); err != nil {
			return Margin{}, fmt.Errorf("%s does not fit %s, which is a count; write a plain number such as 2", quote(text), m.Name)
		}
	default:
		if out.Value, err = parsePoints(text, m.Unit); err != nil {
			return Margin{}, fmt.Errorf("%s does not fit %s, whose differences are in %s; write %s", quote(text), m.Name, pointsUnit(m.Unit), pointsExample(m.Unit))
		}
	}
	return out, nil
}

func pointsUnit(unit string) string {
	if unit == "%" {
		return "points"
	}
	return unit
}

func pointsExample(unit string) string {
	if unit == "%" {
		return `a number of points such as "5 points"`
	}
	if span, ok := spans[unit]; ok && span < time.Minute {
		return `a duration such as "0.5s" or "20ms"`
	}
	return fmt.Sprintf("a number of them such as \"2 %s\"", unit)
}

// spans are the units of time.
var spans = map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "min": time.Minute}

func parsePoints(text, unit string) (float64, error) {
	if unit == "%" {
		number, ok := strings.CutSuffix(text, "points")
		if !ok {
			number, ok = strings.CutSuffix(text, "point")
		}
		if !ok {
			return 0, strconv.ErrSyntax
		}
		return parsePositive(number)
	}
	if number, ok := strings.CutSuffix(text, unit); ok && (spans[unit] == 0 || spans[unit] == time.Minute) {
		return parsePositive(number)
	}
	span, err := time.ParseDuration(strings.ReplaceAll(text, " ", ""))
	if err != nil || span < 0 || spans[unit] == 0 {
		return 0, strconv.ErrSyntax
	}
	return float64(span) / float64(spans[unit]), nil
}

// parsePositive reads a finite number of at least 0.
func parsePositive(text string) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) || x < 0 {
		return 0, strconv.ErrSyntax
	}
	return x, nil
}
