// Package metric is the dictionary of everything that brink measures: each
// name stands once, with its unit and the way in which differences of it are
// expressed. How a metric is computed is measure's business.
package metric

import "sort"

// Kind says how a difference of a metric is expressed and tested.
type Kind string

const (
	// Ratio metrics are positive and compared by quotients, on logarithms:
	// times, sizes, rates.
	Ratio Kind = "ratio"
	// Points metrics are percentages or sit near zero; their differences are
	// expressed in points of their own unit.
	Points Kind = "points"
	// Count metrics are whole numbers of things or events; differences are
	// expressed in counts.
	Count Kind = "count"
)

// Metric is one entry of the dictionary.
type Metric struct {
	// Name is the metric's identity in experiment files, records and output.
	// A trailing _s, _ms, _min, _mb, _pct or _per_s repeats the unit.
	Name string `json:"name"`
	// Title is a short human name without the unit.
	Title string `json:"title"`
	// Unit is "s", "ms", "min", "MB" (2^20 bytes), "%", "1/s", "requests" for a
	// mean length of a queue, "×" for a quotient of two metrics, or "" for counts.
	Unit string `json:"unit"`
	Kind Kind   `json:"kind"`
	// Source says where the number comes from: probes, samples or events,
	// with the kernel file where there is one.
	Source string `json:"source"`
	// Azure is the name of the corresponding Azure Monitor metric or log
	// column, empty where there is none.
	Azure string `json:"azure,omitempty"`
}

// Lookup returns the metric of that name.
func Lookup(name string) (Metric, bool) {
	i := sort.Search(len(dictionary), func(i int) bool { return dictionary[i].Name >= name })
	if i < len(dictionary) && dictionary[i].Name == name {
		return dictionary[i], true
	}
	return Metric{}, false
}

// All returns the dictionary, sorted by name. The caller owns the slice.
func All() []Metric { return append([]Metric(nil), dictionary...) }

// Names returns all names, sorted.
func Names() []string {
	names := make([]string, len(dictionary))
	for i, m := range dictionary {
		names[i] = m.Name
	}
	return names
}
