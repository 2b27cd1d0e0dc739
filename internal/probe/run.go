package probe

import (
	"cmp"
	"context"
	"crypto/tls"
	"sync"
	"sync/atomic"

	"brink/internal/clock"
	"brink/internal/traffic"
)

// Options say what is sent to every target.
type Options struct {
	Clock clock.Clock
	// Traffic is the shape; the targets give the path and the Host header.
	Traffic traffic.Spec
	// Host is sent as the Host header in the place of the URLs' own, if it is not
	// empty.
	Host string
	// Log takes every request.
	Log *Log
	// Progress is kept up to date, if it is not nil.
	Progress *Progress
}

// Progress is how far all streams together have come.
type Progress struct {
	InFlight      atomic.Int64 // sent and not ended
	Ended, Failed atomic.Int64 // Failed of those Ended
}

// Stream is what became of the requests to one URL. Target is 0 where no rate was
// asked for; Held says that the traffic was what was asked for, Reason why not.
type Stream struct {
	URL      string           `json:"url"`
	Requests int64            `json:"requests"` // that came due
	Sent     int64            `json:"sent"`     // of these
	Outcomes map[string]int64 `json:"outcomes"` // by name; what did not occur is left out
	Median   Figure           `json:"median_ms"`
	P95      Figure           `json:"p95_ms"`
	P99      Figure           `json:"p99_ms"`
	Failures Figure           `json:"failures_pct"`
	Elapsed  float64          `json:"elapsed_s"` // until the last request ended
	Target   float64          `json:"target_per_s"`
	Achieved float64          `json:"achieved_per_s"`
	Held     bool             `json:"held"`
	Reason   string           `json:"reason,omitempty"`
}

// Specs returns what is sent to each target, or why that cannot be. The targets
// share the connections that this process may open.
func (o Options) Specs(targets []Target) ([]traffic.Spec, error) {
	atOnce := o.Traffic.AtOnce()
	if atOnce > 1 {
		if err := traffic.Room(atOnce*len(targets), 1); err != nil {
			return nil, err
		}
	}
	specs := make([]traffic.Spec, len(targets))
	for i, t := range targets {
		s := o.Traffic
		s.Path, s.Host = t.path, cmp.Or(o.Host, t.host)
		if s.Arrivals == traffic.ArrivalsPoisson {
			s.Seed += int64(i) // each URL has arrivals of its own
		}
		if s.Connections == 0 {
			s.Connections = max(atOnce, traffic.MostConnections()/len(targets))
		}
		if err := s.Validate(); err != nil {
			return nil, err
		}
		specs[i] = s
	}
	return specs, nil
}

// Run sends the traffic to all targets side by side, and returns when every
// request has ended. When ctx ends, or a request cannot be logged, the requests
// under way end at once; what became of all is returned together with the error,
// that of the log before that of ctx.
func Run(ctx context.Context, targets []Target, o Options) ([]Stream, error) {
	specs, err := o.Specs(targets)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	streams := make([]Stream, len(targets))
	var running sync.WaitGroup
	for i, t := range targets {
		running.Go(func() {
			var err error
			if streams[i], err = o.stream(ctx, stop, t, specs[i]); err != nil {
				stop(err)
			}
		})
	}
	running.Wait()
	return streams, cmp.Or(o.Log.Flush(), context.Cause(ctx))
}

// stream sends one target's traffic. It calls stop with the first error of the
// log.
func (o Options) stream(ctx context.Context, stop context.CancelCauseFunc, t Target, spec traffic.Spec) (Stream, error) {
	account := NewAccount()
	progress := cmp.Or(o.Progress, new(Progress))
	opts := []traffic.Option{traffic.WithInFlight(&progress.InFlight)}
	if t.secure {
		opts = append(opts, traffic.WithTLS(&tls.Config{ServerName: t.name}))
	}
	s, err := traffic.Run(ctx, o.Clock, spec, t.addr, func(p *traffic.Probe) {
		account.Add(p)
		progress.Ended.Add(1)
		if p.Outcome != traffic.OutcomeOK {
			progress.Failed.Add(1)
		}
		if err := o.Log.Add(t.URL, p); err != nil {
			stop(err)
		}
	}, opts...)
	return summed(t.URL, &s, account), err
}

func summed(url string, s *traffic.Summary, a *Account) Stream {
	out := Stream{
		URL: url, Requests: s.Scheduled, Sent: s.Sent, Outcomes: map[string]int64{},
		Median: a.Latency(0.5), P95: a.Latency(0.95), P99: a.Latency(0.99), Failures: a.Failures(),
		Elapsed: s.Elapsed.Seconds(), Target: s.TargetRate, Achieved: s.AchievedRate, Held: s.Held, Reason: s.Reason,
	}
	for o, n := range s.Outcomes {
		if n > 0 {
			out.Outcomes[traffic.Outcome(o).String()] = n
		}
	}
	return out
}
