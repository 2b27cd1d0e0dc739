package report

import (
	"strings"
	"testing"

	"brink/internal/experiment"
	"brink/internal/measure"
)

func emulated(run Run, step experiment.Step, facts ...Fact) *Model {
	b := &builder{m: &Model{Run: run, Environment: facts}, Input: Input{Table: measure.Assemble([]measure.StepInfo{{Step: step}}, nil)}}
	_ = b.emulation() // it reads nothing
	return b.m
}

// Whatever the emulation decides is said; what it has no part in is not.
func TestEmulationIsNamedPartByPart(t *testing.T) {
	full := experiment.Step{
		Plan: experiment.Plan{SwapIOPS: 150, SwapMBs: 12, Share: experiment.Share{BallastMB: 650}, Platform: experiment.Platform{FrontEnd: true}},
		Apps: []experiment.App{{Deploy: "container"}},
	}
	m := emulated(Run{Accelerator: "tcg"}, full, Fact{Name: "speed factor", Value: "16.2"})
	if m.Run.SpeedFactor != 16.2 {
		t.Errorf("the speed factor is %v, want 16.2", m.Run.SpeedFactor)
	}
	if len(m.Notices) != 1 || m.Notices[0].Kind != "accelerator" {
		t.Errorf("notices: %+v", m.Notices)
	}
	text := strings.Join(m.Emulation, "\n")
	for _, want := range []string{"`tcg`, which translates every instruction: a fixed piece of work took 16.20 times as long", "150 operations and 12.00\u00a0MB a second", "crun", "sidecar", "the start limit", "TLS"} {
		if !strings.Contains(text, want) {
			t.Errorf("the emulation does not say %q:\n%s", want, text)
		}
	}
	bare := strings.Join(emulated(Run{Accelerator: "kvm"}, experiment.Step{Apps: []experiment.App{{Deploy: "zip"}}}).Emulation, "\n")
	for _, not := range []string{"crun", "sidecar", "start limit", "swap disk", "tcg", "translates"} {
		if strings.Contains(bare, not) {
			t.Errorf("a plain plan under kvm is said to have %q:\n%s", not, bare)
		}
	}
	if m := emulated(Run{Accelerator: "none"}, full); len(m.Emulation)+len(m.Notices) != 0 {
		t.Errorf("nothing is emulated on the machine itself: %v", m.Emulation)
	}
	if text := strings.Join(emulated(Run{Accelerator: "tcg"}, full).Emulation, "\n"); !strings.Contains(text, "by how much was not measured") {
		t.Errorf("without a speed factor: %s", text)
	}
}
