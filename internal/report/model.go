// Package report turns what a run showed into a document that can be
// forwarded: Markdown, and one HTML file that opens offline. It draws and
// words. Numbers come from measure and verdict through a Model; the only ones
// that it adds are those that describe the points of a picture.
package report

import (
	"encoding/json"
	"time"

	"brink/internal/verdict"
)

// Model is everything that a report says, already measured and judged. It is
// self-contained and serialisable: rendering needs nothing else, and its size
// depends on the number of steps, metrics and repetitions, never on the
// number of requests or samples.
//
// Strings are plain text. In authored and generated prose a pair of backticks
// marks code; nothing else is interpreted. Fields marked "app-written" may
// hold anything at all: both renderers show them as code, with control
// characters made visible.
type Model struct {
	// Title is the experiment's title, one line.
	Title string `json:"title"`
	Run   Run    `json:"run"`
	// Notices are shown before everything else, in this order: substitutions,
	// a run that was cut off or interrupted, an accelerator that slows.
	Notices []Notice `json:"notices,omitempty"`

	// Sections 1 to 4, from the experiment's file. Hypotheses stand in the
	// file's order.
	Question   string       `json:"question"`
	Why        string       `json:"why,omitempty"`
	Symptoms   []string     `json:"symptoms,omitempty"`
	Hypotheses []Hypothesis `json:"hypotheses,omitempty"`
	// LeftOut are the hypotheses that the run's profile does not test, and
	// LeftOutSteps the steps that it does not execute.
	LeftOut      []LeftOut `json:"left_out,omitempty"`
	LeftOutSteps []string  `json:"left_out_steps,omitempty"`
	// Extent is how much of its design the run has executed.
	Extent Extent `json:"extent"`

	// Section 5, from the record: versions and the machine, what was needed
	// and not there, and what held of the plan.
	Environment []Fact   `json:"environment,omitempty"`
	Missed      []Missed `json:"missed,omitempty"`
	Limits      []Limit  `json:"limits,omitempty"`
	// Emulation says what of the results is a property of the emulation and not
	// of the platform that it stands in for. One sentence each.
	Emulation []string `json:"emulation,omitempty"`

	// Section 6, from the file. Type is config, performance or hybrid.
	Type       string   `json:"type,omitempty"`
	Controlled []string `json:"controlled,omitempty"`
	Observed   []string `json:"observed,omitempty"`

	// Section 7: every signal that was asked for, read or not.
	Signals []Signal `json:"signals,omitempty"`

	// Section 8: the repetitions in the order in which they ran.
	Procedure []Execution `json:"procedure,omitempty"`

	// Section 9, from the file.
	Expected []string `json:"expected,omitempty"`

	// Section 10. Results stand in the order of the steps; those that were not
	// executed have none. Modes are the ways in which plans broke; nil where no
	// plan has a memory of its own.
	Results []StepResult `json:"results,omitempty"`
	Modes   []Mode       `json:"modes,omitempty"`
	// DeployPairs are steps that differ in how their apps are deployed alone.
	DeployPairs []DeployPair `json:"deploy_pairs,omitempty"`
	NoiseFloor  []NoiseFloor `json:"noise_floor,omitempty"`
	// Verdicts stand in the order of Hypotheses.
	Verdicts []verdict.Verdict `json:"verdicts,omitempty"`
	Failures []Failure         `json:"failures,omitempty"`
	Events   []Event           `json:"events,omitempty"`
	Logs     []LogLine         `json:"logs,omitempty"`
	// OmittedEvents and OmittedLogs are how many more the record holds.
	OmittedEvents int64      `json:"omitted_events,omitempty"`
	OmittedLogs   int64      `json:"omitted_logs,omitempty"`
	Reference     *Reference `json:"reference,omitempty"`
	// Exclusions are the rules that acted on the data: the warm-up boundary,
	// excluded repetitions with the reason. One sentence each.
	Exclusions []string `json:"exclusions,omitempty"`

	// Sections 11 to 13, generated from the verdicts and the record.
	Interpretation []Statement `json:"interpretation,omitempty"`
	Proves         []Statement `json:"proves,omitempty"`
	DoesNotProve   []Statement `json:"does_not_prove,omitempty"`

	// Section 14: Takeaways are from the file, Takeaway is computed; nil where
	// the experiment gives nothing to compute.
	Takeaways []string  `json:"takeaways,omitempty"`
	Takeaway  *Takeaway `json:"takeaway,omitempty"`

	// Section 15, from the record.
	Reproduction Reproduction `json:"reproduction"`

	// Section 16, from the file.
	Related []Link `json:"related,omitempty"`

	// Charts stand in their section in this order. Lead is the ID of the one
	// on the first screen; empty or unknown means the first chart.
	Charts []Chart `json:"charts,omitempty"`
	Lead   string  `json:"lead,omitempty"`
}

// Run identifies the run.
type Run struct {
	ID         string `json:"id"`
	Experiment string `json:"experiment"`
	// Brink is the version of the program that wrote the record.
	Brink   string `json:"brink"`
	Profile string `json:"profile"`
	Seed    int64  `json:"seed"`
	Host    string `json:"host"`
	// Accelerator is "none", "kvm" or "tcg"; SpeedFactor is how many times
	// slower than the machine itself the host ran, 0 when not measured.
	Accelerator string    `json:"accelerator"`
	SpeedFactor float64   `json:"speed_factor,omitempty"`
	Started     time.Time `json:"started"`
	// Duration is from the start to the end, or to the last row of a record
	// that was cut off. Nanoseconds in JSON.
	Duration time.Duration `json:"duration_ns"`
	// Status is running (the record was cut off), done, interrupted or broken;
	// Reason says why and is app-written.
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
	// Resumed are the times at which the run was taken up again after it had
	// ended early, in their order.
	Resumed []Resumption `json:"resumed,omitempty"`
}

// Resumption is one time that a run was taken up again.
type Resumption struct {
	At time.Time `json:"at"`
	// Brink is the version of the program that took it up.
	Brink string `json:"brink"`
	// Status is how the run had ended before, interrupted or broken; Reason says
	// why and is app-written.
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// LeftOut is a hypothesis that a profile does not test.
type LeftOut struct {
	ID    string `json:"id"`
	Claim string `json:"claim"`
	// Why is a clause such as "step s1-go is not in profile quick".
	Why string `json:"why"`
}

// Extent is how much of a design a run has executed: steps with a repetition
// that came to its end, and such repetitions, second executions of the baseline
// not counted.
type Extent struct {
	Steps           int `json:"steps"`
	Repetitions     int `json:"repetitions"`
	DoneSteps       int `json:"done_steps"`
	DoneRepetitions int `json:"done_repetitions"`
	// Waiting are the names of the steps that were not executed, in the order of
	// the file.
	Waiting []string `json:"waiting,omitempty"`
}

// Notice is something that a reader must know before the first number.
type Notice struct {
	// Kind is "substitute", "override", "cut-off", "interrupted", "broken",
	// "resumed" or "accelerator".
	Kind string `json:"kind"`
	// Text is one whole sentence, such as "gunicorn was not there; the
	// built-in Go server took its place."
	Text string `json:"text"`
}

// Hypothesis is one claim as it was written down before the run.
type Hypothesis struct {
	ID    string `json:"id"`
	Claim string `json:"claim"`
	// Form is the claim form's name; Test is how it is decided, in words that
	// hold the formula, the steps, and the margin or tolerance.
	Form string `json:"form"`
	Test string `json:"test"`
}

// Fact is one line of the environment. Value is app-written.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Missed is a requirement that was not met. App is empty for the plan.
type Missed struct {
	Need        string `json:"need"`
	App         string `json:"app,omitempty"`
	Consequence string `json:"consequence"`
}

// Limit is one part of the plan. How says by what means it held, or why not.
type Limit struct {
	Name    string `json:"name"`
	Wanted  string `json:"wanted"`
	Applied bool   `json:"applied"`
	How     string `json:"how,omitempty"`
	// Steps are those whose plans have it, empty for all of them.
	Steps []string `json:"steps,omitempty"`
}

// Signal is one thing that was observed, or should have been.
type Signal struct {
	Name string `json:"name"`
	// Source is where it comes from: a kernel file, the probes, events.
	Source string `json:"source"`
	// Every is the time between two readings, 0 for a signal that comes with
	// each request or event. Nanoseconds in JSON.
	Every time.Duration `json:"every_ns,omitempty"`
	// Read tells whether it could be read; Reason says why not.
	Read   bool   `json:"read"`
	Reason string `json:"reason,omitempty"`
}

// Execution is one repetition as it happened.
type Execution struct {
	// Position is the place in the run's order, from 1.
	Position int    `json:"position"`
	Step     string `json:"step"`
	// Number counts the step's repetitions from 1; Twin marks the second
	// execution of the baseline.
	Number int  `json:"number"`
	Twin   bool `json:"twin,omitempty"`
	// Phase counts the phases of an intervention from 1, 0 outside one.
	Phase int `json:"phase,omitempty"`
	// Start counts from the start of the run, Duration from Start; both are
	// nanoseconds in JSON. Duration is 0 when the repetition did not end.
	Start    time.Duration `json:"start_ns"`
	Duration time.Duration `json:"duration_ns,omitempty"`
	// Status is running, done, invalid, failed or interrupted; Reason says
	// why and is app-written.
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// Statement is one generated line of sections 11 to 13.
type Statement struct {
	// Level is empty for a line that is no claim: a missed requirement, say.
	Level verdict.Level `json:"level,omitempty"`
	// Outcome is that of the verdict that the line is about, empty for none.
	Outcome verdict.Outcome `json:"outcome,omitempty"`
	// Hypothesis is the ID that the line comes from, empty for none.
	Hypothesis string `json:"hypothesis,omitempty"`
	Text       string `json:"text"`
}

// Reference is a published experiment whose claims stand beside ours.
type Reference struct {
	Title  string           `json:"title"`
	Date   string           `json:"date,omitempty"`
	Claims []ReferenceClaim `json:"claims"`
	// Figures are published figures, step by step, in the order in which they
	// stand in their tables.
	Figures []ReferenceFigure `json:"figures,omitempty"`
}

// ReferenceClaim is one published claim, recomputed.
type ReferenceClaim struct {
	ID string `json:"id"`
	// Says is the claim in our words.
	Says string `json:"says"`
	// Published is the figure that was published, in Unit.
	Published *float64 `json:"published,omitempty"`
	Unit      string   `json:"unit,omitempty"`
	// Formula is the claim's own arithmetic with its numbers filled in, such
	// as "(5 + 1) × 5 / 4"; Computed is what it gives, in Unit.
	Formula  string   `json:"formula,omitempty"`
	Computed *float64 `json:"computed,omitempty"`
	// Deviation is (Published - Computed) / Computed, a fraction; nil where
	// one of the two is missing or Computed is 0.
	Deviation *float64 `json:"deviation,omitempty"`
	// Level is what the published repetitions allow, empty when not assessed.
	Level verdict.Level `json:"level,omitempty"`
	// Hypothesis is the ID of ours that tests it, empty for none: its outcome,
	// level and sentence are shown from Verdicts.
	Hypothesis string `json:"hypothesis,omitempty"`
	Note       string `json:"note,omitempty"`
}

// Reproduction says how to do it again.
type Reproduction struct {
	// Command is the exact command line, seed and overrides included.
	Command string `json:"command"`
	// Notes are further sentences: scaled durations, where the record lies.
	Notes []string `json:"notes,omitempty"`
	// Versions are the versions that matter for doing it again.
	Versions []Fact `json:"versions,omitempty"`
}

// Link is a related document. Only http and https addresses become links.
type Link struct {
	Title string `json:"title"`
	URL   string `json:"url"`
}

// Chart is one picture with its words and its numbers. The builders in this
// package make them: RequestBars, Staircase, Predicted, Boxes, TimeSeries,
// Effects and Ladder.
type Chart struct {
	// ID is unique in the model: letters, digits and dashes.
	ID    string `json:"id"`
	Title string `json:"title"`
	// Alt says in one or two sentences with numbers what the picture shows.
	Alt string `json:"alt"`
	// Note is printed below the picture: what was cut, say.
	Note string `json:"note,omitempty"`
	// Section is the section in which it stands, 1 to 16. Beside names the step, or
	// the table of published figures, with which it stands in section 10; others
	// stand at the head of their section.
	Section int    `json:"section"`
	Beside  string `json:"beside,omitempty"`
	// Spec is a Vega-Lite specification without colours: the renderers give
	// it the theme.
	Spec json.RawMessage `json:"spec"`
	// Table holds the picture's numbers for readers who cannot see it.
	Table Table `json:"table"`
}

// Table is a small table of text; every row has as many cells as Columns.
// Cells are app-written.
type Table struct {
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}
