package metric

import (
	"slices"
	"strings"
	"testing"
)

func TestDictionaryIsSortedAndEachNameStandsOnce(t *testing.T) {
	names := Names()
	if !slices.IsSorted(names) {
		t.Errorf("the dictionary is not sorted: %v", names)
	}
	if u := slices.Compact(slices.Clone(names)); len(u) != len(names) {
		t.Errorf("%d names, %d different ones", len(names), len(u))
	}
}

func TestNamesRepeatTheirUnit(t *testing.T) {
	suffixes := map[string]string{"s": "_s", "ms": "_ms", "min": "_min", "MB": "_mb", "%": "_pct", "1/s": "_per_s", "×": "", "requests": "", "": ""}
	for _, m := range All() {
		want, known := suffixes[m.Unit]
		if !known {
			t.Errorf("%s has the unit %q, which no suffix stands for", m.Name, m.Unit)
			continue
		}
		if !strings.HasSuffix(m.Name, want) {
			t.Errorf("%s has the unit %q and does not end in %s", m.Name, m.Unit, want)
		}
		if (m.Kind == Count) != (m.Unit == "") {
			t.Errorf("%s: a count has no unit and nothing else is without one", m.Name)
		}
		if m.Title == "" || m.Source == "" {
			t.Errorf("%s lacks a title or a source", m.Name)
		}
	}
}

func TestPercentagesAreNeverRatios(t *testing.T) {
	for _, m := range All() {
		if m.Unit == "%" && m.Kind != Points {
			t.Errorf("%s is a percentage of kind %s: differences of percentages are points", m.Name, m.Kind)
		}
	}
}

func TestLookup(t *testing.T) {
	for _, m := range All() {
		if got, ok := Lookup(m.Name); !ok || got != m {
			t.Errorf("Lookup(%q) = %v, %v", m.Name, got, ok)
		}
	}
	for _, name := range []string{"", "cpu", "zzz", "latency_p50"} {
		if m, ok := Lookup(name); ok {
			t.Errorf("Lookup(%q) found %s", name, m.Name)
		}
	}
}
