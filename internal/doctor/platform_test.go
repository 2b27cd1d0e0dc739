package doctor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"brink/internal/evidence"
)

// Where brink itself is the platform there is no platform's log, but brink has
// told what it did: three apps that it restarts together, twice, a minute and a
// half apart.
func TestRestartsByBrinkItselfAreACascade(t *testing.T) {
	var c evidence.Case
	begin := time.Date(2026, 4, 2, 10, 0, 0, 0, time.UTC)
	for round := range 2 {
		for app := range 3 {
			at := begin.Add(time.Duration(round)*90*time.Second + time.Duration(app)*time.Second)
			c.Events = append(c.Events, evidence.Event{At: at, Kind: evidence.ContainerStarted, Origin: evidence.FromBrink, App: fmt.Sprintf("crowd-%d", app+1),
				Reason: "restarted", From: evidence.Source{File: "record.db", Line: len(c.Events) + 1, Field: "events"}})
		}
	}
	if r := Diagnose(&c); r.Finding(RestartCascade) == nil {
		t.Errorf("found %q, want restart-cascade", modesFound(r))
	}
	c.Events = c.Events[:3] // once is a deployment
	if r := Diagnose(&c); len(r.Findings) > 0 {
		t.Errorf("found %q of one round, want nothing", modesFound(r))
	}
}

// Under a start limit of 8 s an app is restarted many times a minute: two of four
// that end in turn, as on a plan with room for one, are a cascade of as many
// rounds as the one that gave in first has ends.
func TestRoundsMayBeSeconds(t *testing.T) {
	var c evidence.Case
	begin := time.Date(2026, 4, 2, 10, 0, 0, 0, time.UTC)
	end := func(app string, seconds int) {
		c.Events = append(c.Events, evidence.Event{At: begin.Add(time.Duration(seconds) * time.Second), Kind: evidence.ContainerExited, Origin: evidence.FromBrink, App: app,
			From: evidence.Source{File: "record.db", Line: len(c.Events) + 1, Field: "events"}})
	}
	for i := range 6 {
		end("crowd-2", 4+18*i)
	}
	for i := range 4 {
		end("crowd-3", 17*i)
	}
	f := Diagnose(&c).Finding(RestartCascade)
	if f == nil {
		t.Fatalf("found %q, want restart-cascade", modesFound(Diagnose(&c)))
	}
	if want := "2 apps in 4 rounds, 8 restarts in all."; !strings.HasSuffix(f.What, want) {
		t.Errorf("%s\nwant it to end: %s", f.What, want)
	}
	c.Events = c.Events[:6] // alone it is a loop
	if r := Diagnose(&c); r.Finding(RestartCascade) != nil || r.Finding(CrashLoop) == nil {
		t.Errorf("found %q of one app, want crash-loop", modesFound(r))
	}
}

// Four apps come one after another, and are asked all at once when they are
// there: who is the newest, the platform tells. One in the middle that fails is
// a fault of its own.
func TestTheNewestIsWhoCameLast(t *testing.T) {
	begin := time.Date(2026, 4, 2, 10, 0, 0, 0, time.UTC)
	for failing, want := range map[int]Mode{4: CapacityCliff, 2: ""} {
		var c evidence.Case
		for app := 1; app <= 4; app++ {
			c.Events = append(c.Events, evidence.Event{At: begin.Add(time.Duration(app) * 20 * time.Second), Kind: evidence.ContainerCreated, Origin: evidence.FromBrink,
				App: fmt.Sprintf("crowd-%d", app), Reason: "deployed", From: evidence.Source{File: "record.db", Line: app, Field: "events"}})
		}
		for app := 4; app >= 1; app-- { // the newest is asked first
			q := evidence.Requests{File: fmt.Sprintf("record.db probes of crowd-%d /ping", app), Outside: true}
			for n := range 8 {
				one := evidence.Request{App: fmt.Sprintf("crowd-%d", app), Path: "/ping", Status: 200, Line: n + 1, Seconds: 0.01,
					At: begin.Add(2*time.Minute + time.Duration(n)*time.Second - time.Duration(app)*time.Millisecond)}
				if app == failing {
					one.Status = 503
				}
				q.List = append(q.List, one)
			}
			c.Requests = append(c.Requests, q)
		}
		got := Mode("")
		if f := Diagnose(&c).Finding(CapacityCliff); f != nil {
			got = f.Mode
		}
		if got != want {
			t.Errorf("app %d of 4 fails: %q, want %q", failing, got, want)
		}
	}
}
