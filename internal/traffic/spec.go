// Package traffic sends HTTP/1.1 requests to an app as an open loop: a schedule
// says when each request is due, whatever the app does, and a request's latency
// counts from that instant. A server that stalls therefore shows the wait that
// its users would have had, instead of slowing the tool that measures it.
//
// Three parts carry it: a schedule of due instants, a dispatcher that follows
// it, and a pool of reused workers, each with one connection at most.
package traffic

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"
)

// Kind names a shape of traffic.
type Kind string

// The kinds of traffic.
const (
	KindSteady     Kind = "steady"     // one request every Spec.Every
	KindRate       Kind = "rate"       // Spec.Rate requests per second
	KindBatch      Kind = "batch"      // Spec.Count requests at once, or Spec.Stagger apart
	KindSequential Kind = "sequential" // Spec.Count requests, each due when the one before it ended
)

// How the requests of KindRate arrive.
const (
	ArrivalsConstant = "constant" // evenly spaced
	ArrivalsPoisson  = "poisson"  // independent exponential gaps, drawn from Spec.Seed
)

const (
	// DefaultConnections bounds the connections at once, but those of a batch,
	// unless Spec.Connections does. Run lowers it to what the limit of open files
	// leaves.
	DefaultConnections = 10_000

	maxRate = 1e6 // requests per second; above it the schedule's nanoseconds mean little
)

// Spec says what to send, where on the server, and when. A field that its Kind
// does not use must be left zero.
type Spec struct {
	Kind Kind

	Count    int           // batch, sequential: how many; steady, rate: the most, 0 = Duration alone decides
	Every    time.Duration // steady: from one request to the next
	Rate     float64       // rate: requests per second, up to a million
	Arrivals string        // rate: ArrivalsConstant (also when empty) or ArrivalsPoisson
	Seed     int64         // rate: of the Poisson arrivals
	Duration time.Duration // steady, rate: requests are due from the start until before this
	Stagger  time.Duration // batch: from one request to the next, 0 = all at once

	Method string // GET when empty
	Path   string // with the query
	Host   string // the Host header, the address that is dialled when empty

	// Timeout is the client's patience with one request, counted from Probe.Sent.
	// It alone bounds how long an answer's body may be.
	Timeout time.Duration

	// Reuse keeps connections for further requests. Without it every request
	// opens its own and asks the server to close it.
	Reuse bool

	// Connections is the upper bound of connections at once. When it binds,
	// requests wait for one, their latency still counts from when they were due,
	// and the traffic counts as not held. 0 means DefaultConnections, or fewer
	// where the process may not open as many files, and for a batch at once as
	// many as it has requests.
	Connections int
}

// Validate says in one sentence what is wrong with the spec, or nil.
func (s Spec) Validate() error {
	if err := cmp.Or(s.validateKind(), s.validateRequest()); err != nil {
		return fmt.Errorf("traffic: %w", err)
	}
	return nil
}

func (s Spec) validateKind() error {
	switch s.Kind {
	case KindSteady:
		if s.Every <= 0 {
			return fmt.Errorf("steady: every is %v, want more than 0", s.Every)
		}
		return cmp.Or(s.validateEnd(), s.unused("rate", "arrivals", "seed", "stagger"))
	case KindRate:
		if !(s.Rate > 0 && s.Rate <= maxRate) {
			return fmt.Errorf("rate: rate is %v per second, want more than 0 and at most %v", s.Rate, float64(maxRate))
		}
		switch s.Arrivals {
		case ArrivalsPoisson:
			return cmp.Or(s.validateEnd(), s.unused("every", "stagger"))
		case "", ArrivalsConstant:
			return cmp.Or(s.validateEnd(), s.unused("every", "stagger", "seed"))
		}
		return fmt.Errorf("rate: arrivals is %q, want %q or %q", s.Arrivals, ArrivalsConstant, ArrivalsPoisson)
	case KindBatch:
		if s.Count <= 0 {
			return fmt.Errorf("batch: count is %d, want at least 1", s.Count)
		}
		if s.Stagger < 0 || s.Stagger > math.MaxInt64/time.Duration(s.Count) {
			return fmt.Errorf("batch: stagger is %v, want 0 or more and the whole batch within 292 years", s.Stagger)
		}
		return s.unused("every", "rate", "arrivals", "seed", "duration")
	case KindSequential:
		if s.Count <= 0 {
			return fmt.Errorf("sequential: count is %d, want at least 1", s.Count)
		}
		return s.unused("every", "rate", "arrivals", "seed", "duration", "stagger")
	}
	return fmt.Errorf("kind is %q, want %q, %q, %q or %q", s.Kind, KindSteady, KindRate, KindBatch, KindSequential)
}

// validateEnd checks that traffic bounded by time or number ends.
func (s Spec) validateEnd() error {
	if s.Count < 0 {
		return fmt.Errorf("%s: count is %d, want 0 or more", s.Kind, s.Count)
	}
	if s.Duration < 0 {
		return fmt.Errorf("%s: duration is %v, want 0 or more", s.Kind, s.Duration)
	}
	if s.Count == 0 && s.Duration == 0 {
		return fmt.Errorf("%s: neither duration nor count is given, so it would never end", s.Kind)
	}
	return nil
}

// unused reports the first of the named fields that is set.
func (s Spec) unused(fields ...string) error {
	set := map[string]bool{
		"every":    s.Every != 0,
		"rate":     s.Rate != 0,
		"arrivals": s.Arrivals != "",
		"seed":     s.Seed != 0,
		"duration": s.Duration != 0,
		"stagger":  s.Stagger != 0,
	}
	for _, f := range fields {
		if set[f] {
			return fmt.Errorf("%s: %s is set, but traffic of this kind does not use it", s.Kind, f)
		}
	}
	return nil
}

func (s Spec) validateRequest() error {
	if strings.ContainsFunc(s.Method, func(r rune) bool { return r < 'A' || r > 'Z' }) {
		return fmt.Errorf("method is %q, want capital letters such as GET", s.Method)
	}
	if !strings.HasPrefix(s.Path, "/") || strings.ContainsFunc(s.Path, notInTarget) {
		return fmt.Errorf("path is %q, want a path that starts with / and has its spaces and other special characters escaped", s.Path)
	}
	if strings.ContainsFunc(s.Host, notInTarget) {
		return fmt.Errorf("host is %q, want a host name with an optional port", s.Host)
	}
	if s.Timeout <= 0 {
		return fmt.Errorf("timeout is %v, want more than 0", s.Timeout)
	}
	if s.Connections < 0 {
		return fmt.Errorf("connections is %d, want 0 or more", s.Connections)
	}
	return nil
}

// notInTarget holds for what RFC 9112, section 3.2, keeps out of a request
// target, and for the fragment, which never leaves a client.
func notInTarget(r rune) bool { return r <= ' ' || r >= 0x7f || r == '#' }

// AtOnce is how many connections the spec is certain to need at the same time,
// however fast the server is.
func (s Spec) AtOnce() int {
	if s.Kind == KindBatch && s.Stagger == 0 {
		return s.Count
	}
	return 1
}

// interval is the mean time between two requests that the schedule asks for, 0
// where it asks for none.
func (s Spec) interval() time.Duration {
	switch s.Kind {
	case KindSteady:
		return s.Every
	case KindRate:
		return time.Duration(float64(time.Second) / s.Rate)
	case KindBatch:
		return s.Stagger
	}
	return 0
}

// span is the time from the start to where the last due instant can be
// expected: the declared duration, or what Count requests take.
func (s Spec) span() time.Duration {
	byCount := time.Duration(math.MaxInt64)
	if n := float64(s.Count) * float64(s.interval()); s.Count > 0 && n < math.MaxInt64 {
		byCount = time.Duration(n)
	}
	if s.Duration > 0 {
		return min(s.Duration, byCount)
	}
	return byCount
}

// request renders the request once: every request of a run is the same bytes.
func (s Spec) request(addr string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: brink\r\nAccept: */*\r\n",
		cmp.Or(s.Method, "GET"), s.Path, cmp.Or(s.Host, addr))
	if !s.Reuse {
		b.WriteString("Connection: close\r\n")
	}
	b.WriteString("\r\n")
	return []byte(b.String())
}
