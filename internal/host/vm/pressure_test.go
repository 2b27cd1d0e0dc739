package vm

import (
	"testing"
	"time"

	"brink/internal/agent/agenttest"
	"brink/internal/clock"
	"brink/internal/experiment"
	"brink/internal/wire"
)

// thrashing is how long the plan is watched while it has no memory.
const thrashing = 20 * time.Second

// A guest that cannot get any memory goes on to deliver its samples: where half
// of the time or more everything stands still for memory, and pages come back
// from swap, at least 95 % of those that are due come within twice their
// interval.
func TestSamplesFlowWhileTheGuestThrashes(t *testing.T) {
	const every = time.Second
	plan := experiment.Plan{CPUs: 1, MemoryMB: 400, SwapMB: 900, SwapIOPS: 60, SwapMBs: 2, Share: experiment.Share{
		BallastMB: 200, HotMB: 200, HotEvery: experiment.Duration(time.Second),
	}}
	s, o := open(t, plan, every)
	if _, err := s.Deploy(t.Context(), flask("web")); err != nil {
		t.Fatal(err)
	}
	inflated := make(chan error, 1)
	go func() { inflated <- s.Inflate(t.Context(), 400, time.Second) }()
	o.Await(t, "three seconds in which everything stood still", func() bool {
		w := window(o.Samples(""))
		w = w[max(0, len(w)-4):]
		return len(w) == 4 && w.psiFull() >= 50 && w.swappedIn() > 0
	})
	// The machine below may stand still too; that is nobody's fault in the guest.
	for tries := 1; !watchSamples(t, o, every); tries++ {
		if tries == 2 {
			t.Fatalf("twice in a row fewer than 95 %% of the samples came within %s", 2*every)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	<-inflated // it was filled, or not to its end
}

// watchSamples tells whether enough samples came in time.
func watchSamples(t *testing.T, o *agenttest.Seen, every time.Duration) bool {
	t.Helper()
	begin := clock.Real.Now()
	<-clock.Real.After(thrashing)
	w := between(o.Samples(""), begin.UnixNano())
	end := clock.Real.Now()
	if len(w) < 2 {
		t.Logf("%d samples", len(w))
		return false
	}
	due := float64(end.Sub(begin) / every)
	inTime, rss := 0.0, int64(0)
	last, worst := begin.UnixNano(), time.Duration(0)
	for _, x := range w {
		gap := time.Duration(x.AtNs - last)
		if gap <= 2*every {
			inTime++
		}
		last, worst, rss = x.AtNs, max(worst, gap), max(rss, x.AgentRSS)
	}
	t.Logf("PSI memory full %.0f %%, %d pages swapped in, %d out; %d samples of %.0f due, %.0f of them in time, the longest gap %s; the agent: %.1f MB, %.2f %% of a CPU",
		w.psiFull(), w.swappedIn(), w.last().Pswpout-w.first().Pswpout, len(w), due, inTime, worst.Round(time.Millisecond), float64(rss)/(1<<20), w.agentCPU())
	if w.psiFull() < 50 || w.swappedIn() == 0 {
		t.Errorf("the guest did not thrash: PSI memory full %.0f %%, %d pages swapped in", w.psiFull(), w.swappedIn())
	}
	if rss <= 0 || rss >= 40<<20 {
		t.Errorf("the agent's resident memory is %d bytes, want less than 40 MB", rss)
	}
	if cpu := w.agentCPU(); cpu <= 0 || cpu >= 20 { // an aim of 2 % on real CPUs; translated ones are many times slower
		t.Errorf("the agent took %.2f %% of a CPU", cpu)
	}
	return inTime >= 0.95*due-1 // one may be due right at the end
}

// window is the plan's samples of some time, the oldest first.
type window []wire.Sample

func between(samples []wire.Sample, from int64) window {
	for i, x := range samples {
		if x.AtNs >= from {
			return samples[i:]
		}
	}
	return nil
}

func (w window) first() wire.Sample { return w[0] }
func (w window) last() wire.Sample  { return w[len(w)-1] }

func (w window) swappedIn() int64 { return w.last().Pswpin - w.first().Pswpin }

// psiFull is in per cent, agentCPU in per cent of a CPU.
func (w window) psiFull() float64 {
	return w.share(1000 * (w.last().PSIMemFull - w.first().PSIMemFull))
}
func (w window) agentCPU() float64 { return w.share(w.last().AgentCPUNs - w.first().AgentCPUNs) }

func (w window) share(ns int64) float64 {
	return 100 * float64(ns) / float64(max(1, w.last().AtNs-w.first().AtNs))
}
