package report

import (
	"math"
	"strings"
	"testing"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/metric"
	"brink/internal/queue"
)

// waitsTable is two repetitions of 30 requests/s on four workers that each
// keep a request for 100 ms, a third of which the wait is missing, and a step
// without random arrivals. Every predicted wait holds 1.5 ms beside the queue.
func waitsTable() *measure.Table {
	app := []experiment.App{{Name: "web", Runtime: "flask", WorkerClass: "sync", Workers: 4}}
	steps := []measure.StepInfo{
		{Step: experiment.Step{Name: "p30", Apps: app, Traffic: []experiment.Traffic{{Kind: "rate", Rate: 30}}}},
		{Step: experiment.Step{Name: "even", Apps: app, Traffic: []experiment.Traffic{{Kind: "rate", Rate: 30}}}},
	}
	cell := func(step, name string, xs ...float64) measure.Cell {
		m, _ := metric.Lookup(name)
		c := measure.Cell{Metric: m, Step: step}
		for i, x := range xs {
			v := measure.Value{Number: i + 1, X: x}
			if x < 0 {
				v = measure.Value{Number: i + 1, Missing: "no request was answered"}
			}
			c.Values = append(c.Values, v)
		}
		return c
	}
	theory := 1000*queue.MDC(4, 30, 0.1).Mean + 1.5
	return measure.Assemble(steps, []measure.Cell{
		cell("p30", "wait_mean_ms", 25, 31, -1), cell("p30", "occupied_ms", 100, 100, 100), cell("p30", "answers_per_s", 30, 32, 30),
		cell("p30", "wait_theory_ms", theory, theory, theory), cell("p30", "wait_simulated_ms", 24, -1, -1),
		cell("p30", "utilisation_pct", 73.5, 78.4, 73.5),
		cell("even", "wait_mean_ms", 0.1), cell("even", "occupied_ms", 100), cell("even", "answers_per_s", 30), cell("even", "wait_theory_ms", -1),
	})
}

// Utilisation by hand: 30 and 32 requests/s of 100 ms on four workers are 75
// and 80 %.
func TestBuildSetsWaitsAgainstTheory(t *testing.T) {
	b := &builder{m: &Model{}, Input: Input{Table: waitsTable()}}
	if err := b.waits(); err != nil {
		t.Fatal(err)
	}
	if len(b.m.Charts) != 1 {
		t.Fatalf("%d charts, want one kind of pool", len(b.m.Charts))
	}
	rows := b.m.Charts[0].Table.Rows
	if len(rows) != 2 || rows[0][2] != "75.00" || rows[1][2] != "80.00" || rows[0][4] != "24.00" || rows[1][4] != "–" {
		t.Errorf("%v: want repetitions 1 and 2 at 75 and 80 %%, the first with a simulation", rows)
	}
	g := &waitGroup{in: WaitsInput{Workers: 4}}
	step, _ := b.Table.Step("p30")
	g.add(b.Table, step)
	// At 30 requests/s 73.5 % of four workers are 98 ms each, 2 of the 100 less.
	if len(g.besides) != 2 || math.Abs(g.besides[0]-2) > 1e-9 {
		t.Errorf("beside the time in the app: %v ms, want 2", g.besides)
	}
	if note := b.m.Charts[0].Note; !strings.Contains(note, "2.00 ms are beside its time in the app") || !strings.Contains(note, "no independent prediction") {
		t.Errorf("the picture does not say what it takes from the measurement: %s", note)
	}
	if note := b.m.Charts[0].Note; strings.Contains(note, "the least to expect") {
		t.Errorf("four processes that share a socket have one queue: %s", note)
	}
	apart := WaitsInput{Workers: 16, ServiceS: 0.1, Apart: true}
	if note := apart.note(); !strings.Contains(note, "each process keeps the connections that it took, so they are the least to expect") {
		t.Errorf("threads of several processes: %s", note)
	}
	if len(g.overheads) != 2 || math.Abs(g.overheads[0]-1.5) > 1e-9 || g.services[0] != 0.1 {
		t.Errorf("overheads %v ms, services %v s; want 1.5 and 0.1", g.overheads, g.services)
	}
}
