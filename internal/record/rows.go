// Package record is the raw memory of a run: one SQLite file with everything
// that was planned, done and seen. Collecting and judging are separate acts;
// nothing in here judges.
package record

import "brink/internal/wire"

// FileName is the name of the record in the directory of a run.
const FileName = "record.db"

// Status values of a run and of its repetitions. A run is running, done,
// interrupted or broken; a repetition is running, done, invalid, failed or
// interrupted.
const (
	Running     = "running"
	Done        = "done"
	Interrupted = "interrupted"
	Broken      = "broken"
	Invalid     = "invalid"
	Failed      = "failed"
)

// Run describes the whole run; there is one per record.
type Run struct {
	ID string
	// Brink is the version of the program that wrote the record.
	Brink string
	// Experiment is the experiment's name.
	Experiment string
	// YAML is the experiment's file as it was loaded, overrides applied.
	YAML string
	// Profile, Seed and Host repeat what was asked for; Overrides are the
	// --set arguments.
	Profile   string
	Seed      int64
	Host      string
	Overrides []string
	// Accelerator is none for a host that is not virtual, else kvm or tcg.
	Accelerator string
	StartedNs   int64
	// EndedNs is 0 while the run is going on, or was cut off.
	EndedNs int64
	// Status is running, done, interrupted or broken; Reason says why.
	Status string
	Reason string
}

// Fact is one line of the environment.
type Fact struct{ Name, Value string }

// Requirement is one need that was missed, and what follows from it.
type Requirement struct {
	Need, App, Consequence string
	// Substituted tells that something else took the place of what was missing.
	Substituted bool
}

// Step is one configuration under test.
type Step struct {
	ID      int64
	Ordinal int
	Name    string
	Title   string
	// JSON is the resolved step, as experiment.Step marshals.
	JSON string
}

// Repetition is one independent execution of a step.
type Repetition struct {
	ID     int64
	StepID int64
	// Number counts a step's repetitions from 1; Position is its place in the
	// run's order, from 1.
	Number, Position int
	// Twin marks the second execution of the baseline in the same round.
	Twin bool
	// Phase counts the phases of an intervention from 1, 0 outside one.
	Phase     int
	StartedNs int64
	// TrafficNs is when traffic began, TrafficEndNs when its last answer was in.
	TrafficNs, TrafficEndNs int64
	EndedNs                 int64
	// Status is running, done, invalid, failed or interrupted; Reason says why.
	Status string
	Reason string
	// Limits is the JSON of what was applied of the plan.
	Limits string
}

// App is one deployment of one app in one repetition.
type App struct {
	ID           int64
	RepetitionID int64
	Name         string
	Runtime      string
	// Server names what serves: "gunicorn sync", "brink", "node".
	Server  string
	Addr    string
	Workers int
	// JSON is the resolved app, as experiment.App marshals.
	JSON string
}

// Event, Log and Sample are the wire's, tied to a repetition.
type (
	Event  = wire.Event
	Log    = wire.Log
	Sample = wire.Sample
)

// Stream is one stream of requests in one repetition with its summary.
type Stream struct {
	ID           int64
	RepetitionID int64
	AppID        int64
	Ordinal      int
	// Kind, Method and Path are the traffic's; JSON is the resolved stream.
	Kind, Method, Path string
	JSON               string
	// Scheduled requests were due; Sent were sent. Held tells whether the
	// rate was held; Shortfall is the share that was not sent in time, 0 to 1.
	Scheduled, Sent int64
	Held            bool
	Shortfall       float64
	Note            string
}

// Probe is one request: when it was due, sent, connected, first answered and
// done (Unix ns; 0 where it did not come to that).
type Probe struct {
	Seq                                   int64
	Due, Sent, Connected, FirstByte, Done int64
	Status                                int
	// Outcome is ok, http_4xx, http_5xx, timeout, refused, reset, aborted,
	// canceled or another word of traffic.Outcome.
	Outcome string
	Err     string
	// Pid is the worker that answered, 0 when unknown.
	Pid int32
	// ServedNs is the time that the app says it worked on the request, -1
	// when unknown.
	ServedNs int64
	Bytes    int64
}
