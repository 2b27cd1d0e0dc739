package doctor

import (
	"math"
	"strconv"
	"strings"

	"brink/internal/evidence"
	"brink/internal/phrase"
)

// Show writes a value as sentences do, with its unit.
func Show(v evidence.Value) string {
	unit, per, _ := strings.Cut(string(v.Unit), "/")
	if per != "" {
		per = "/" + per
	}
	switch evidence.Unit(unit) {
	case evidence.Bytes:
		return size(v.Number) + per
	case evidence.Percent:
		return decimals(v.Number) + " %" + per
	case evidence.Micros:
		return micros(v.Number) + per
	case evidence.Millis:
		return decimals(v.Number) + " ms" + per
	case evidence.Seconds:
		return seconds(v.Number) + per
	case evidence.Events:
		if per != "" {
			return decimals(v.Number) + per
		}
		return phrase.Whole(v.Number)
	case evidence.NoUnit:
		if v.Number == math.Trunc(v.Number) {
			return strconv.FormatFloat(v.Number, 'f', 0, 64) // a port, a pid, a code
		}
		return decimals(v.Number)
	}
	if v.Number >= 10 {
		return phrase.Count(int64(math.Round(v.Number))) + " " + unit + per
	}
	return decimals(v.Number) + " " + unit + per
}

// size writes bytes; up to 10 GiB in MiB, so that two figures compare at a
// glance.
func size(n float64) string {
	switch {
	case n >= 10<<30:
		return decimals(n/(1<<30)) + " GiB"
	case n >= 1<<20:
		return phrase.Count(int64(math.Round(n/(1<<20)))) + " MiB"
	case n >= 1<<10:
		return decimals(n/(1<<10)) + " KiB"
	}
	return phrase.Whole(n) + " bytes"
}

// seconds writes a length of time: in hours from two of them on, in days from two
// days on.
func seconds(n float64) string {
	switch {
	case n >= 2*86400:
		return decimals(n/86400) + " days"
	case n >= 2*3600:
		return decimals(n/3600) + " h"
	}
	return decimals(n) + " s"
}

// micros writes microseconds.
func micros(n float64) string {
	switch {
	case n >= 1e6:
		return decimals(n/1e6) + " s"
	case n >= 1e3:
		return decimals(n/1e3) + " ms"
	}
	return decimals(n) + " µs"
}

// decimals gives one decimal above 1, two digits below, and none where there
// are none.
func decimals(x float64) string {
	switch a := math.Abs(x); {
	case a >= 1000:
		return phrase.Count(int64(math.Round(x)))
	case a >= 1:
		return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
	case x == 0:
		return "0"
	case a < 0.001:
		return "< 0.001"
	}
	return strconv.FormatFloat(x, 'g', 2, 64)
}
