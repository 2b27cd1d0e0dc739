package experiment

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Test says in words how the hypothesis is decided.
func (h Hypothesis) Test() string {
	steps := strings.Join(h.Steps, ", ")
	switch h.Form {
	case Law:
		return fmt.Sprintf("%s = %s, within %s, in %s", h.Metric, h.Formula, marginText(h.Tolerance), steps)
	case Compare:
		return fmt.Sprintf("%s: %s by at least %s from %s to %s", h.Metric, directionText(h.Direction), marginText(h.Effect), h.Steps[0], h.Steps[1])
	case Equivalent:
		if h.Factor != "" {
			return fmt.Sprintf("%s differs by no more than %s between steps of %s that differ in %s alone", h.Metric, marginText(h.Margin), steps, h.Factor)
		}
		return fmt.Sprintf("%s differs by no more than %s between any two of %s", h.Metric, marginText(h.Margin), steps)
	case Trend:
		return fmt.Sprintf("%s: %s over %s, in %s", h.Metric, directionText(h.Direction), h.Factor, steps)
	case Cliff:
		return fmt.Sprintf("%s changes between two neighbours of %s", h.Metric, steps)
	case Cascade:
		return fmt.Sprintf("%d or more apps restart within %s and are not all back for %s, in %s", h.Restarts, h.Within, h.Unrecovered, steps)
	case CausedBy:
		return fmt.Sprintf("%s: %s by at least %s when %s is switched to %s and back", h.Metric, directionText(h.Direction), marginText(h.Effect), h.Off, h.On)
	}
	return string(h.Form)
}

func directionText(d string) string {
	if d == "" {
		return "differ"
	}
	return d
}

func marginText(m *Margin) string {
	if m == nil {
		return "the default of 10%"
	}
	return m.Text
}

// Agrees tells whether a measured value lies within a law's tolerance of the
// value that its formula gives.
func (h Hypothesis) Agrees(measured, expected float64) bool {
	size := h.Tolerance.Value
	if h.Tolerance.Relative {
		size *= math.Abs(expected)
	}
	return math.Abs(measured-expected) <= size*(1+1e-9)
}

var identifier = expression(`[A-Za-z_][A-Za-z0-9_]*`)

// FormulaText is the claim's formula with its values filled in.
func (c ReferenceClaim) FormulaText() string {
	return identifier().ReplaceAllStringFunc(c.Formula, func(name string) string {
		v, ok := c.Values[name]
		if !ok {
			return name
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	})
}
