package report

import (
	"encoding/json"
	"testing"
	"time"

	"brink/internal/experiment"
	"brink/internal/metric"
	"brink/internal/verdict"
)

// The fixture is a run of the worker-exhaustion experiment as its physics
// give it: four workers that serve one request at a time, first come first
// served, holds of 5 s. Small deviations stand in for a real machine.

// fifo serves requests that are due at the given times with w workers, each
// request held for the given seconds.
func fifo(due []float64, w int, hold float64) []Request {
	free := make([]float64, w)
	requests := make([]Request, len(due))
	for i, d := range due {
		first := 0
		for j, f := range free {
			if f < free[first] {
				first = j
			}
		}
		start := max(d, free[first])
		free[first] = start + hold
		requests[i] = Request{Due: d, Start: start, End: start + hold, Pid: int32(1892 + first), Outcome: "ok"}
	}
	return requests
}

func atOnce(n int) []float64 { return make([]float64, n) }

func ptr(x float64) *float64 { return &x }

func lookup(t testing.TB, name string) metric.Metric {
	t.Helper()
	m, ok := metric.Lookup(name)
	if !ok {
		t.Fatalf("no metric %s in the dictionary", name)
	}
	return m
}

// must returns the chart of a builder that has to succeed.
func must(t testing.TB) func(Chart, error) Chart {
	return func(c Chart, err error) Chart {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

// fixture is a model with something in every field.
func fixture(t testing.TB) *Model {
	return &Model{
		Title: "Worker exhaustion under blocking requests",
		Run: Run{ID: "20260504-101500-7f3a", Experiment: "worker-exhaustion", Brink: "0.1.0", Profile: "standard", Seed: 42, Host: "local",
			Accelerator: "none", Started: time.Date(2026, 5, 4, 10, 15, 0, 0, time.UTC), Duration: 14*time.Minute + 8*time.Second, Status: "interrupted",
			Reason:  "interrupt: 3 repetitions were not started",
			Resumed: []Resumption{{At: time.Date(2026, 5, 4, 11, 40, 0, 0, time.UTC), Brink: "0.1.0", Status: "interrupted", Reason: "signal: terminated"}}},
		Notices: []Notice{
			{Kind: "substitute", Text: "gunicorn was not there; the built-in Go server took its place."},
			{Kind: "interrupted", Text: "The run was interrupted after 33 of 36 repetitions; the steps say how many each has."},
		},
		Question: "At what concurrency does an app with four workers that serve one request at a time begin to queue, and what does the caller of the request that waits see?",
		Why:      "When every worker is blocked, requests wait in the kernel's accept queue, which no CPU or memory chart shows.\n\nThe usual answer, a larger plan, does not help: what is short is workers.",
		Symptoms: []string{"\"The app stops answering under moderate load, yet CPU and memory are fine.\"", "\"Response times double, then triple, in steps.\""},
		Hypotheses: []Hypothesis{
			{ID: "H1", Claim: "The last answer to K requests at once comes after ceil(K / W) holds.", Form: "law", Test: "`last_answer_s` equals `ceil(K / W) * D` within 10 % in S1, S3 and S4"},
			{ID: "H2", Claim: "The fifth of five requests takes longer than the fourth of four.", Form: "compare", Test: "`last_answer_s` rises by at least 50 % from S3 to S4"},
			{ID: "H3", Claim: "The built-in server and gunicorn sync queue alike.", Form: "equivalent", Test: "`last_answer_s` differs by less than 10 % on all pairs"},
			{ID: "H4", Claim: "A burn bounded by time sees contention.", Form: "compare", Test: "`last_answer_s` rises by at least 25 % from S5-1 to S5-2"},
		},
		LeftOut:      []LeftOut{{ID: "H5", Claim: "Threads hold more requests than processes.", Why: "step S1-gthread is not in profile standard"}},
		LeftOutSteps: []string{"S1-gthread", "S1-gevent"},
		Extent:       Extent{Steps: 9, Repetitions: 36, DoneSteps: 8, DoneRepetitions: 33, Waiting: []string{"S6"}},
		Environment:  fixtureEnvironment(),
		Emulation:    []string{"The plan is a virtual machine under `tcg`, which translates every instruction."},
		Missed:       []Missed{{Need: "gunicorn", App: "web", Consequence: "The built-in Go server took its place."}},
		Limits:       []Limit{{Name: "CPUs", Wanted: "1", Applied: true, How: "affinity of every app process"}, {Name: "Memory", Wanted: "1,855 MB", How: "the memory controller is on cgroup v1, which this host leaves alone"}},
		Type:         "hybrid",
		Controlled:   []string{"workers W = 4, class sync, one request at a time", "hold D = 5 s at `/thread-hold?secs=5`", "concurrency K from 4 to 10, all at once"},
		Observed:     []string{"the time of each request from when it was due", "the worker that answered", "depth of the accept queue"},
		Signals:      fixtureSignals(),
		Procedure:    fixtureProcedure(),
		Expected:     []string{"S3: all four answers after about 5 s", "S4: four answers after about 5 s, the fifth after about 10 s", "S1: four after 5 s, four after 10 s"},
		Results:      fixtureResults(t),
		NoiseFloor:   []NoiseFloor{{Metric: "last_answer_s", Step: "S3", Difference: 0.0012, Relative: true, N: 6}, {Metric: "cpu_pct", Step: "S3", Difference: 0.21, N: 6}},
		Verdicts:     fixtureVerdicts(),
		Modes: []Mode{
			{Kind: "capacity cliff", Found: "one app fails while another serves", Seen: []Sighting{{Steps: []string{"S3", "S4"}, N: 6, Says: "Of 8 apps, 2 fail while 6 serve, at 93 % memory."}}},
			{Kind: "memory plateau", Found: "memory stands still while swap grows"}},
		DeployPairs: []DeployPair{{Zip: "S3", Container: "S4", Values: []PairedValue{
			{Metric: lookup(t, "cgroup_memory_mb"), Head: "Charged, MB", Zip: number(120), Container: number(133)}, {Metric: lookup(t, "cold_start_median_s"), Head: "Start, s", Zip: number(4), Container: Number{None: "not measured"}}}}},
		Failures:       []Failure{{Step: "S4", Outcome: "reset", Count: 1, Example: "read tcp 127.0.0.1:40312->127.0.0.1:8000: connection reset by peer"}},
		Events:         []Event{{Step: "S4", Number: 3, App: "web", At: 5100 * time.Millisecond, Kind: "worker killed", Detail: "worker 1894 exceeded its time-out"}},
		Logs:           []LogLine{{Step: "S4", App: "web", Stream: "stderr", Line: "[1889] [CRITICAL] WORKER TIMEOUT (pid:1894)", Count: 1}},
		OmittedLogs:    212,
		Exclusions:     []string{"S4, repetition 3: excluded, a worker was killed by its watchdog.", "Warm-up: nothing was excluded; the holds are fixed."},
		Reference:      fixtureReference(t),
		Interpretation: []Statement{{Level: verdict.Measured, Hypothesis: "H1", Text: "The last answer follows `ceil(K / W) * D`: 5.004, 10.01 and 15.01 s at 4, 8 and 10 requests."}, {Level: verdict.Observed, Text: "While requests waited, the app used 0.4 % of the plan's CPU."}},
		Proves:         []Statement{{Level: verdict.Measured, Hypothesis: "H1", Text: "With four workers the fifth concurrent request waits for one hold."}, {Level: verdict.Measured, Hypothesis: "H2", Text: "The wait doubles the answer (+100 %)."}},
		DoesNotProve:   []Statement{{Level: verdict.Unknown, Hypothesis: "H4", Text: "A burn bounded by time cannot see contention."}, {Text: "The memory limit of the plan was not applied."}},
		Takeaways:      []string{"Slow with idle CPU: count workers against concurrent requests.", "Look at the listener's queue: `ss -ltn`, column Recv-Q."},
		Takeaway:       fixtureTakeaway(),
		Reproduction: Reproduction{Command: "brink run worker-exhaustion --profile standard --seed 42", Notes: []string{"The order of the repetitions follows from the seed."},
			Versions: []Fact{{"brink", "0.1.0"}, {"Go", "go1.26"}}},
		Related: []Link{{Title: "listen(2)", URL: "https://man7.org/linux/man-pages/man2/listen.2.html"}, {Title: "Not a link", URL: "javascript:alert(1)"}},
		Charts:  fixtureCharts(t),
		Lead:    "requests-s4",
	}
}

func fixtureEnvironment() []Fact {
	return []Fact{{"Kernel", "Linux 6.1.0-18-amd64"}, {"CPUs", "2"}, {"Memory", "7,943 MB"}, {"Python", "3.11.2"}, {"Node.js", "18.20.4"}}
}

func fixtureSignals() []Signal {
	return []Signal{
		{Name: "requests", Source: "probes from outside, counted from when they were due", Read: true},
		{Name: "accept queue", Source: "inet_diag, Recv-Q of the listening socket", Every: 250 * time.Millisecond, Read: true},
		{Name: "CPU of the app", Source: "`/proc/PID/stat`", Every: 250 * time.Millisecond, Read: true},
		{Name: "memory pressure", Source: "`/proc/pressure/memory`", Every: 250 * time.Millisecond, Reason: "open /proc/pressure/memory: operation not supported"},
	}
}

func fixtureProcedure() []Execution {
	steps := []string{"S3", "S4", "S1", "S3", "S4", "S1"}
	var out []Execution
	for i, s := range steps {
		out = append(out, Execution{Position: i + 1, Step: s, Number: i/3 + 1, Start: time.Duration(i) * 21 * time.Second, Duration: 18 * time.Second, Status: "done"})
	}
	out[3].Twin = true
	out[4].Status, out[4].Reason = "invalid", "a worker was killed by its watchdog"
	out[5].Status, out[5].Duration, out[5].Reason = "interrupted", 0, "interrupt"
	return out
}

func number(x float64) Number { return Number{X: x} }

func fixtureResults(t testing.TB) []StepResult {
	row := func(name string, n int, lo, q1, median, q3, hi float64) Row {
		return Row{Metric: lookup(t, name), N: n, Median: number(median), Q1: number(q1), Q3: number(q3), Min: number(lo), Max: number(hi)}
	}
	small := &Number{None: "n too small"}
	s4 := row("latency_p50_ms", 5, 5003, 5003.4, 5004.1, 5005, 5006.2)
	s4.P95, s4.P99, s4.Mean = small, small, ptr(8104.2)
	bound := row("last_answer_s", 5, 10.005, 10.007, 10.01, 15, 30)
	bound.Median.AtLeast, bound.Q3.AtLeast, bound.Max.AtLeast = false, true, true
	pressure := Row{Metric: lookup(t, "psi_memory_some_pct"), Median: Number{None: "not read"}, Q1: Number{None: "not read"}, Q3: Number{None: "not read"}, Min: Number{None: "not read"}, Max: Number{None: "not read"}}
	return []StepResult{
		{Step: "S3", Title: "4 at once, 4 workers", Planned: 6, Valid: 6, FailurePct: ptr(0), Rows: []Row{row("last_answer_s", 6, 5.003, 5.0032, 5.004, 5.0051, 5.009), row("accept_queue_max", 6, 0, 0, 0, 0, 0), row("cpu_pct", 6, 0.3, 0.35, 0.4, 0.42, 0.5), pressure}},
		{Step: "S4", Title: "5 at once, 4 workers", Planned: 6, Valid: 5, FailurePct: ptr(3.33), Rows: []Row{bound, row("accept_queue_max", 5, 1, 1, 1, 1, 1), s4}},
	}
}

func fixtureVerdicts() []verdict.Verdict {
	h := func(id, claim string, form experiment.Form) experiment.Hypothesis {
		return experiment.Hypothesis{ID: id, Claim: claim, Form: form, Metric: "last_answer_s"}
	}
	law := func(step string, n int, median, expected float64) verdict.Part {
		return verdict.Part{Steps: []string{step}, N: []int{n}, Median: []float64{median}, Expected: ptr(expected), Effect: ptr(median/expected - 1), Relative: true, Holds: true}
	}
	return []verdict.Verdict{
		{Hypothesis: h("H1", "The last answer to K requests at once comes after ceil(K / W) holds.", experiment.Law), Outcome: verdict.Supported, Level: verdict.Measured,
			Sentence: "In all 3 steps the last answer lies within 10 % of ceil(K / W) × D; the farthest repetition is 0.3 % off (n = 6, 5, 6).", Numbers: "In all 3 steps the last answer lies within 10 % of ceil(K / W) × D; the farthest repetition is 0.3 % off (n = 6, 5, 6).",
			Rule:  "Measured: n ≥ 5 agreeing repetitions in every step, and no repetition outside the tolerance.",
			Parts: []verdict.Part{law("S3", 6, 5.004, 5), law("S4", 5, 10.01, 10), law("S1", 6, 10.012, 10)}},
		{Hypothesis: h("H2", "The fifth of five requests takes longer than the fourth of four.", experiment.Compare), Outcome: verdict.Supported, Level: verdict.Measured,
			Sentence: "The last answer rises from 5.004 s to 10.01 s, +100 % [+99.8 %, +100.4 %] (p = 0.004 after Holm, n = 6 and 5).", Numbers: "The last answer rises from 5.004 s to 10.01 s, +100 % [+99.8 %, +100.4 %] (p = 0.004 after Holm, n = 6 and 5).", Rule: "Measured: p < 0.05 after Holm and an interval beyond +50 %.",
			Parts: []verdict.Part{{Steps: []string{"S3", "S4"}, N: []int{6, 5}, Median: []float64{5.004, 10.01}, Effect: ptr(1.0004), Lo: ptr(0.998), Hi: ptr(1.004), Confidence: 0.95, Relative: true, Word: "large", U: ptr(0), Delta: ptr(1), P: ptr(0.004), PHolm: ptr(0.0043), Holds: true}}},
		{Hypothesis: h("H3", "The built-in server and gunicorn sync queue alike.", experiment.Equivalent), Outcome: verdict.PartiallySupported, Level: verdict.Inferred,
			Sentence: "Two of three pairs differ by less than 10 %; the third has 3 repetitions.", Numbers: "Two of three pairs differ by less than 10 %; the third has 3 repetitions.", Rule: "Inferred: 3 agreeing repetitions.", Raise: "Three more repetitions of S1.",
			Parts: []verdict.Part{{Steps: []string{"S1", "S1-go"}, N: []int{3, 6}, Median: []float64{10.01, 30}, AtLeast: []bool{false, true}, Holds: false, Note: "censored at 30 s"}}, Notes: []string{"S1-go: one value is only a bound."}},
		{Hypothesis: h("H4", "A burn bounded by time sees contention.", experiment.Compare), Outcome: verdict.NotSupported, Level: verdict.NotProven,
			Sentence: "The burn takes 3.00 s alone and 3.00 s beside another: it is bounded by the clock.", Numbers: "The burn takes 3.00 s alone and 3.00 s beside another: it is bounded by the clock.", Rule: "Not Proven: strong enough to see 25 %, and not confirmed.",
			Parts: []verdict.Part{{Steps: []string{"S5-1", "S5-2"}, N: []int{6, 6}, Median: []float64{3, 3}, Effect: ptr(0), Lo: ptr(-0.001), Hi: ptr(0.001), Relative: true, Word: "negligible", P: ptr(1), PHolm: ptr(1)}}},
	}
}

// fixtureReference holds the published figures and what their own arithmetic
// gives: the fifth of five in 10.624 s, claimed as (5 + 1) × 5 / 4 = 7.5 s.
func fixtureReference(t testing.TB) *Reference {
	return &Reference{Title: "Thread Pool Exhaustion Under Synchronous I/O", Date: "2026-05-04", Figures: phaseA(t), Claims: []ReferenceClaim{
		{ID: "R1", Says: "The fifth request takes (5 + 1) × D / W.", Published: ptr(10.624), Unit: "s", Formula: "(5 + 1) × 5 / 4", Computed: ptr(7.5), Deviation: ptr(10.624/7.5 - 1), Level: verdict.Observed, Hypothesis: "H1", Note: "The formula does not give the figure; ceil(5 / 4) × 5 does."},
		{ID: "R2", Says: "Two burns of 3 s on one CPU take 4 s.", Published: ptr(4), Unit: "s", Level: verdict.Observed, Hypothesis: "H4"},
		{ID: "R3", Says: "Four holds of 3 s finish in 2 s.", Published: ptr(2), Unit: "s", Formula: "ceil(4 / 4) × 3", Computed: ptr(3), Deviation: ptr(2.0/3 - 1), Note: "A clock of whole seconds."},
	}}
}

// phaseA is the published table of the memory experiment's phase A (memory in
// percent and cold start in seconds for 2×100 and 3, 4, 5, 6, 8 × 50 MB) beside
// what an emulated plan gave: two readings are missing, and one is a bound.
func phaseA(t testing.TB) []ReferenceFigure {
	memory, cold := lookup(t, "memory_pct"), lookup(t, "cold_start_s")
	var out []ReferenceFigure
	add := func(step string, m metric.Metric, published float64, ours Number, n int) {
		out = append(out, ReferenceFigure{Table: "Flask, number of apps", Step: step, Metric: m, Published: Number{X: published}, Source: "10.1", Ours: ours, N: n})
	}
	steps := []string{"2x100", "3x50", "4x50", "5x50", "6x50", "8x50"}
	for i, x := range []float64{76, 86, 83.6, 85.6, 85.7, 85.7} {
		add(steps[i], memory, x, number([]float64{75.8, 83, 86, 85, 85, 86}[i]), 6)
	}
	for i, x := range []float64{60, 60, 60, 135, 135} {
		add(steps[i], cold, x, number([]float64{17, 17, 18, 21, 24}[i]), 6)
	}
	out[8].Ours = Number{None: "not run"}
	out = append(out, ReferenceFigure{Table: "Flask, number of apps", Step: "8x50", Metric: cold, Published: Number{None: "did not start"}, Ours: Number{X: 230, AtLeast: true}, N: 6})
	cpu := lookup(t, "cpu_pct")
	high := 28.0
	return append(out, ReferenceFigure{Table: "Flask, density", Step: "4x75", Metric: cpu, Published: Number{X: 14}, High: &high, Source: "10.2", Ours: number(31), N: 6})
}

// fixtureTakeaway is what arithmetic gives for 4 workers and requests of 102 ms:
// 4 / 0.102 = 39.2 requests a second.
func fixtureTakeaway() *Takeaway {
	return &Takeaway{
		Pools: []Pool{{Server: "gunicorn sync", Step: "poisson-95", Workers: 4, Processes: 4, ServiceMs: 102, Rate: 39.2, ProcessMB: 33, PlanMB: 1855, Limited: true,
			Waits: []ExpectedWait{{Rate: 19.6, UtilisationPct: 50, Least: number(5.5), Most: number(8.9)}, {Rate: 39.2, UtilisationPct: 100, Least: Number{None: "grows without end"}, Most: Number{None: "grows without end"}}},
			Needs: []Need{{Rate: 39.2, Workers: 5, Processes: 5, MemoryMB: 198, PlanPct: 10.7, Fits: true}, {Rate: 470, Workers: 60, Processes: 60, MemoryMB: 2013, PlanPct: 108.5}}}},
		Bursts: []Burst{{Title: "Ten holds at once", Requests: 10, On: []BurstRow{
			{Step: "ten-gunicorn", Server: "gunicorn sync", Workers: 4, LastAnswer: number(15.01), Memory: number(165)},
			{Step: "ten-gevent", Server: "gunicorn gevent", LastAnswer: number(5.01), Memory: number(58)},
			{Step: "ten-node", Server: "node", LastAnswer: Number{X: 30, AtLeast: true}, Memory: Number{None: "not read"}}}}},
		Missing: []string{"The wait was not computed for `ten-node`: its pool is inside the process."},
	}
}

// waitsInput is 4 workers of 102 ms under Poisson arrivals: the means of 130 s
// measured on gunicorn (5.5, 46 and 423 ms), beside simulations.
func waitsInput() WaitsInput {
	in := WaitsInput{ID: "waits", Title: "gunicorn sync, 4 at a time: measured wait against theory", Workers: 4, ServiceS: 0.102, OverheadMs: 0.4, BesidesMs: 2}
	for i, p := range [][3]float64{{51, 5.5, 5.6}, {82, 46, 45}, {96.5, 423, 401}} {
		for rep := range 3 {
			far := 1 + 0.03*float64(rep-1)
			in.Points = append(in.Points, WaitPoint{Step: []string{"poisson-50", "poisson-80", "poisson-95"}[i], Number: rep + 1,
				UtilisationPct: p[0] + 0.3*float64(rep), MeasuredMs: p[1] * far, SimulatedMs: ptr(p[2])})
		}
	}
	return in
}

func fixtureCharts(t testing.TB) []Chart {
	draw := must(t)
	last := lookup(t, "last_answer_s")
	charts := []Chart{
		draw(RequestBars(RequestsInput{ID: "requests-s4", Title: "S4: five requests at once, four workers", Workers: 4, Processes: 4, Requests: fifo(atOnce(5), 4, 5.002)})),
		draw(RequestBars(RequestsInput{ID: "requests-s10", Title: "Ten requests at once, four workers, two of them time out", Workers: 4, Processes: 4, Requests: failing(fifo(atOnce(10), 4, 5.002))})),
		draw(Staircase(StaircaseInput{ID: "staircase", Title: "Last answer against concurrency", Workers: 4, HoldS: 5, Points: stairPoints()})),
		draw(Predicted(PredictedInput{ID: "predicted", Title: "Predicted and measured last answers", Unit: "s", Tolerance: 0.1, Relative: true, Points: []PredictedPoint{
			{Step: "S3", Predicted: 5, Measured: 5.004, Holds: true}, {Step: "S4", Predicted: 10, Measured: 10.01, Holds: true}, {Step: "S1", Predicted: 10, Measured: 10.02, Holds: true}, {Step: "S2", Predicted: 12, Measured: 14.1}}})),
		draw(Boxes(BoxesInput{ID: "boxes", Title: "Last answer by step", Metric: last, Groups: []BoxGroup{
			boxGroup("S3", 5.0035, 5.004, 5.007, 5.003, 5.0037, 5.004, 5.004, 5.008, 5.011),
			boxGroup("S4", 10.005, 10.01, 10.02, 10.004, 10.006, 10.01, 10.018, 10.03),
			{Step: "S1, built-in server", Q1: 9.98, Median: 10.02, Q3: 14.2, Values: []BoxValue{{X: 9.97}, {X: 10.01}, {X: 10.02}, {X: 14.1}, {X: 15, AtLeast: true}}}}})),
		draw(TimeSeries(seriesInput())),
		draw(Effects(EffectsInput{ID: "effects", Title: "Effects beside their margins", Unit: "s", Relative: true, Rows: []EffectRow{
			{Label: "S3 → S4", Estimate: 1.0004, Lo: ptr(0.97), Hi: ptr(1.05), Margin: ptr(0.5), Noise: ptr(0.03), Holds: true},
			{Label: "gunicorn → built-in", Estimate: 0.02, Lo: ptr(-0.05), Hi: ptr(0.07), Margin: ptr(0.1), Noise: ptr(0.03), Holds: true},
			{Label: "S5-1 → S5-2", Estimate: 0.18, Lo: ptr(-0.12), Noise: ptr(0.03)}}})),
		draw(Ladder(LadderInput{ID: "ladder", Title: "Last answer along the ladder", Metric: last, Change: 2, Steps: []LadderStep{
			{Step: "K=3", Median: ptr(5.0), Values: []float64{5.0, 5.01}}, {Step: "K=4", Median: ptr(5.0), Values: []float64{5.0, 5.2}},
			{Step: "K=5", Median: ptr(10.0), Values: []float64{9.9, 10.1}}, {Step: "K=6"}, {Step: "K=9", Median: ptr(15.0), AtLeast: true, Values: []float64{15}}}})),
		draw(Waits(waitsInput())),
		draw(Timeline(timelineInput())),
	}
	reference, err := ReferenceCharts(phaseA(t))
	if err != nil {
		t.Fatal(err)
	}
	return append(charts, reference...)
}

// failing lets the requests of the third batch time out unanswered after 12 s.
func failing(requests []Request) []Request {
	for i := range requests {
		if requests[i].Start > 10 {
			requests[i] = Request{Due: requests[i].Due, End: 12, Outcome: "timeout"}
		}
	}
	return requests
}

func stairPoints() []StaircasePoint {
	var points []StaircasePoint
	for _, k := range []int{1, 4, 5, 8, 10} {
		for rep := range 3 {
			batches := float64((k + 3) / 4)
			points = append(points,
				StaircasePoint{Concurrency: k, LastS: batches*5 + 0.01*float64(rep+1), Series: "gunicorn sync"},
				StaircasePoint{Concurrency: k, LastS: batches*5 + 0.02*float64(rep+1), Series: "built-in server"})
		}
	}
	return points
}

func boxGroup(step string, q1, median, q3 float64, xs ...float64) BoxGroup {
	g := BoxGroup{Step: step, Q1: q1, Median: median, Q3: q3}
	for _, x := range xs {
		g.Values = append(g.Values, BoxValue{X: x})
	}
	return g
}

func seriesInput() TimeSeriesInput {
	var cpu, queue, memory []BandPoint
	for i := range 60 {
		t := float64(i) * 0.25
		q := 0.0
		if t < 5 {
			q = 6
		} else if t < 10 {
			q = 2
		}
		cpu = append(cpu, BandPoint{t, 0.2, 0.4 + 0.1*float64(i%3), 0.9 + 0.2*float64(i%5)})
		queue = append(queue, BandPoint{t, max(0, q-1), q, q + float64(i%2)})
		memory = append(memory, BandPoint{t, 118, 120 + 0.1*float64(i), 131})
	}
	one := func(points []BandPoint) []Series { return []Series{{Name: "S1", Repetitions: 6, Points: points}} }
	return TimeSeriesInput{ID: "series", Title: "CPU, accept queue and memory while requests wait", Marks: []Mark{{T: 5, Text: "first batch answered"}},
		Panels: []Panel{{Title: "CPU", Unit: "%", Series: one(cpu)}, {Title: "Accept queue", Series: one(queue)}, {Title: "Memory", Unit: "MB", Series: one(memory)}}}
}

func TestFixtureSurvivesJSON(t *testing.T) {
	want, err := json.Marshal(fixture(t))
	if err != nil {
		t.Fatal(err)
	}
	var m Model
	if err := json.Unmarshal(want, &m); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(&m)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("a model changes when it is written and read:\n%s\n%s", got, want)
	}
}
