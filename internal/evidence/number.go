package evidence

import (
	"math"
	"strconv"
	"strings"
)

// parsedNumber makes a value of a number as a file has it.
func parsedNumber(text string, unit Unit, from Source) Value {
	clean := strings.TrimSpace(text)
	if clean == "" {
		return Missing(Absent, "it is empty", from)
	}
	x, err := strconv.ParseFloat(clean, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return Missing(Unreadable, strconv.Quote(shorten(clean))+" is no number", from)
	}
	return Known(x, unit, from)
}

// sizes are the suffixes of amounts of memory. Kubernetes and docker have both
// kinds.
var sizes = []struct {
	suffix string
	factor float64
}{
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40},
	{"kB", 1 << 10}, {"KB", 1 << 10}, {"MB", 1 << 20}, {"GB", 1 << 30},
	{"k", 1e3}, {"K", 1 << 10}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"B", 1},
}

// parsedSize reads an amount of memory: "512Mi", "1.5Gi", "65536".
func parsedSize(text string, from Source) Value {
	clean := strings.TrimSpace(text)
	for _, s := range sizes {
		if number, ok := strings.CutSuffix(clean, s.suffix); ok {
			return parsedNumber(number, Bytes, from).Times(s.factor, Bytes)
		}
	}
	return parsedNumber(clean, Bytes, from)
}

// parsedCPUs reads an amount of CPU: "200m", "0.5".
func parsedCPUs(text string, from Source) Value {
	if number, ok := strings.CutSuffix(strings.TrimSpace(text), "m"); ok {
		return parsedNumber(number, NoUnit, from).Times(1e-3, NoUnit)
	}
	return parsedNumber(text, NoUnit, from)
}
