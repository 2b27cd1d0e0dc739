package agent

import (
	"time"

	"brink/internal/gauge"
	"brink/internal/wire"
)

// follow keeps the signals of the apps in their order, and tells the gauge
// which processes they have.
func (s *sampler) follow(apps []*app) {
	s.match(apps)
	if cap(s.followed) < len(apps) {
		s.followed = make([]gauge.App, len(apps))
	}
	s.followed = s.followed[:len(apps)]
	for i, p := range apps {
		f := &s.followed[i]
		f.PIDs = p.tree.pids(f.PIDs[:0])
		// The app was composed before its first process was started.
		if len(f.PIDs) > 0 {
			s.signals[i].launched(p.launch)
		}
		f.Listen, f.Args = p.listens(), s.signals[i].args
	}
}

// match makes the signals of new apps and drops those of apps that are gone.
func (s *sampler) match(apps []*app) {
	same := len(apps) == len(s.signals)
	for i := 0; same && i < len(apps); i++ {
		same = s.signals[i].app == apps[i]
	}
	if same {
		return
	}
	signals := make([]*appSignals, 0, len(apps))
	for _, p := range apps {
		signals = append(signals, s.signalsOf(p))
	}
	for _, g := range s.signals {
		if g != nil {
			_ = g.close()
		}
	}
	s.signals = signals
}

// signalsOf takes the signals of an app out of the list, or makes new ones.
func (s *sampler) signalsOf(p *app) *appSignals {
	for i, g := range s.signals {
		if g != nil && g.app == p {
			s.signals[i] = nil
			return g
		}
	}
	return newAppSignals(p)
}

// measure lets the gauge take its reading.
func (s *sampler) measure(now time.Time) bool {
	if s.gauge == nil {
		return false
	}
	s.gauge.Follow(s.followed)
	_, err := s.gauge.Sample(now)
	return err == nil
}

// drops is not known without a reading of the gauge.
func (s *sampler) drops(gauged bool) gauge.ListenDrops {
	if !gauged {
		return gauge.ListenDrops{}
	}
	return s.gauge.ListenDrops()
}

// queue fills in the pool and the accept queue of the app at place i. An app
// that does not listen has none, which is -1.
func (s *sampler) queue(x *wire.Sample, i int, port uint16) {
	load := s.gauge.Load(i)
	x.Workers, x.Busy, x.Idle, x.Queued = known(load.Workers), known(load.Busy), known(load.Idle), known(load.Queued)
	x.QueueDepth, x.QueueLimit = known(load.Waiting), known(load.Limit)
	x.OldestMs, x.Abandoned = known(load.OldestMillis), known(load.Abandoned)
	// The gauge does not look at connections in each of its readings.
	if x.QueueDepth > 0 && (x.OldestMs < 0 || x.Abandoned < 0) {
		s.oldest(x, port)
	}
}

// oldest looks at what waits in front of a port.
func (s *sampler) oldest(x *wire.Sample, port uint16) {
	x.OldestMs, x.Abandoned = -1, -1
	if s.diag == nil {
		return
	}
	var err error
	if s.queued, err = s.diag.Queued(port, s.queued[:0]); err != nil {
		return
	}
	x.OldestMs, x.Abandoned = 0, 0
	for i := range s.queued {
		q := &s.queued[i]
		if q.Closed {
			x.Abandoned++
		}
		x.OldestMs = max(x.OldestMs, known(q.SinceDataMillis))
	}
}
