package traffic

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestValidateAcceptsEachKind(t *testing.T) {
	for _, s := range []Spec{
		{Kind: KindSteady, Every: time.Second, Duration: time.Minute},
		{Kind: KindSteady, Every: time.Second, Count: 3},
		{Kind: KindRate, Rate: 0.5, Duration: time.Minute},
		{Kind: KindRate, Rate: 100, Arrivals: ArrivalsPoisson, Seed: 7, Count: 5},
		{Kind: KindBatch, Count: 8},
		{Kind: KindBatch, Count: 8, Stagger: 20 * time.Millisecond},
		{Kind: KindSequential, Count: 4},
	} {
		s.Path, s.Timeout = "/thread-hold?secs=5", time.Second
		if err := s.Validate(); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

func TestValidateNamesTheFieldThatIsWrong(t *testing.T) {
	good := Spec{Kind: KindSteady, Every: time.Second, Duration: time.Minute, Path: "/", Timeout: time.Second}
	for _, c := range []struct {
		name  string
		spoil func(*Spec)
		want  string
	}{
		{"no kind", func(s *Spec) { s.Kind = "" }, `kind is ""`},
		{"no interval", func(s *Spec) { s.Every = 0 }, "every is 0s"},
		{"endless", func(s *Spec) { s.Duration = 0 }, "never end"},
		{"negative duration", func(s *Spec) { s.Duration = -1 }, "duration is -1ns"},
		{"negative count", func(s *Spec) { s.Count = -1 }, "count is -1"},
		{"field of another kind", func(s *Spec) { s.Rate = 5 }, "rate is set"},
		{"seed without dice", func(s *Spec) { *s = Spec{Kind: KindRate, Rate: 1, Count: 1, Seed: 1, Path: "/", Timeout: 1} }, "seed is set"},
		{"rate not a number", func(s *Spec) { *s = Spec{Kind: KindRate, Rate: math.NaN(), Count: 1, Path: "/", Timeout: 1} }, "rate is NaN"},
		{"rate beyond reason", func(s *Spec) { *s = Spec{Kind: KindRate, Rate: 1e7, Count: 1, Path: "/", Timeout: 1} }, "at most 1e+06"},
		{"arrivals", func(s *Spec) { *s = Spec{Kind: KindRate, Rate: 1, Arrivals: "bursts", Count: 1, Path: "/", Timeout: 1} }, `arrivals is "bursts"`},
		{"empty batch", func(s *Spec) { *s = Spec{Kind: KindBatch, Path: "/", Timeout: 1} }, "count is 0"},
		{"stagger runs over", func(s *Spec) { *s = Spec{Kind: KindBatch, Count: 3, Stagger: math.MaxInt64 / 2, Path: "/", Timeout: 1} }, "stagger is"},
		{"empty sequence", func(s *Spec) { *s = Spec{Kind: KindSequential, Path: "/", Timeout: 1} }, "count is 0"},
		{"no path", func(s *Spec) { s.Path = "" }, `path is ""`},
		{"header in path", func(s *Spec) { s.Path = "/ HTTP/1.1\r\nX: y" }, "path is"},
		{"header in host", func(s *Spec) { s.Host = "a\r\nX: y" }, "host is"},
		{"method", func(s *Spec) { s.Method = "get it" }, "method is"},
		{"no patience", func(s *Spec) { s.Timeout = 0 }, "timeout is 0s"},
		{"connections", func(s *Spec) { s.Connections = -1 }, "connections is -1"},
	} {
		s := good
		c.spoil(&s)
		err := s.Validate()
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line with %q", c.name, err, c.want)
		}
	}
}

func TestRequestIsWhatTheSpecAsksFor(t *testing.T) {
	kept := Spec{Path: "/work?touch_mb=1", Reuse: true}
	if got, want := string(kept.request("127.0.0.1:8000")), "GET /work?touch_mb=1 HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nUser-Agent: brink\r\nAccept: */*\r\n\r\n"; got != want {
		t.Errorf("kept connection:\n%q, want\n%q", got, want)
	}
	fresh := Spec{Path: "/", Method: "HEAD", Host: "app-1.test"}
	if got, want := string(fresh.request("127.0.0.1:8000")), "HEAD / HTTP/1.1\r\nHost: app-1.test\r\nUser-Agent: brink\r\nAccept: */*\r\nConnection: close\r\n\r\n"; got != want {
		t.Errorf("new connection:\n%q, want\n%q", got, want)
	}
}

func TestOutcomeNamesAreDistinctAndReadBack(t *testing.T) {
	seen := map[string]bool{}
	for o := range outcomes {
		name := o.String()
		if name == "" || seen[name] {
			t.Errorf("outcome %d is called %q, which is empty or taken", o, name)
		}
		seen[name] = true
		var back Outcome
		if err := back.UnmarshalText([]byte(name)); err != nil || back != o {
			t.Errorf("%q reads back as %v, %v", name, back, err)
		}
	}
	var o Outcome
	if err := o.UnmarshalText([]byte("fine")); err == nil {
		t.Error("an unknown name was accepted")
	}
}
