// Package experiment is what an experiment is: the types of an experiment
// file, its loading, its checks, its JSON Schema, and its expansion into the
// steps that a lab executes. It knows nothing of hosts or records.
package experiment

import (
	"time"
)

// Type is the kind of question that an experiment answers.
type Type string

const (
	// Config experiments show that a setting has an effect; the same outcome
	// in two repetitions is enough.
	Config Type = "config"
	// Performance experiments compare numbers and need independent
	// repetitions.
	Performance Type = "performance"
	// Hybrid experiments do both.
	Hybrid Type = "hybrid"
)

// Duration is a span of time, written as Go writes it ("1.5s", "2m").
type Duration time.Duration

// Experiment is an experiment after loading and before expansion. Its fields
// stand for the authored sections of the sixteen; the others are generated
// from the record.
type Experiment struct {
	Name        string
	Title       string
	Type        Type
	Question    string
	Why         string
	Symptoms    []string
	Hypotheses  []Hypothesis
	Variables   Variables
	Plan        Plan
	Apps        []App
	Steps       []Step
	Baseline    string
	WarmUp      Duration
	Repetitions int
	Expected    []string
	Takeaways   []string
	Related     []Link
	Reference   *Reference
	Profiles    map[string]Profile
}

// Variables names what is controlled and what is observed (section 6).
type Variables struct {
	Controlled []string
	Observed   []string
}

// Link is a related document (section 16).
type Link struct {
	Title string
	URL   string
}

// Plan is the capacity that apps share.
type Plan struct {
	// CPUs is the number of CPUs that apps may use, 1 to 256; 0 leaves them
	// unlimited.
	CPUs int
	// MemoryMB and SwapMB are in units of 2^20 bytes; 0 leaves them unlimited.
	MemoryMB int
	SwapMB   int
}

// App is one program to deploy.
type App struct {
	// Name is unique within a step and becomes the site name in the Azure views.
	Name string
	// Runtime is flask, node, go or command.
	Runtime string
	// Command is the argument vector for runtime command; the app listens on
	// the address in the environment variable BIND (host) and PORT.
	Command []string
	// WorkerClass is gunicorn's: sync, gthread or gevent.
	WorkerClass string
	Workers     int
	Threads     int
	// Timeout is the worker time-out after which the server's own watchdog
	// kills a worker; 0 switches it off.
	Timeout Duration
	// Backlog is the limit of the accept queue, 1 to 65535.
	Backlog   int
	KeepAlive Duration
	// AllocMB is filled at start, per worker, in units of 2^20 bytes.
	AllocMB int
	Env     map[string]string
	// StartLimit bounds deployed to healthy.
	StartLimit Duration
}

// Step is one configuration under test, fully resolved: no references to
// factors are left in it.
type Step struct {
	// Name is unique: the written name, with the levels of a matrix appended.
	Name    string
	Title   string
	Factors map[string]Level
	Plan    Plan
	Apps    []App
	Traffic []Traffic
	WarmUp  Duration
	// Settle is the pause between the last app's first healthy answer and traffic.
	Settle Duration
	// Ladder names the ladder that the step belongs to, empty outside one;
	// Rung counts from 0.
	Ladder string
	Rung   int
}

// Level is the value of a factor in one step.
type Level struct {
	// Number is the level as a formula sees it: durations in seconds.
	Number float64
	// Text is the level as the file writes it.
	Text string
	// Numeric tells whether Number is meaningful.
	Numeric bool
}

// Traffic is one stream of requests at one app.
type Traffic struct {
	// App is the name of the target; it may be omitted with a single app.
	App string
	// Kind is steady, rate, batch or sequential.
	Kind     string
	Path     string
	Count    int
	Every    Duration
	Rate     float64
	Arrivals string
	Duration Duration
	Stagger  Duration
	Timeout  Duration
	// Reuse keeps connections open between requests.
	Reuse bool
	// Start delays the stream relative to the step's traffic start.
	Start Duration
}

// Hypothesis is a claim of one of the closed forms of METHODOLOGY.md.
type Hypothesis struct {
	ID    string
	Claim string
	Form  Form
	// Metric is the name of a metric of the dictionary.
	Metric string
	// Steps are the steps that the claim is about; their order matters for
	// compare (A then B), trend and cliff.
	Steps []string
	// Config marks a claim about an outcome and not a size: the same outcome
	// in two repetitions measures it.
	Config bool

	// Formula and Tolerance belong to law: the metric equals the formula of
	// the step's factors within the relative tolerance.
	Formula   string
	Tolerance *Margin
	// Effect belongs to compare: the smallest difference that the claim
	// asserts, from the first step to the second.
	Effect *Margin
	// Direction is rise, fall or differ (compare), rise or fall (trend).
	Direction string
	// Margin belongs to equivalent.
	Margin *Margin
	// Factor belongs to trend, cliff and caused_by.
	Factor string
	// Restarts, Within and Unrecovered belong to cascade.
	Restarts    int
	Within      Duration
	Unrecovered Duration
	// On and Off belong to caused_by: the step with the intervention and the
	// one without.
	On, Off string
}

// Form is one of the closed set of claim forms.
type Form string

// The claim forms. METHODOLOGY.md says what decides each.
const (
	Law        Form = "law"
	Compare    Form = "compare"
	Equivalent Form = "equivalent"
	Trend      Form = "trend"
	Cliff      Form = "cliff"
	Cascade    Form = "cascade"
	CausedBy   Form = "caused_by"
)

// Margin is a size of effect: relative for ratio metrics ("10%"), absolute
// in the metric's own unit otherwise ("5 points", "2", "0.5s").
type Margin struct {
	Value float64
	// Relative margins are fractions: 0.1 for "10%".
	Relative bool
	Text     string
}

// Profile scales an experiment.
type Profile struct {
	// Scale multiplies every duration factor and every traffic duration.
	Scale       float64
	Repetitions int
	Title       string
}

// Reference is a published experiment whose claims stand beside ours.
type Reference struct {
	Title  string
	Date   string
	Claims []ReferenceClaim
}

// ReferenceClaim is one published claim with the published numbers.
type ReferenceClaim struct {
	ID   string
	Says string
	// Hypothesis is the id of ours that tests it.
	Hypothesis string
	// Observed is the published figure in Unit.
	Observed *float64
	Unit     string
	// Formula is the claim's own arithmetic over Values; the report computes
	// it and shows how far it is from Observed.
	Formula string
	Values  map[string]float64
	Note    string
}
