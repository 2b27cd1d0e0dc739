package compare

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"brink/internal/metric"
	"brink/internal/phrase"
	"brink/internal/verdict"
)

// sentence states a row so that it can be forwarded alone.
func sentence(c *Comparison, p Pair, r Row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s in %s (n = %d), %s in %s (n = %d)", r.Metric.Title,
		medianText(r.A, r.Metric), c.A.label(p.StepA), r.A.N, medianText(r.B, r.Metric), c.B.label(p.StepB), r.B.N)
	if r.Effect != nil {
		b.WriteString("; a change of " + r.changeText())
		if iv := r.intervalText(); iv != "" {
			fmt.Fprintf(&b, " [%s with %s %% confidence]", strings.TrimSpace(iv+" "+r.effectUnit()), digits(100*r.Confidence))
		}
		if r.Word != "" {
			b.WriteString(", which is " + r.Word)
		}
	}
	if r.P == nil {
		return b.String() + ". One repetition on a side allows description and no test."
	}
	fmt.Fprintf(&b, " (U = %s, %s; %s after Holm's correction for %s). ", digits(*r.U), phrase.Equation("p", *r.P), phrase.P(*r.PHolm), phrase.Plural(c.Tests, "test"))
	return b.String() + r.conclusion(c)
}

// conclusion says how far a row's numbers carry.
func (r Row) conclusion(c *Comparison) string {
	size := strings.Replace(r.Smallest, "%", " %", 1)
	if r.Smallest == "" {
		return "No smallest effect is declared for it, so it has no level."
	}
	switch r.Outcome {
	case verdict.Supported:
		text := fmt.Sprintf("A difference of at least %s is %s", size, r.Level)
		if !c.Interleaved && r.Level == verdict.StronglySuggested {
			text += ", and cannot be more: the repetitions of the two were not interleaved"
		}
		return text + "."
	case verdict.NotSupported:
		return fmt.Sprintf("A difference of %s or more was looked for and not found (Not Proven): all that these repetitions allow is smaller.", size)
	}
	return fmt.Sprintf("Whether they differ by %s or more cannot be told from this (%s).", size, r.Level)
}

func spreadSentence(m metric.Metric, s Spread) string {
	text := fmt.Sprintf("The spread of latency within repetitions (interquartile range) was %s in A and %s in B", medianText(s.A, m), medianText(s.B, m))
	if s.Effect != nil {
		text += ": " + signed(100**s.Effect) + " %"
	}
	return text + fmt.Sprintf(" (U = %s, %s, outside the correction).", digits(s.U), phrase.Equation("p", s.P))
}

func medianText(s Summary, m metric.Metric) string {
	text := digits(s.Median)
	if m.Unit != "" {
		text += " " + m.Unit
	}
	if s.AtLeast {
		return "at least " + text
	}
	return text
}

// changeText is the effect with its unit.
func (r Row) changeText() string {
	if r.Effect == nil {
		return "unknown"
	}
	x := *r.Effect
	if r.Relative {
		x *= 100
	}
	text := strings.TrimSpace(signed(x) + " " + r.effectUnit())
	if r.Bound != "" {
		return r.Bound + " " + text
	}
	return text
}

// effectUnit is what a change is counted in.
func (r Row) effectUnit() string {
	switch {
	case r.Relative:
		return "%"
	case r.Metric.Unit == "%":
		return "points"
	}
	return r.Metric.Unit
}

// intervalText is the effect's interval without its unit, or empty.
func (r Row) intervalText() string {
	scale := 1.0
	if r.Relative {
		scale = 100
	}
	switch {
	case r.Lo != nil && r.Hi != nil:
		return signed(scale**r.Lo) + " to " + signed(scale**r.Hi)
	case r.Lo != nil:
		return "at least " + signed(scale**r.Lo)
	case r.Hi != nil:
		return "at most " + signed(scale**r.Hi)
	}
	return ""
}

// intervalText is the median's interval without its unit, or empty.
func (s Summary) intervalText() string {
	switch {
	case s.Lo != nil && s.Hi != nil:
		return digits(*s.Lo) + " to " + digits(*s.Hi)
	case s.Lo != nil:
		return "at least " + digits(*s.Lo)
	}
	return ""
}

// digits prints three significant digits, and whole numbers in full.
func digits(x float64) string {
	text := strconv.FormatFloat(math.Abs(x), 'f', max(0, 2-exponent(x)), 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	if x < 0 && text != "0" {
		return "−" + text
	}
	return text
}

// exponent is the power of ten of the first digit, after rounding to three.
func exponent(x float64) int {
	_, e, _ := strings.Cut(strconv.FormatFloat(math.Abs(x), 'e', 2, 64), "e")
	n, _ := strconv.Atoi(e) // FormatFloat's own exponent
	return max(n, -9)
}

func signed(x float64) string {
	text := digits(x)
	if x > 0 && text != "0" {
		return "+" + text
	}
	return text
}
