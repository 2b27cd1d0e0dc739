package measure

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"brink/internal/experiment"
	"brink/internal/record"
)

// highWater runs f and returns the most bytes of heap that were live beyond
// those from before, as far as looking every few milliseconds tells. Garbage is
// collected often, so that little of it is counted.
func highWater(t *testing.T, f func()) int64 {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	heap := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	runtime.GC()
	before := heap()
	done, most := make(chan struct{}), make(chan int64)
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		var high int64
		for {
			select {
			case <-tick.C:
				high = max(high, heap()-before)
			case <-done:
				most <- max(high, heap()-before)
				return
			}
		}
	}()
	f()
	close(done)
	return <-most
}

// recorded writes a repetition with n requests.
func recorded(t *testing.T, n int) *record.Reader {
	s := newStory(t)
	s.step("s")
	s.repetition("s", 1, time.Hour, func(r *told) {
		p := record.Probe{Status: 200, Outcome: "ok", Pid: 7, Bytes: 100}
		for i := range n {
			p.Seq, p.Due = int64(i), at(time.Duration(i)*time.Millisecond)
			p.Sent, p.ServedNs, p.Done = p.Due, -1, p.Due+int64(1+i%997)*10_000
			r.check(r.w.Probe(r.stream.ID, &p))
		}
	})
	return s.open()
}

func TestMemoryDoesNotGrowWithTheNumberOfRequests(t *testing.T) {
	measured := func(n int) int64 {
		r := recorded(t, n)
		return highWater(t, func() {
			table, err := Load(t.Context(), r, Options{})
			if err != nil {
				t.Fatal(err)
			}
			wants(t, table, "s", map[string]float64{"requests": float64(n)})
		})
	}
	n := 100_000
	if underRace {
		n = 5_000 // the detector slows SQLite down twentyfold
	}
	few, many := measured(n), measured(10*n)
	t.Logf("heap: %.1f MB for %d requests, %.1f MB for %d", float64(few)/(1<<20), n, float64(many)/(1<<20), 10*n)
	if many > few+3<<20 {
		t.Errorf("measuring %d requests took %d bytes, %d took %d", 10*n, many, n, few)
	}
}

// More requests than are kept give no wrong peak, but none; what is kept does
// not grow with the requests.
func TestPeakInServiceOfTooManyRequestsIsNone(t *testing.T) {
	r := newRequests()
	for i := range int64(maxVisits + 1) {
		r.add(&record.Probe{Due: start + i, Sent: start + i, Done: start + i + 1000, Status: 200, Outcome: "ok", ServedNs: 900}, 0)
	}
	if len(r.visits.list) != maxVisits {
		t.Errorf("%d requests are kept, want %d", len(r.visits.list), maxVisits)
	}
	v := r.values(experiment.Step{})["peak_in_service"]
	if v.Missing != "more than 100000 requests" || v.X != 0 {
		t.Errorf("peak_in_service is %+v, want none", v)
	}
}
