package measure

import (
	"testing"
	"time"

	"brink/internal/wire"
)

// A plan of 1,855 MB and two CPUs, by hand: 700 of anonymous memory, 300 of
// file cache without 20 of shared memory, 60 of slab, 400 free leave 395 for
// the rest; 100 of 1,000 MB of swap are used. Over the next second apps use
// one CPU of two, kswapd a tenth of one, and somebody stalls for 250 ms.
func TestTimelineSplitsMemoryAndCPU(t *testing.T) {
	s := newStory(t)
	s.step("6x75")
	const mb = 1 << 20
	plan := func(cpu, kswapd time.Duration, stalled int64) func(*wire.Sample) {
		return func(x *wire.Sample) {
			x.MemTotal, x.AnonPages, x.Cached, x.Buffers, x.Shmem, x.Slab, x.MemFree = 1855*mb, 700*mb, 310*mb, 10*mb, 20*mb, 60*mb, 400*mb
			x.SwapTotal, x.SwapFree = 1000*mb, 900*mb
			x.CPUNs, x.KswapdCPUNs, x.PSIMemSome, x.PSIMemFull = int64(cpu), int64(kswapd), stalled, stalled/2
		}
	}
	s.repetition("6x75", 1, 2*time.Second, func(r *told) {
		r.event("site", -500*time.Millisecond, wire.Deployed)
		r.sample("", -time.Second, plan(0, 0, 0)) // before anything was deployed
		r.sample("", 0, plan(time.Second, 0, 0))
		r.sample("", time.Second, plan(2*time.Second, 100*time.Millisecond, 250_000))
		r.sample("site", time.Second, func(x *wire.Sample) { x.RSS = 1 })
		r.sample("", 2*time.Second, plan(0, 0, 250_000)) // the counters began anew
	})
	rec := s.open()
	table, err := Load(t.Context(), rec, Options{})
	s.check(err)
	info, _ := table.Step("6x75")
	points, err := table.Timeline(t.Context(), rec, "6x75", info.Repetitions[0])
	s.check(err)
	if len(points) != 3 {
		t.Fatalf("%d points, want 3: %+v", len(points), points)
	}
	first, second, third := points[0], points[1], points[2]
	if want := (TimelinePoint{T: 0.5, Anon: 700, File: 300, Slab: 60, Other: 395, Free: 400, SwapUsed: 100, PSISome: -1, PSIFull: -1, AppsCPU: -1, PlatformCPU: -1, KswapdCPU: -1}); first != want {
		t.Errorf("first  %+v\nwant   %+v", first, want)
	}
	if second.AppsCPU != 50 || second.KswapdCPU != 5 || second.PSISome != 25 || second.PSIFull != 12.5 || second.PlatformCPU != -1 {
		t.Errorf("second %+v: want 50 %% of the CPUs by apps, 5 by kswapd, 25 and 12.5 %% stalled, the platform unknown", second)
	}
	if third.AppsCPU != -1 || third.KswapdCPU != -1 || third.PSISome != 0 {
		t.Errorf("third  %+v: a counter that fell tells nothing", third)
	}
}
