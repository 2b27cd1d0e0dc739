package report

import (
	"slices"
	"testing"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/metric"
)

// More wait at an event loop whose workers cannot be counted, but where they
// can the picture shows why.
func TestFramesPreferStepsWhoseWorkersAreCounted(t *testing.T) {
	m, _ := metric.Lookup("accept_queue_max")
	queue := func(step string, n float64) measure.Cell {
		return measure.Cell{Metric: m, Step: step, Values: []measure.Value{{X: n}}}
	}
	step := func(name string) measure.StepInfo { return measure.StepInfo{Step: experiment.Step{Name: name}} }
	steps := []measure.StepInfo{step("gevent"), step("sync"), step("more"), step("node")}
	b := &builder{Input: Input{Table: measure.Assemble(steps, []measure.Cell{queue("gevent", 5), queue("sync", 1), queue("more", 2), queue("node", 9)})}}
	counted := measure.Workers{Total: []measure.BandPoint{{P50: 4, P95: 4}}}
	sc := scenario{steps: steps, pools: []measure.Workers{{Unknown: []string{"a"}}, counted, counted, {Unknown: []string{"a"}}}}
	at, also := b.mostQueued(sc)
	if at != 2 || !slices.Equal(also, []string{"gevent", "sync", "node"}) {
		t.Errorf("step %d of the scenario is drawn, and %v waited too", at, also)
	}
	sc.pools[1], sc.pools[2] = measure.Workers{}, measure.Workers{}
	if at, _ = b.mostQueued(sc); at != 3 {
		t.Errorf("where none can be counted, step %d is drawn, not the one where most wait", at)
	}
}

// The row that calls every wait one for a worker says what else is in it.
func TestResultsSayWhatElseAWaitIs(t *testing.T) {
	cell := func(step, name string, x float64) measure.Cell {
		m, _ := metric.Lookup(name)
		return measure.Cell{Metric: m, Step: step, Values: []measure.Value{{X: x}}}
	}
	step := func(name, class string) measure.StepInfo {
		return measure.StepInfo{Step: experiment.Step{Name: name, Apps: []experiment.App{{Name: "a", Runtime: "flask", WorkerClass: class, Workers: 4}}, Traffic: []experiment.Traffic{{App: "a", Kind: "batch"}}}}
	}
	full, loop, plain := step("full", "sync"), step("loop", "gevent"), step("plain", "sync")
	b := &builder{m: &Model{}, Input: Input{Table: measure.Assemble([]measure.StepInfo{full, loop, plain}, []measure.Cell{
		cell("full", "queue_wait_max_s", 2.685), cell("full", "connect_max_s", 1.017), cell("loop", "queue_wait_max_s", 0.07), cell("loop", "connect_max_s", 0.001),
		cell("plain", "queue_wait_max_s", 1.2), cell("plain", "connect_max_s", 0.002)})}}
	want := "Longest wait to be served: the time to connect is part of it, and took up to 1.017\u00a0s here, since a connection that finds the accept queue full is tried again after a second and more."
	if got := b.waitNotes(full); len(got) != 1 || got[0] != want {
		t.Errorf("%q, want %q", got, want)
	}
	want = "Longest wait to be served: nobody waits for a worker on an event loop; this is the time until the app took a request up."
	if got := b.waitNotes(loop); len(got) != 1 || got[0] != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := b.waitNotes(plain); got != nil {
		t.Errorf("%q", got)
	}
}
