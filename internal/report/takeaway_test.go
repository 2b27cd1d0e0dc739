package report

import (
	"math"
	"strings"
	"testing"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/metric"
)

// burstTable is ten holds of 5 s at once on two kinds of worker, and on a third
// that did not start; one more step has another burst.
func burstTable() *measure.Table {
	step := func(name, title, class, runtime string, count int) measure.StepInfo {
		return measure.StepInfo{Step: experiment.Step{Name: name, Title: title,
			Apps:    []experiment.App{{Name: name, Runtime: runtime, WorkerClass: class, Workers: 4}},
			Traffic: []experiment.Traffic{{App: name, Kind: "batch", Count: count, Path: "/"}}}}
	}
	cell := func(step, name string, values ...measure.Value) measure.Cell {
		m, _ := metric.Lookup(name)
		return measure.Cell{Metric: m, Step: step, Values: values}
	}
	x := func(v float64) measure.Value { return measure.Value{X: v} }
	return measure.Assemble([]measure.StepInfo{
		step("sync", "Ten", "sync", "flask", 10), step("gevent", "Ten", "gevent", "flask", 10), step("node", "Ten", "", "node", 10), step("five", "Ten", "sync", "flask", 5),
	}, []measure.Cell{
		cell("sync", "last_answer_s", x(15.1), x(15.0), x(15.2)), cell("sync", "memory_mb", x(165)),
		cell("gevent", "last_answer_s", x(5.01)), cell("gevent", "memory_mb", x(58)),
		cell("node", "last_answer_s", measure.Value{Missing: "failed: it did not start"}),
	})
}

// The same burst on several kinds of worker stands side by side; another burst
// under the same title does not.
func TestBurstsAreTheSameOnEveryKindOfWorker(t *testing.T) {
	b := &builder{m: &Model{}, Input: Input{Table: burstTable()}}
	bursts := b.bursts()
	if len(bursts) != 1 || bursts[0].Requests != 10 || len(bursts[0].On) != 3 {
		t.Fatalf("%+v", bursts)
	}
	sync, gevent, node := bursts[0].On[0], bursts[0].On[1], bursts[0].On[2]
	if sync.LastAnswer.X != 15.1 || sync.Workers != 4 || gevent.Workers != 0 || gevent.Memory.X != 58 {
		t.Errorf("sync %+v, gevent %+v: the median of sync is 15.1 s, gevent has no fixed number of workers", sync, gevent)
	}
	if node.LastAnswer.None != "failed: it did not start" || node.Server != "Node.js" {
		t.Errorf("node %+v", node)
	}
	if want, got := "gunicorn sync gave its last answer after 15.10\u00a0s, gunicorn gevent after 5.01\u00a0s; they held 165\u00a0MB and 58.00\u00a0MB of memory.", bursts[0].sentence(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Where nothing can be computed the section says so, and where the experiment
// asks nothing of the kind it is silent.
func TestTakeawaySaysWhatIsMissing(t *testing.T) {
	b := &builder{m: &Model{}, Input: Input{Table: burstTable()}}
	if err := b.takeaway(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(b.m.Takeaway.Missing, " "); !strings.Contains(got, "sustainable was not computed") {
		t.Errorf("missing: %s", got)
	}
	b = &builder{m: &Model{}, Input: Input{Table: measure.Assemble(nil, nil)}}
	if err := b.takeaway(); err != nil || b.m.Takeaway != nil {
		t.Errorf("%+v, %v", b.m.Takeaway, err)
	}
}

// A wait without end has no number, so that the model stays JSON.
func TestEndlessWaitsHaveWords(t *testing.T) {
	p := poolOf(measure.Capacity{Server: "brink", Waits: []measure.Expected{{Rate: 40, Utilisation: 1.02, LeastMs: math.Inf(1), MostMs: math.Inf(1)}, {Rate: 20, Utilisation: 0.5, LeastMs: 5, MostMs: 9}}})
	if p.Server != "built-in server" || p.Waits[0].Least.None != "grows without end" || p.Waits[0].UtilisationPct != 102 || p.Waits[1].Most.X != 9 {
		t.Errorf("%+v", p)
	}
}

// Threads of several processes are no one queue: the waits of M/D/c would
// contradict that each process keeps what it took.
func TestTakeawayPromisesNoWaitsToThreadsOfSeveralProcesses(t *testing.T) {
	m := fixture(t)
	m.Takeaway.Pools = []Pool{poolOf(measure.Capacity{Server: "gunicorn gthread", Step: "ten-gthread", Workers: 16, Processes: 4, ServiceMs: 611.2, Rate: 26.18, Requests: 5, Apart: true})}
	_, section, _ := strings.Cut(renderedMarkdown(t, m), "## 14.")
	if !strings.Contains(section, "each process keeps the connections that it took") || !strings.Contains(section, "`ten-gthread` on 5 requests)") || strings.Contains(section, "mean wait for a worker in theory") {
		t.Errorf("section 14:\n%.1500s", section)
	}
}

// Five processes and their master are six times what one holds, and it is only
// memory that suffices.
func TestTakeawayCountsTheMaster(t *testing.T) {
	md := renderedMarkdown(t, fixture(t))
	for _, want := range []string{"Memory with their master, MB", "Memory suffices", "and so does the master that starts them", "not CPU"} {
		if !strings.Contains(md, want) {
			t.Errorf("section 14 does not say %q", want)
		}
	}
}

// Nothing is said of a share that is not known.
func TestTakeawayCostsOnlyWhatIsKnown(t *testing.T) {
	say := func(change func(*Pool)) string {
		m := fixture(t)
		change(&m.Takeaway.Pools[0])
		_, section, _ := strings.Cut(renderedMarkdown(t, m), "## 14.")
		section, _, _ = strings.Cut(section, "## 15.")
		return section
	}
	whole := say(func(*Pool) {})
	for _, want := range []string{"at most 39.20 requests a second are sustainable", "470 requests a second would take 60 workers in 60 processes; with their master that is 2,013\u00a0MB, 108.5\u00a0% of the plan's memory: more than there is.", "| 5.50 | 8.90 |"} {
		if !strings.Contains(whole, want) {
			t.Errorf("section 14 does not say %q", want)
		}
	}
	if s := say(func(p *Pool) { p.PlanMB = 0 }); strings.Contains(s, "Share of") || !strings.Contains(s, "neither the plan nor the record") {
		t.Error("a share of nothing")
	}
	if s := say(func(p *Pool) { p.ProcessMB = 0 }); strings.Contains(s, "Memory with their master, MB |\n| ---: | ---: | ---: | ---: |") || !strings.Contains(s, "the memory of one process was not measured") {
		t.Error("memory that is not known has a price")
	}
}
