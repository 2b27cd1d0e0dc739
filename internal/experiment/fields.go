package experiment

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
)

// field says what an experiment file may write in one field. The decoder, the
// JSON Schema and the documentation all read it.
type field struct {
	doc      string
	required bool
	// def is what holds when the field is left out, as a file would write it.
	def string
	// min and max bound a number, or a duration in seconds; both 0: no bounds.
	min, max float64
	// above excludes min itself.
	above bool
	// words is the closed set of a text; noun is what a word of it is.
	words []string
	noun  string
	// pattern is what a text must look like.
	pattern *pattern
	// many allows a single value in place of a list.
	many bool
	// scaled durations are multiplied by a profile's scale.
	scaled bool
	// apart fields are decoded by hand: they hold templates.
	apart bool
}

// day is the longest duration that a file may ask for, in seconds.
const day = 24 * 60 * 60

var (
	runtimes   = []string{"asgi", "command", "flask", "go", "node"}
	classes    = []string{"gevent", "gthread", "sync"}
	kinds      = []string{"batch", "rate", "sequential", "steady"}
	deploys    = []string{"container", "zip"}
	starts     = []string{"staggered", "together"}
	arrivals   = []string{"constant", "poisson"}
	types      = []string{string(Config), string(Hybrid), string(Performance)}
	directions = []string{"differ", "fall", "rise"}
	forms      = []string{string(CausedBy), string(Cliff), string(Cascade), string(Compare), string(Equivalent), string(Law), string(Trend)}
)

// fields gives every field that a file can write, by type and name. It is made
// when a file is first read: it would slow every start of brink.
var fields = sync.OnceValue(func() map[string]field {
	return map[string]field{
		"Experiment.name":        {doc: "Short name; names the run's directory.", required: true, pattern: &namePattern},
		"Experiment.title":       {doc: "One line that heads the report.", required: true},
		"Experiment.type":        {doc: "What kind of answer is sought: that a setting has an effect, how large a difference is, or both.", required: true, words: types, noun: "a type of experiment"},
		"Experiment.question":    {doc: "Section 1: the question, in a sentence or two.", required: true},
		"Experiment.why":         {doc: "Section 2: why it matters."},
		"Experiment.symptoms":    {doc: "Section 3: what customers say.", many: true},
		"Experiment.hypotheses":  {doc: "Section 4: claims, written down before the run."},
		"Experiment.variables":   {doc: "Section 6: what is controlled and what is observed."},
		"Experiment.plan":        {doc: "The capacity that apps share; steps may change fields of it."},
		"Experiment.apps":        {doc: "The apps that steps deploy; a step without apps of its own deploys all of them.", apart: true},
		"Experiment.steps":       {doc: "The configurations under test.", required: true, apart: true},
		"Experiment.baseline":    {doc: "The step that runs twice per round; its difference is the noise floor."},
		"Experiment.calibration": {doc: "A band that a step must hit; outside it, claims marked as threshold are Unknown."},
		"Experiment.warm_up":     {doc: "Time that steady latency leaves out, at most a fifth of the step.", max: day, scaled: true, def: "0s"},
		"Experiment.settle":      {doc: "Pause between the last app's first healthy answer and traffic.", max: day, scaled: true, def: "0s"},
		"Experiment.wash_out":    {doc: "Pause before each later phase of an intervention.", max: day, scaled: true, def: "0s"},
		"Experiment.sampling":    {doc: "How often the kernel is read while a plan is up. What cannot have changed meanwhile is read about once a second.", min: 0.01, max: 60, def: "100ms"},
		"Experiment.repetitions": {doc: "Independent executions of each step; 6 for a claim that is to be Measured.", required: true, min: 1, max: 50},
		"Experiment.expected":    {doc: "Section 9: what should be seen if the hypotheses hold.", many: true},
		"Experiment.takeaways":   {doc: "Section 14: advice for support.", many: true},
		"Experiment.related":     {doc: "Section 16: related documents."},
		"Experiment.reference":   {doc: "A published experiment whose claims stand beside ours."},
		"Experiment.profiles":    {doc: "Scaled variants by name, such as quick, standard and full; standard is used when none is asked for."},

		"Variables.controlled": {doc: "What the experiment sets.", many: true},
		"Variables.observed":   {doc: "What it reads.", many: true},

		"Calibration.step":   {doc: "The step that must hit the band.", required: true},
		"Calibration.metric": {doc: "Its metric.", required: true},
		"Calibration.low":    {doc: "Lower end of the band for the median, in the metric's unit.", required: true},
		"Calibration.high":   {doc: "Upper end.", required: true},

		"Link.title": {doc: "The document's title.", required: true},
		"Link.url":   {doc: "Its address, http or https.", pattern: &urlPattern},

		"Plan.size":      {doc: "A size of App Service's Basic tier, which sets cpus, memory_mb and swap_mb where they are not written.", words: sizeNames, noun: "a size of plan"},
		"Plan.cpus":      {doc: "CPUs that apps may use; 0 leaves them unlimited.", max: 256, def: "0"},
		"Plan.memory_mb": {doc: "Memory in units of 2^20 bytes; 0 leaves it unlimited.", max: 1 << 20, def: "0"},
		"Plan.swap_mb":   {doc: "Swap in units of 2^20 bytes; 0 leaves it unlimited.", max: 1 << 20, def: "0"},
		"Plan.swap_iops": {doc: "Operations per second of the swap disk; 0 does not limit them. Needs swap.", max: 1_000_000, def: "0"},
		"Plan.swap_mb_s": {doc: "Units of 2^20 bytes per second of the swap disk; 0 does not limit them. Needs swap.", max: 100_000, def: "0"},
		"Plan.share":     {doc: "What the platform itself uses of the plan's memory."},
		"Plan.platform":  {doc: "How apps are looked after; without it an app is started once, and one that exits later is restarted three times."},

		"Share.ballast_mb":     {doc: "Anonymous memory of the platform.", max: 1 << 20, def: "0"},
		"Share.hot_mb":         {doc: "How much of the ballast is touched again and again.", max: 1 << 20, def: "0"},
		"Share.hot_every":      {doc: "How often hot memory is touched, that of sidecars too.", max: day, above: true, def: "5s"},
		"Share.swapped_mb":     {doc: "Further anonymous memory of the platform, which is in swap from the beginning and never needed.", max: 1 << 20, def: "0"},
		"Share.sidecar_mb":     {doc: "Anonymous memory of the companion that starts, restarts and ends with each app.", max: 1 << 20, def: "0"},
		"Share.sidecar_hot_mb": {doc: "How much of each sidecar is touched again and again.", max: 1 << 20, def: "0"},
		"Share.cache_mb":       {doc: "A mapped file: page cache that the platform needs.", max: 1 << 20, def: "0"},
		"Share.cache_every":    {doc: "How often the file's pages are touched.", max: day, above: true, def: "5s"},

		"Platform.ping_every":   {doc: "Time from one request for /health to the next while an app starts.", min: 0.001, max: day, def: "1s"},
		"Platform.ping_timeout": {doc: "Time that such a request may take.", min: 0.001, max: day, def: "10s"},
		"Platform.start_limit":  {doc: "Longest time from started to healthy, for apps that write none of their own; an app that misses it is restarted.", max: day, above: true, def: "230s"},
		"Platform.backoff":      {doc: "Pause before the first restart; it doubles with each further one, up to 5 minutes or to this if it is longer.", max: day, def: "5s"},
		"Platform.restarts":     {doc: "How often an app is restarted before it is given up.", max: 10_000, def: "10"},
		"Platform.front_end":    {doc: "A front end routes to apps by host name, holds requests to an app that starts, and answers 502 and 503 in its place.", def: "true"},
		"Platform.hold":         {doc: "How long the front end holds a request to an app that is not up.", max: day, above: true, def: "230s"},

		"App.name":            {doc: "Unique within a step; the site name in the Azure views.", required: true, pattern: &namePattern},
		"App.copies":          {doc: "Deploys that many alike apps, NAME-1, NAME-2 and so on.", min: 1, max: maxApps},
		"App.runtime":         {doc: "What the app is: flask on gunicorn, asgi on uvicorn, node, the built-in go server, or a command of your own.", required: true, words: runtimes, noun: "a runtime"},
		"App.command":         {doc: "Argument vector for runtime command; the app listens on BIND (address) and PORT.", many: true},
		"App.worker_class":    {doc: "Gunicorn's worker class; only for flask, where sync holds when it is left out.", words: classes, noun: "a worker class"},
		"App.workers":         {doc: "Worker processes.", min: 1, max: 256, def: "1"},
		"App.threads":         {doc: "Threads per worker; more than 1 only with worker class gthread.", min: 1, max: 256, def: "1"},
		"App.timeout":         {doc: "Time after which the server's watchdog kills a worker; 0s switches it off.", max: day, def: "30s"},
		"App.backlog":         {doc: "Limit of the accept queue.", min: 1, max: 65535, def: "2048"},
		"App.keep_alive":      {doc: "How long an idle connection is kept.", max: day, def: "2s"},
		"App.port":            {doc: "TCP port on 127.0.0.1 to listen on; 0 takes a free one.", max: 65535, def: "0"},
		"App.alloc_mb":        {doc: "Memory filled at start, per worker, in units of 2^20 bytes.", max: 65536, def: "0"},
		"App.env":             {doc: "Environment variables; they are recorded, so secrets are refused."},
		"App.start_limit":     {doc: "Longest time from deployed to healthy; where the plan has a platform, left out, the platform's holds.", max: day, above: true, def: "60s"},
		"App.deploy":          {doc: "zip: processes under the platform, without a limit of their own. container: an OCI container.", words: deploys, noun: "a way to deploy", def: "zip"},
		"App.memory_limit_mb": {doc: "Memory limit of a container in units of 2^20 bytes; 0 sets none. Only with deploy: container.", max: 1 << 20, def: "0"},
		"App.build":           {doc: "Build the app on the plan before it starts: virtual environment, byte-compilation, an extension in C. Only for flask and asgi deployed as zip.", def: "false"},

		"Step.name":        {doc: "Unique; levels of a matrix are appended unless it refers to a factor itself.", required: true, pattern: &stepPattern},
		"Step.title":       {doc: "What the step shows, in a few words."},
		"Step.factors":     {doc: "Levels by name: a value, or a list of values that makes a matrix. ${name} stands for the level anywhere in the step.", apart: true},
		"Step.plan":        {doc: "Fields of the plan that are different in this step."},
		"Step.apps":        {doc: "The apps of this step, in order: names of the experiment's apps, or mappings. A mapping that names one of the experiment's apps changes the fields that it writes; any other is an app of its own.", apart: true, many: true},
		"Step.traffic":     {doc: "The streams of requests, side by side.", required: true, many: true},
		"Step.warm_up":     {doc: "Overrides the experiment's.", max: day, scaled: true},
		"Step.settle":      {doc: "Overrides the experiment's.", max: day, scaled: true},
		"Step.wash_out":    {doc: "Overrides the experiment's.", max: day, scaled: true},
		"Step.swap_in":     {doc: "Reads everything back from swap before each later phase of an intervention.", def: "false"},
		"Step.start":       {doc: "together: all apps at once. staggered: one after each stagger, up or not. Left out: one after another, each once the one before is up or has failed.", words: starts, noun: "a way to start apps"},
		"Step.stagger":     {doc: "Time from one app to the next; only with start: staggered, where 30s holds when it is left out.", max: day, above: true, scaled: true},
		"Step.observe":     {doc: "How long traffic waits after the last deployment for apps that are not up; left out, until each is up or has been given up.", max: day, above: true},
		"Step.pressure":    {doc: "Memory that is held beside the apps while the step's traffic runs."},
		"Step.repetitions": {doc: "The most executions of this step, where fewer than the run's are enough; all rungs of a ladder, and both steps of an intervention, have the same.", max: 50},
		"Step.ladder":      {doc: "Steps of the same ladder follow each other on one plan, apps being added.", pattern: &namePattern},

		"Pressure.mb":    {doc: "How much, in units of 2^20 bytes; 0 is no pressure.", required: true, max: 1 << 20},
		"Pressure.every": {doc: "How often all of it is touched.", max: day, above: true, def: "1s"},

		"Traffic.app":      {doc: "The target; may be left out where a step has one app. The name of an app with copies sends to each copy; those of steady traffic and of a constant rate take turns."},
		"Traffic.kind":     {doc: "batch: all at once or staggered. sequential: one after another. steady: one each interval. rate: so many a second.", required: true, words: kinds, noun: "a kind of traffic"},
		"Traffic.path":     {doc: "Request target with its query.", required: true, pattern: &pathPattern},
		"Traffic.count":    {doc: "Number of requests; required for batch and sequential, the most for steady and rate.", min: 1, max: 1_000_000},
		"Traffic.every":    {doc: "Interval of steady traffic.", max: day, above: true, scaled: true},
		"Traffic.rate":     {doc: "Requests per second of rate traffic; never scaled.", max: 100_000, above: true},
		"Traffic.arrivals": {doc: "How rate traffic arrives; constant holds when it is left out.", words: arrivals, noun: "a kind of arrivals"},
		"Traffic.duration": {doc: "How long steady and rate traffic goes on; may be left out where count is given.", max: day, above: true, scaled: true},
		"Traffic.stagger":  {doc: "Delay from each request of a batch to the next.", max: day, scaled: true},
		"Traffic.timeout":  {doc: "The client's patience with one request.", max: day, above: true, def: "30s"},
		"Traffic.reuse":    {doc: "Keeps connections open between requests.", def: "false"},
		"Traffic.start":    {doc: "Delay relative to the step's traffic start.", max: day, scaled: true},

		"Hypothesis.id":          {doc: "Unique, such as H1.", required: true, pattern: &idPattern},
		"Hypothesis.claim":       {doc: "The claim in a sentence.", required: true},
		"Hypothesis.form":        {doc: "The form of the claim, which says what decides it.", required: true, words: forms, noun: "a claim form"},
		"Hypothesis.metric":      {doc: "A metric of the dictionary."},
		"Hypothesis.steps":       {doc: "Names of steps, or patterns such as held-*, in order.", many: true},
		"Hypothesis.config":      {doc: "The claim is about an outcome and not a size; two repetitions that agree measure it.", def: "false"},
		"Hypothesis.because":     {doc: "The cause that the claim asserts; without an intervention it is at most Strongly Suggested."},
		"Hypothesis.threshold":   {doc: "The claim is about where something happens, and Unknown unless the calibration holds.", def: "false"},
		"Hypothesis.signals":     {doc: "compare: further metrics that move in the same direction.", many: true},
		"Hypothesis.formula":     {doc: "law: what the metric equals, from factors, requests, workers, threads, cpus, apps and alloc_mb."},
		"Hypothesis.tolerance":   {doc: "law: how far the metric may be from the formula."},
		"Hypothesis.effect":      {doc: "compare, trend, caused_by: the smallest difference that the claim asserts."},
		"Hypothesis.direction":   {doc: "compare, trend, caused_by: where the metric goes.", words: directions, noun: "a direction"},
		"Hypothesis.margin":      {doc: "equivalent: the largest difference that still counts as none."},
		"Hypothesis.factor":      {doc: "trend, cliff, caused_by: the factor that changes. equivalent: compare only steps that differ in this factor alone."},
		"Hypothesis.restarts":    {doc: "cascade: how many apps must start over, restarted by the platform or with a worker that its own server killed while it booted.", min: 2, max: 10_000},
		"Hypothesis.within":      {doc: "cascade: the time in which they start over.", max: day, above: true},
		"Hypothesis.unrecovered": {doc: "cascade: how long the apps stay down.", max: day, above: true},
		"Hypothesis.on":          {doc: "caused_by: the step with the intervention."},
		"Hypothesis.off":         {doc: "caused_by: the step without it."},

		"Profile.scale":       {doc: "Multiplies duration factors, traffic times, settle, warm-up and wash-out.", max: 100, above: true, def: "1"},
		"Profile.repetitions": {doc: "Replaces the experiment's.", min: 1, max: 50},
		"Profile.title":       {doc: "What the profile is for."},
		"Profile.longest":     {doc: "No stream goes on for longer than this, after scaling.", max: day, above: true},
		"Profile.whole":       {doc: "Names of steps, or patterns, whose streams longest does not bound.", many: true},
		"Profile.steps":       {doc: "Names of steps, or patterns such as held-*, that the profile executes; left out, all of them. Hypotheses that lack steps then are left out.", many: true},

		"Reference.title":   {doc: "Title of the published experiment.", required: true},
		"Reference.date":    {doc: "When it was published or tested."},
		"Reference.claims":  {doc: "Its claims."},
		"Reference.figures": {doc: "Its figures, step by step, a metric at a time; ours stand beside them."},

		"ReferenceFigures.table":  {doc: "The name under which metrics stand together.", required: true},
		"ReferenceFigures.source": {doc: "Where they were published, such as a table's number."},
		"ReferenceFigures.metric": {doc: "Our metric of the same thing.", required: true},
		"ReferenceFigures.values": {doc: "The published figures by step, in the metric's unit; of a range, the lower end.", required: true},
		"ReferenceFigures.high":   {doc: "The upper ends of ranges, by step."},

		"ReferenceClaim.id":         {doc: "Its own name for the claim.", required: true, pattern: &idPattern},
		"ReferenceClaim.says":       {doc: "What it says, in our words.", required: true},
		"ReferenceClaim.hypothesis": {doc: "The id of our hypothesis that tests it."},
		"ReferenceClaim.observed":   {doc: "The published figure."},
		"ReferenceClaim.unit":       {doc: "Its unit."},
		"ReferenceClaim.formula":    {doc: "The claim's own arithmetic over values."},
		"ReferenceClaim.values":     {doc: "The published values that the formula uses, by name."},
		"ReferenceClaim.note":       {doc: "A remark on the figure."},
	}
})

// fieldOf returns what a file may write in a field of a struct type. Fields
// that only a resolved value has are not found.
func fieldOf(t reflect.Type, name string) (field, bool) {
	f, ok := fields()[t.Name()+"."+name]
	return f, ok
}

// nameOf is a struct field's name in files.
func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// bounded tells whether a number or duration has bounds.
func (f field) bounded() bool { return f.min != 0 || f.max != 0 }

func (f field) holds(x float64) bool {
	return x <= f.max && (x > f.min || x == f.min && !f.above) && !math.IsNaN(x)
}

// bounds says in words what is allowed for a number, or for a duration.
func (f field) bounds(duration bool) string {
	write := func(x float64) string {
		switch {
		case !duration:
			return strconv.FormatFloat(x, 'f', -1, 64)
		case x == day:
			return "24h"
		}
		return time.Duration(x * float64(time.Second)).String()
	}
	if f.above {
		return fmt.Sprintf("more than %s and at most %s", write(f.min), write(f.max))
	}
	return write(f.min) + " to " + write(f.max)
}
