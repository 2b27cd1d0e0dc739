package doctor

import (
	"strings"
	"testing"
	"time"

	"brink/internal/evidence"
)

// Only a kernel without the field (before 3.14) is estimated for, and only with its
// caches (Documentation/filesystems/proc.rst, MemAvailable).
func TestAvailableMemoryIsEstimatedOnlyWithoutTheField(t *testing.T) {
	known := func(v float64) evidence.Value {
		return evidence.Known(v, evidence.Bytes, evidence.Source{File: "meminfo"})
	}
	for name, c := range map[string]struct {
		available, cached evidence.Value
		estimate          bool
	}{
		"no field, and caches": {evidence.Missing(evidence.NotSeen, ""), known(1e9), true},
		"no field, no caches":  {evidence.Missing(evidence.NotSeen, ""), evidence.Missing(evidence.NotSeen, ""), false},
		"a field that is bad":  {evidence.Missing(evidence.Unreadable, "-5"), known(1e9), false},
		"a field too large":    {evidence.Missing(evidence.Implausible, "more than MemTotal"), known(1e9), false},
	} {
		m := evidence.Meminfo{MemTotal: known(8e9), MemFree: known(1e8), MemAvailable: c.available, Cached: c.cached}
		l := newLook(&evidence.Case{Readings: []evidence.Reading{{Meminfo: m}}})
		if l.estimated != c.estimate || l.headroom.Known != c.estimate {
			t.Errorf("%s: estimated %v, headroom %+v, want %v", name, l.estimated, l.headroom, c.estimate)
		}
	}
}

func TestSamplesFarApartAreNoDuration(t *testing.T) {
	at := time.Date(2026, 4, 1, 10, 0, 0, 0, time.UTC)
	for want, minutes := range map[string][]int{
		"since 2026-04-01 10:00:00, seen for 4m":                                                {0, 1, 2, 3, 4},
		"since 2026-04-01 10:00:00, at two instants, 8h apart; what was in between is not told": {0, 480},
		"since 2026-04-01 10:00:00, seen at 5 instants within 2h3m, of which none for 2h":       {0, 1, 2, 3, 123},
	} {
		var points []evidence.Point
		for _, m := range minutes {
			points = append(points, evidence.Point{At: at.Add(time.Duration(m) * time.Minute), Number: 95})
		}
		var f Finding
		if f.betweenSamples(points); f.Span != want {
			t.Errorf("samples at %v min: %q, want %q", minutes, f.Span, want)
		}
	}
}

// A unit of systemd is no container: it says "unit" of it (Result=oom-kill of
// systemctl show, systemd.exec(5)).
func TestAKilledUnitIsNoContainer(t *testing.T) {
	for want, platform := range map[string]evidence.Origin{"systemd reports that the unit shop was killed": evidence.FromSystem, "The platform reports that the container shop was killed": evidence.FromDocker} {
		c := &evidence.Case{Containers: []evidence.Container{{Name: "shop", Platform: platform, OOMKilled: evidence.Yes, State: "exited"}}}
		f := Diagnose(c).Finding(OOMKill)
		if f == nil || !strings.HasPrefix(f.What, want) || platform == evidence.FromSystem && strings.Contains(f.What+f.Cause, "container") || !strings.Contains(f.Cause, "shop needs more") {
			t.Errorf("%+v, want it to begin with %q", f, want)
		}
	}
}

// A check of Container Apps whose line names no port asks the target port of the
// ingress (learn.microsoft.com/azure/container-apps/health-probes).
func TestARefusedCheckAsksTheTargetPort(t *testing.T) {
	at := time.Date(2026, 4, 1, 10, 0, 0, 0, time.UTC)
	place := evidence.Source{File: "ingress.json", Field: "targetPort"}
	c := &evidence.Case{Logs: []evidence.Log{{File: "system.log", Origin: evidence.FromPlatform}, {File: "console.log", Origin: evidence.FromServer}}}
	c.Config.Settings = []evidence.Setting{{Name: evidence.TargetPort, Text: "80", Value: evidence.Known(80, evidence.NoUnit, place), From: place}}
	c.Events = []evidence.Event{{Kind: evidence.Listening, Origin: evidence.FromServer, At: at, App: "shop", Port: 8080, Address: "0.0.0.0:8080"}}
	for i := range 6 {
		c.Events = append(c.Events, evidence.Event{Kind: evidence.ProbeFailed, Origin: evidence.FromPlatform, Reason: "refused", App: "shop", At: at.Add(time.Duration(70+10*i) * time.Second)})
	}
	f := Diagnose(c).Finding(FailedStart)
	if f == nil || !strings.Contains(f.What, "on port 80:") || !strings.Contains(f.What, "listens on port 8080 instead") {
		t.Errorf("%+v, want the port asked, 80, and the one listened on, 8080", f)
	}
}

// What is in order in the part that can be read says nothing of the part that
// cannot; what nobody gave, or may give, does not spoil the rest.
func TestSpoiltEvidenceIsNotHealthy(t *testing.T) {
	known := func(v float64) evidence.Value {
		return evidence.Known(v, evidence.Bytes, evidence.Source{File: "meminfo"})
	}
	m := evidence.Meminfo{MemTotal: known(8e9), MemFree: known(6e9), MemAvailable: known(7e9), Cached: known(1e9)}
	for why, want := range map[evidence.Reason]Verdict{evidence.Unreadable: Unknown, evidence.Denied: Healthy, evidence.NotSeen: Healthy} {
		c := &evidence.Case{
			Readings: []evidence.Reading{{Meminfo: m}},
			Gaps:     []evidence.Gap{{What: evidence.HasServerLog, Why: why, Detail: "a.tgz ends early, and what stood behind is lost"}},
		}
		r := Diagnose(c)
		if r.Verdict != want {
			t.Errorf("%s: %s, want %s", why, r.Verdict, want)
		}
		if why == evidence.Unreadable && r.Summary != "No verdict: a part of the evidence cannot be read: a.tgz ends early, and what stood behind is lost." {
			t.Errorf("the summary is %q", r.Summary)
		}
	}
}
