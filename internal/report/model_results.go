package report

import (
	"time"

	"brink/internal/metric"
)

// StepResult is the table of one step.
type StepResult struct {
	Step  string `json:"step"`
	Title string `json:"title,omitempty"`
	// Planned and Valid are repetitions: asked for, and fit for use.
	Planned int `json:"planned"`
	Valid   int `json:"valid"`
	// FailurePct is the share of failed requests over all valid repetitions,
	// 0 to 100; nil when no request was sent.
	FailurePct *float64 `json:"failure_pct,omitempty"`
	// Rows should hold the metrics that a hypothesis names first.
	Rows []Row `json:"rows"`
	// Memory tells that the step's plan has a memory of its own.
	Memory bool `json:"memory,omitempty"`
	// Notes say how single rows are to be read. One sentence each.
	Notes []string `json:"notes,omitempty"`
}

// Row is one metric of one step over its repetitions. All numbers are in the
// metric's unit.
type Row struct {
	Metric metric.Metric `json:"metric"`
	// N is the number of repetitions behind the numbers.
	N      int    `json:"n"`
	Median Number `json:"median"`
	// P95 and P99 are over all requests of the step's valid repetitions, for
	// metrics of single requests; nil for all others, which have none. A
	// Number with None "n too small" is for fewer than 60 or 300 requests.
	P95 *Number `json:"p95,omitempty"`
	P99 *Number `json:"p99,omitempty"`
	// Q1, Q3, Min and Max are over repetitions.
	Q1  Number `json:"q1"`
	Q3  Number `json:"q3"`
	Min Number `json:"min"`
	Max Number `json:"max"`
	// Mean is shown only where it exceeds 1.5 times the median, with a note;
	// nil when there is none.
	Mean *float64 `json:"mean,omitempty"`
}

// Number is a value, a bound, or the reason why there is neither.
type Number struct {
	X float64 `json:"x"`
	// AtLeast marks a censored value: it is known only to be X or more.
	AtLeast bool `json:"at_least,omitempty"`
	// None is the reason, short enough for a table cell ("n too small"); X
	// must then not be used.
	None string `json:"none,omitempty"`
}

// NoiseFloor is the difference between the two executions of the baseline.
type NoiseFloor struct {
	// Metric is the metric's name in the dictionary.
	Metric string `json:"metric"`
	Step   string `json:"step"`
	// Difference is the size of the estimated shift, not negative: a fraction
	// when Relative (0.01 is 1 %), otherwise in the metric's unit.
	Difference float64 `json:"difference"`
	Relative   bool    `json:"relative,omitempty"`
	// Still tells that the metric had one and the same value in every execution:
	// the baseline then says nothing about its noise.
	Still bool `json:"still,omitempty"`
	// N is the number of pairs of executions.
	N int `json:"n"`
}

// Failure is one kind of failed request in one step.
type Failure struct {
	Step string `json:"step"`
	// Outcome is a word of traffic's: timeout, refused, reset, aborted, ...
	Outcome string `json:"outcome"`
	Count   int64  `json:"count"`
	// Example is the text of one such error, app-written.
	Example string `json:"example,omitempty"`
}

// Mode is a way in which plans broke, found in the record alone.
type Mode struct {
	// Kind is its name, such as "capacity cliff"; Found says by what it is told.
	Kind  string `json:"kind"`
	Found string `json:"found"`
	// Seen are the places in which it showed; empty where it did not.
	Seen []Sighting `json:"seen,omitempty"`
}

// Sighting is one place in which a mode showed.
type Sighting struct {
	Steps []string `json:"steps"`
	// N is how many usable repetitions each of the steps has at least.
	N int `json:"n"`
	// Says is what was seen, with its numbers.
	Says string `json:"says"`
}

// DeployPair is two steps that differ in how their apps are deployed and in
// nothing else, with medians.
type DeployPair struct {
	Zip       string        `json:"zip"`
	Container string        `json:"container"`
	Values    []PairedValue `json:"values"`
}

// PairedValue is one metric of both.
type PairedValue struct {
	Metric metric.Metric `json:"metric"`
	// Head is a short title.
	Head      string `json:"head"`
	Zip       Number `json:"zip"`
	Container Number `json:"container"`
}

// Event is something that happened to an app and that a reader should see:
// starts, exits, kills, restarts. App and Detail are app-written.
type Event struct {
	Step   string `json:"step"`
	Number int    `json:"number"`
	// Twin marks the second execution of the baseline.
	Twin bool   `json:"twin,omitempty"`
	App  string `json:"app"`
	// At counts from the start of traffic and is negative before it; it counts
	// from the start of the repetition where traffic never began. Nanoseconds in
	// JSON.
	At time.Duration `json:"at_ns"`
	// Kind is the record's, in words: "worker killed".
	Kind   string `json:"kind"`
	Detail string `json:"detail,omitempty"`
}

// LogLine is a line that an app wrote. App and Line are app-written.
type LogLine struct {
	Step string `json:"step"`
	App  string `json:"app"`
	// Stream is stdout or stderr.
	Stream string `json:"stream"`
	Line   string `json:"line"`
	// Count is how often the line was written in this step, at least 1.
	Count int64 `json:"count"`
}
