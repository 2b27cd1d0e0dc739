package lab

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"brink/internal/experiment"
	"brink/internal/host"
)

// pressed is a step under pressure, free the same without.
func pressed() (on, off experiment.Step) {
	on, off = plain("on"), plain("off")
	on.Pressure = experiment.Pressure{MB: 400, Every: experiment.Duration(2 * time.Second)}
	on.SwapIn, off.SwapIn = true, true
	return on, off
}

// Pressure is there while the traffic of its step runs, and everything is brought
// back from swap between the phases: once before each but the first.
func TestPressureSurroundsTheTrafficOfItsPhases(t *testing.T) {
	on, off := pressed()
	d := design(1, on, off)
	d.Experiment.Hypotheses = []experiment.Hypothesis{{Form: experiment.CausedBy, On: "on", Off: "off"}}
	var mu sync.Mutex
	var did []string
	note := func(what string) error {
		mu.Lock()
		defer mu.Unlock()
		did = append(did, what)
		return nil
	}
	h := newFakeHost(t, nil)
	h.asked = func(*http.Request) { _ = note("traffic") }
	h.presses, h.press = true, note
	for i := range d.Steps {
		d.Steps[i].Traffic = []experiment.Traffic{pings("site", 1)}
	}
	r := run(t, t.Context(), Options{Design: d, Host: h})
	if r.err != nil || r.Done != 4 {
		t.Fatalf("%+v, %v", r.Result, r.err)
	}
	var want []string
	for phase, p := range order(d, 0)[0].parts {
		if phase > 0 {
			want = append(want, "swap in")
		}
		if p.step.Name == "on" {
			want = append(want, "inflate 400 MB every 2s", "traffic", "deflate")
		} else {
			want = append(want, "traffic")
		}
	}
	if !slices.Equal(did, want) {
		t.Errorf("did   %s\nwanted %s", strings.Join(did, ", "), strings.Join(want, ", "))
	}
}

// Memory that cannot be had is data about the step; the run goes on.
func TestPressureThatCannotBeHad(t *testing.T) {
	h := newFakeHost(t, nil)
	h.presses = true
	h.press = func(what string) error {
		if strings.HasPrefix(what, "inflate") {
			return errors.New("the OOM killer took it")
		}
		return nil
	}
	on, off := pressed()
	r := run(t, t.Context(), Options{Design: design(1, on, off), Host: h})
	if r.err != nil || r.Done != 1 || r.Failed != 1 || len(r.NeverServed) != 0 {
		t.Errorf("%+v, %v; want one done and one failed", r.Result, r.err)
	}
	names := r.stepNames()
	for _, rep := range r.repetitions() {
		if names[rep.StepID] == "on" && rep.Reason != "a pressure of 400 MB: the OOM killer took it" {
			t.Errorf("it failed because %q", rep.Reason)
		}
	}
}

// That a host cannot put its plans under pressure is known before anything is
// set up.
func TestAHostWithoutPressureRefuses(t *testing.T) {
	on, off := pressed()
	calm := off
	calm.SwapIn = false
	for _, tc := range []struct {
		steps []experiment.Step
		want  string
	}{
		{[]experiment.Step{calm}, ""},
		{[]experiment.Step{calm, on}, "step on puts the plan under a pressure of 400 MB, which the host fake cannot do"},
		{[]experiment.Step{off}, "step off brings everything back from swap between its phases, which the host fake cannot do"},
	} {
		for _, h := range []host.Host{newFakeHost(t, nil), plainHost{newFakeHost(t, nil)}} {
			err := Check(h, design(1, tc.steps...))
			if got := message(err); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		}
		able := newFakeHost(t, nil)
		able.presses = true
		if err := Check(able, design(1, tc.steps...)); err != nil {
			t.Errorf("a host that can: %v", err)
		}
	}
	h := newFakeHost(t, nil)
	r := run(t, t.Context(), Options{Design: design(1, on), Host: h})
	if r.err == nil || !strings.Contains(r.err.Error(), "which the host fake cannot do") || len(h.sessions) != 0 {
		t.Errorf("%v with %d sessions; want a refusal before the first", r.err, len(h.sessions))
	}
}

// plainHost is a host that says nothing of pressure.
type plainHost struct{ h *fakeHost }

func (p plainHost) Kind() string { return p.h.Kind() }

func (p plainHost) Check(ctx context.Context, plan experiment.Plan, apps []experiment.App) ([]host.Missing, error) {
	return p.h.Check(ctx, plan, apps)
}

func (p plainHost) Environment(ctx context.Context) ([]host.Fact, error) { return p.h.Environment(ctx) }

func (p plainHost) Open(ctx context.Context, plan experiment.Plan, every time.Duration, o host.Observer) (host.Session, error) {
	return p.h.Open(ctx, plan, every, o)
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
