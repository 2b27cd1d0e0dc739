package bench

import (
	"encoding/json"
	"math"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"brink/internal/clock"
)

// staller answers at once, except that it stalls for a second in every five: a
// request that comes in then waits for the end of the stall. It keeps a log.
type staller struct {
	clk   clock.Clock
	start time.Time
	mu    sync.Mutex
	log   stallLog
}

// stallLog is what the server saw, in Unix nanoseconds.
type stallLog struct {
	Ended    map[int64]int64 // when a stall really ended, by when it began
	Answered []int64         // when brink's requests were answered
}

func newStaller(clk clock.Clock) *staller {
	return &staller{clk: clk, start: clk.Now(), log: stallLog{Ended: map[int64]int64{}}}
}

func (s *staller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	phase := s.clk.Now().Sub(s.start)
	began := phase.Truncate(stallPeriod) + stallPeriod - stallLength
	stalled := phase >= began
	if stalled && s.clk.Sleep(r.Context(), began+stallLength-phase) != nil {
		return
	}
	woke := s.clk.Now().UnixNano()
	answer(w, r)
	if err := http.NewResponseController(w).Flush(); err != nil {
		panic(err)
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if key := s.start.Add(began).UnixNano(); stalled && s.log.Ended[key] == 0 {
		s.log.Ended[key] = woke
	}
	if r.UserAgent() == "brink" {
		s.log.Answered = append(s.log.Answered, s.clk.Now().UnixNano())
	}
}

// report prints the log for the process that started the server.
func (s *staller) report() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := json.NewEncoder(os.Stdout).Encode(s.log); err != nil {
		panic(err)
	}
}

// dues are the instants that the schedule asks for.
func dues(start int64, rate int, d time.Duration) []int64 {
	all := make([]int64, rate*int(d/time.Second))
	for i := range all {
		all[i] = start + int64(i)*int64(time.Second)/int64(rate)
	}
	return all
}

// fromAnswers is the p99 that follows from when the server gave its answers:
// requests are served in the order in which they are due, up to the ten that
// can overtake each other within a few milliseconds.
func fromAnswers(due, answered []int64) time.Duration {
	slices.Sort(answered)
	waits := make([]int64, len(due))
	for i := range due {
		waits[i] = answered[i] - due[i]
	}
	return p99(waits)
}

// fromStalls is the least p99 that any client must see: a request that was due
// in a stall waited at least for its end.
func fromStalls(due []int64, stalls map[int64]int64) time.Duration {
	waits := make([]int64, len(due))
	for i, at := range due {
		for began, ended := range stalls {
			if at >= began && at < ended {
				waits[i] = ended - at
			}
		}
	}
	return p99(waits)
}

// p99 is the 99th percentile by nearest rank.
func p99(waits []int64) time.Duration {
	slices.Sort(waits)
	return time.Duration(waits[int(math.Ceil(0.99*float64(len(waits))))-1])
}

// BenchmarkStall measures a server that stalls for one second in every five at
// 500 requests per second over ten connections. The p99 must be within 2 % of
// what follows from the schedule and the server's own log, and not below what
// the stalls alone account for. vegeta with ten workers runs after it against
// the same server.
func BenchmarkStall(b *testing.B) {
	const tolerance = 0.02
	for b.Loop() {
		addr, stop := server(b, roleStalling)
		ours, _ := attack(b, roleBrinkTen, addr)
		theirs, _ := attack(b, roleVegetaTen, addr)
		var log stallLog
		if raw := stop(); json.Unmarshal(raw, &log) != nil {
			b.Fatalf("the server's log is %.200q", raw)
		}
		due := dues(ours.Start, stallRate, stallDuration)
		if len(log.Answered) != len(due) {
			b.Fatalf("the server answered %d requests of %d", len(log.Answered), len(due))
		}
		truth, least := fromAnswers(due, log.Answered), fromStalls(due, log.Ended)
		off := math.Abs(float64(ours.P99-truth)) / float64(truth)
		b.ReportMetric(ms(ours.P99), "brink-p99-ms")
		b.ReportMetric(ms(truth), "true-p99-ms")
		b.ReportMetric(ms(least), "stalls-alone-p99-ms")
		b.ReportMetric(ms(theirs.P99), "vegeta-p99-ms")
		b.ReportMetric(100*off, "off-%")
		if off > tolerance || float64(ours.P99) < (1-tolerance)*float64(least) {
			b.Fatalf("p99 is %v where %v is true, and at least %v: %.1f %% off, want at most %.0f %%", ours.P99, truth, least, 100*off, 100*tolerance)
		}
		if ours.Held {
			b.Fatal("a rate that ten connections could not carry through the stalls was reported as held")
		}
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
