// Package experiment is what an experiment is: the types of an experiment
// file, its loading, its checks, its JSON Schema, and its expansion into the
// steps that a lab executes. It knows nothing of hosts or records.
package experiment

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

// Experiment is an experiment after loading and before expansion. Its fields
// stand for the authored sections of the sixteen; the others are generated
// from the record. Plan and Apps are what steps start from: a value there that
// refers to a factor is zero here and resolved in the steps. Steps are the
// resolved steps at scale 1; Expand gives those of a profile.
type Experiment struct {
	Name       string       `json:"name,omitempty"`
	Title      string       `json:"title,omitempty"`
	Type       Type         `json:"type,omitempty"`
	Question   string       `json:"question,omitempty"`
	Why        string       `json:"why,omitempty"`
	Symptoms   []string     `json:"symptoms,omitempty"`
	Hypotheses []Hypothesis `json:"hypotheses,omitempty"`
	Variables  Variables    `json:"variables,omitempty"`
	Plan       Plan         `json:"plan,omitempty"`
	Apps       []App        `json:"apps,omitempty"`
	Steps      []Step       `json:"steps,omitempty"`
	Baseline   string       `json:"baseline,omitempty"`
	// Calibration is the gate of threshold claims, nil without one.
	Calibration *Calibration `json:"calibration,omitempty"`
	WarmUp      Duration     `json:"warm_up,omitempty"`
	// Settle and WashOut hold for the steps that have none of their own.
	Settle  Duration `json:"settle,omitempty"`
	WashOut Duration `json:"wash_out,omitempty"`
	// Sampling is the interval at which the kernel is read.
	Sampling    Duration           `json:"sampling,omitempty"`
	Repetitions int                `json:"repetitions,omitempty"`
	Expected    []string           `json:"expected,omitempty"`
	Takeaways   []string           `json:"takeaways,omitempty"`
	Related     []Link             `json:"related,omitempty"`
	Reference   *Reference         `json:"reference,omitempty"`
	Profiles    map[string]Profile `json:"profiles,omitempty"`

	source *source
}

// Variables names what is controlled and what is observed (section 6).
type Variables struct {
	Controlled []string `json:"controlled,omitempty"`
	Observed   []string `json:"observed,omitempty"`
}

// Calibration is a band that one step's metric must hit for the experiment's
// thresholds to mean anything.
type Calibration struct {
	Step   string `json:"step,omitempty"`
	Metric string `json:"metric,omitempty"`
	// Low and High bound the median over the repetitions, in the metric's unit.
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
}

// Link is a related document (section 16).
type Link struct {
	Title string `json:"title,omitempty"`
	URL   string `json:"url,omitempty"`
}

// App is one program to deploy.
type App struct {
	// Name is unique within a step and becomes the site name in the Azure views.
	Name string `json:"name,omitempty"`
	// Copies deploys that many alike apps, named NAME-1, NAME-2 and so on. It
	// belongs to the file: a resolved step lists each copy, with 0 here.
	Copies int `json:"copies,omitempty"`
	// Runtime is flask, asgi, node, go or command.
	Runtime string `json:"runtime,omitempty"`
	// Command is the argument vector for runtime command; the app listens on
	// the address in the environment variable BIND (host) and PORT.
	Command []string `json:"command,omitempty"`
	// WorkerClass is gunicorn's: sync, gthread or gevent.
	WorkerClass string `json:"worker_class,omitempty"`
	Workers     int    `json:"workers,omitempty"`
	Threads     int    `json:"threads,omitempty"`
	// Timeout is the worker time-out after which the server's own watchdog
	// kills a worker; 0 switches it off.
	Timeout Duration `json:"timeout,omitempty"`
	// Backlog is the limit of the accept queue, 1 to 65535.
	Backlog   int      `json:"backlog,omitempty"`
	KeepAlive Duration `json:"keep_alive,omitempty"`
	// Port is the TCP port on 127.0.0.1, 0 for a free one.
	Port int `json:"port,omitempty"`
	// AllocMB is filled at start, per worker, in units of 2^20 bytes.
	AllocMB int               `json:"alloc_mb,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	// StartLimit bounds deployed to healthy. In a resolved step it is the
	// platform's where the plan has one and the app writes none.
	StartLimit Duration `json:"start_limit,omitempty"`
	// Deploy is zip or container; empty, as in files of old, means zip.
	Deploy string `json:"deploy,omitempty"`
	// MemoryLimitMB bounds a container, in units of 2^20 bytes; 0 does not.
	MemoryLimitMB int `json:"memory_limit_mb,omitempty"`
	// Build makes the plan build the app before it starts it.
	Build bool `json:"build,omitempty"`
}

// Step is one configuration under test, fully resolved: no references to
// factors are left in it.
type Step struct {
	// Name is unique: the written name, with the levels of a matrix appended.
	Name    string           `json:"name,omitempty"`
	Title   string           `json:"title,omitempty"`
	Factors map[string]Level `json:"factors,omitempty"`
	Plan    Plan             `json:"plan,omitempty"`
	Apps    []App            `json:"apps,omitempty"`
	Traffic []Traffic        `json:"traffic,omitempty"`
	WarmUp  Duration         `json:"warm_up,omitempty"`
	// Settle is the pause between the last app's first healthy answer and traffic.
	Settle Duration `json:"settle,omitempty"`
	// WashOut is the pause before each later phase of an intervention.
	WashOut Duration `json:"wash_out,omitempty"`
	// SwapIn reads everything back from swap before each later phase.
	SwapIn bool `json:"swap_in,omitempty"`
	// Start is together, staggered, or empty: one app after another, each once
	// the one before it is up or has failed. Stagger is the time from one app to
	// the next under staggered, 0 otherwise.
	Start   string   `json:"start,omitempty"`
	Stagger Duration `json:"stagger,omitempty"`
	// Observe is how long after the last deployment traffic waits for apps that
	// are not up; 0 waits until each is up or has been given up.
	Observe Duration `json:"observe,omitempty"`
	// Pressure holds memory while the step's traffic runs, the zero value none.
	Pressure Pressure `json:"pressure,omitzero"`
	// Repetitions is the most executions of the step, 0 for as many as the run
	// has. A ladder, and the two steps of an intervention, share one number.
	Repetitions int `json:"repetitions,omitempty"`
	// Ladder names the ladder that the step belongs to, empty outside one;
	// Rung counts from 0.
	Ladder string `json:"ladder,omitempty"`
	Rung   int    `json:"rung,omitempty"`
}

// Level is the value of a factor in one step.
type Level struct {
	// Number is the level as a formula sees it: durations in seconds, after the
	// profile's scale.
	Number float64 `json:"number,omitempty"`
	// Text is the level as the file writes it.
	Text string `json:"text,omitempty"`
	// Numeric tells whether Number is meaningful.
	Numeric bool `json:"numeric,omitempty"`
	// Unit is "s" for a level written as a duration, otherwise empty.
	Unit string `json:"unit,omitempty"`
}

// Traffic is one stream of requests at one app.
type Traffic struct {
	// App is the name of the target; it may be omitted with a single app.
	App string `json:"app,omitempty"`
	// Kind is steady, rate, batch or sequential.
	Kind     string   `json:"kind,omitempty"`
	Path     string   `json:"path,omitempty"`
	Count    int      `json:"count,omitempty"`
	Every    Duration `json:"every,omitempty"`
	Rate     float64  `json:"rate,omitempty"`
	Arrivals string   `json:"arrivals,omitempty"`
	Duration Duration `json:"duration,omitempty"`
	Stagger  Duration `json:"stagger,omitempty"`
	Timeout  Duration `json:"timeout,omitempty"`
	// Reuse keeps connections open between requests.
	Reuse bool `json:"reuse,omitempty"`
	// Start delays the stream relative to the step's traffic start.
	Start Duration `json:"start,omitempty"`
}

// Hypothesis is a claim of one of the closed forms of METHODOLOGY.md.
type Hypothesis struct {
	ID    string `json:"id,omitempty"`
	Claim string `json:"claim,omitempty"`
	Form  Form   `json:"form,omitempty"`
	// Metric is the name of a metric of the dictionary.
	Metric string `json:"metric,omitempty"`
	// Steps are the steps that the claim is about; their order matters for
	// compare (A then B), trend and cliff.
	Steps []string `json:"steps,omitempty"`
	// Config marks a claim about an outcome and not a size: the same outcome
	// in two repetitions measures it.
	Config bool `json:"config,omitempty"`
	// Because names the cause that the claim asserts. Without an intervention
	// (caused_by) such a claim is at most Strongly Suggested.
	Because string `json:"because,omitempty"`
	// Threshold marks a claim about where something happens: Unknown unless the
	// experiment's calibration holds.
	Threshold bool `json:"threshold,omitempty"`

	// Formula and Tolerance belong to law: the metric equals the formula of
	// the step's factors within the relative tolerance.
	Formula   string  `json:"formula,omitempty"`
	Tolerance *Margin `json:"tolerance,omitempty"`
	// Effect belongs to compare: the smallest difference that the claim
	// asserts, from the first step to the second.
	Effect *Margin `json:"effect,omitempty"`
	// Signals are further metrics that must move in the same direction (compare).
	Signals []string `json:"signals,omitempty"`
	// Direction is rise, fall or differ (compare), rise or fall (trend).
	Direction string `json:"direction,omitempty"`
	// Margin belongs to equivalent.
	Margin *Margin `json:"margin,omitempty"`
	// Factor belongs to trend, cliff and caused_by. With equivalent, only steps
	// that differ in nothing but this factor are compared.
	Factor string `json:"factor,omitempty"`
	// Restarts, Within and Unrecovered belong to cascade.
	Restarts    int      `json:"restarts,omitempty"`
	Within      Duration `json:"within,omitempty"`
	Unrecovered Duration `json:"unrecovered,omitempty"`
	// On and Off belong to caused_by: the step with the intervention and the
	// one without.
	On  string `json:"on,omitempty"`
	Off string `json:"off,omitempty"`
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
	Value float64 `json:"value,omitempty"`
	// Relative margins are fractions: 0.1 for "10%".
	Relative bool   `json:"relative,omitempty"`
	Text     string `json:"text,omitempty"`
}

// Profile scales an experiment.
type Profile struct {
	// Scale multiplies every duration factor and every traffic duration.
	Scale       float64 `json:"scale,omitempty"`
	Repetitions int     `json:"repetitions,omitempty"`
	Title       string  `json:"title,omitempty"`
	// Longest bounds the duration of each stream, after scaling; 0 does not.
	Longest Duration `json:"longest,omitempty"`
	// Whole are names and patterns of the steps that Longest does not bound.
	Whole []string `json:"whole,omitempty"`
	// Steps are names and patterns of the steps that the profile executes; all
	// of them when it is empty.
	Steps []string `json:"steps,omitempty"`
}

// Reference is a published experiment whose claims stand beside ours.
type Reference struct {
	Title  string           `json:"title,omitempty"`
	Date   string           `json:"date,omitempty"`
	Claims []ReferenceClaim `json:"claims,omitempty"`
	// Figures are published tables, a metric at a time; Published lists them
	// step by step.
	Figures []ReferenceFigures `json:"figures,omitempty"`
}

// ReferenceClaim is one published claim with the published numbers.
type ReferenceClaim struct {
	ID   string `json:"id,omitempty"`
	Says string `json:"says,omitempty"`
	// Hypothesis is the id of ours that tests it.
	Hypothesis string `json:"hypothesis,omitempty"`
	// Observed is the published figure in Unit.
	Observed *float64 `json:"observed,omitempty"`
	Unit     string   `json:"unit,omitempty"`
	// Formula is the claim's own arithmetic over Values; the report computes
	// it and shows how far it is from Observed.
	Formula string             `json:"formula,omitempty"`
	Values  map[string]float64 `json:"values,omitempty"`
	Note    string             `json:"note,omitempty"`
}
