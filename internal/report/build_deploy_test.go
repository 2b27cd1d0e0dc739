package report

import (
	"testing"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/metric"
	"brink/internal/record"
)

// Steps stand side by side when the deploy mode is all that differs: not when the
// memory that apps fill, or the plan, differs too.
func TestZipsStandBesideTheContainersThatAreLikeThem(t *testing.T) {
	step := func(name, deploy string, mb, swap int) measure.StepInfo {
		s := measure.StepInfo{Step: experiment.Step{Name: name, Plan: experiment.Plan{MemoryMB: 1855, SwapMB: swap}}}
		s.Apps = []experiment.App{{Name: "node-" + deploy, Runtime: "node", Deploy: deploy, AllocMB: mb}}
		s.Traffic = []experiment.Traffic{{App: "node-" + deploy, Kind: "steady"}}
		s.Repetitions = []measure.RepetitionInfo{{Repetition: record.Repetition{Number: 1, Status: record.Done}}}
		return s
	}
	charged, _ := metric.Lookup("cgroup_memory_mb")
	cell := func(step string, x float64) measure.Cell {
		return measure.Cell{Metric: charged, Step: step, Values: []measure.Value{{X: x}}}
	}
	steps := []measure.StepInfo{step("c-50", "container", 50, 2048), step("z-50", "zip", 50, 2048), step("z-100", "zip", 100, 2048), step("c-100", "container", 100, 800)}
	b := &builder{m: &Model{}, Input: Input{Table: measure.Assemble(steps, []measure.Cell{cell("z-50", 120), cell("c-50", 133)})}}
	if err := b.deployPairs(); err != nil {
		t.Fatal(err)
	}
	if len(b.m.DeployPairs) != 1 {
		t.Fatalf("%+v, want one pair", b.m.DeployPairs)
	}
	p := b.m.DeployPairs[0]
	if v := p.Values[1]; p.Zip != "z-50" || p.Container != "c-50" || v.Metric.Name != "cgroup_memory_mb" || v.Zip.X != 120 || v.Container.X != 133 {
		t.Errorf("%+v", p)
	}
	blocks := deployBlocks(b.m.DeployPairs)
	if got := blocks[2].Table.Rows[0][3][0].Text; got != "120 → 133" {
		t.Errorf("the table says %q", got)
	}
}
