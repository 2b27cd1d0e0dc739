package gauge

import (
	"math"
	"time"

	"brink/internal/kernel"
)

// flow measures how long a worker holds a request and how many arrive, over
// about the last minute: what is older counts less, by half in each half-life.
//
// Completed requests are counted in one of two ways, and not at all where
// neither holds. Where the server has the only listener of its network
// namespace, the kernel counts its connections. Otherwise the connections that
// were seen in workers are counted, which is right only if they last for
// several readings: shorter ones are missed. Both take a connection for a
// request, so only servers that close the connection after each answer are
// measured.
type flow struct {
	sole, seen tally      // by the kernel's count, by the connections seen
	opens      kernel.Num // of the namespace, at the reading before
	before     level
	started    bool
	holds, now []uint64 // connections in workers, at the reading before and now
}

// tally is what happened in some time, older things counting less.
type tally struct {
	elapsed, busy float64 // s, worker-seconds
	served, came  float64 // requests
	// Of the readings: how many, the sum of their weights' squares, and the
	// sums of busy workers and of the squares of these.
	steps, weights, level, squares float64
	readings                       int // however old
}

func (t *tally) fade(left float64) {
	t.elapsed *= left
	t.busy *= left
	t.served *= left
	t.came *= left
	t.steps *= left
	t.weights *= left * left
	t.level *= left
	t.squares *= left
}

func (t *tally) see(busy float64) {
	t.readings++
	t.steps++
	t.weights++
	t.level += busy
	t.squares += busy * busy
}

// service is the mean time that a request held a worker, in seconds.
func (t *tally) service() float64 { return t.busy / t.served }

// error is the standard error of service, as a share of it. Busy time is known
// from samples: with readings further apart than a request lasts, each is an
// independent one of a mean. Closer ones miss little of what lies between
// them, and less the closer they are. What is under way at the ends adds half a
// request or so for each busy worker.
func (t *tally) error() float64 {
	mean := t.level / t.steps
	independent := t.steps * t.steps / t.weights
	apart := t.elapsed / t.steps
	sampling := max(t.squares/t.steps/(mean*mean)-1, 0) / independent * min(apart/t.service(), 1)
	ends := mean / (t.served * t.served)
	return math.Sqrt(sampling + ends)
}

// level is what is in the server at one reading.
type level struct{ queued, busy uint64 }

const (
	halfLife = 30 * time.Second
	// enoughServed is how many requests a mean wants.
	enoughServed = 10
	// enoughSteps is how many readings a request has to last to be seen for
	// certain, and its length to be known within some per cent.
	enoughSteps = 3
	// fewestReadings is how many tell how much they vary.
	fewestReadings = 5
	// mostError is the largest standard error of a service time that is told.
	mostError = 0.15
)

// closes tells the kinds that close a connection after each answer.
func closes(k Kind) bool {
	return k == GunicornSync || k == UWSGI || k == BrinkApp
}

func (f *flow) add(s *server, interval time.Duration) {
	s.Service, s.ServiceError, s.Rate = Measure{}, Measure{}, Measure{}
	if s.rec.pool != onePerProcess || !closes(s.Kind) {
		return
	}
	opens := s.soleOpens()
	if !s.Busy.Known || !s.Queued.Known {
		f.started = false // a gap: what went by in it was not seen
		return
	}
	now := level{s.Queued.Value, s.Busy.Value}
	ended, begun := f.turnover(s)
	if f.started && interval > 0 {
		f.count(now, since(f.opens, opens), float64(ended), float64(begun), interval.Seconds())
	}
	f.before, f.opens, f.started = now, opens, true
	f.tell(s)
}

func (f *flow) count(now level, opened kernel.Num, ended, begun, elapsed float64) {
	left := math.Exp2(-elapsed / halfLife.Seconds())
	f.sole.fade(left)
	f.seen.fade(left)

	f.seen.see(float64(now.busy))
	busy := float64(now.busy+f.before.busy) / 2 * elapsed
	more := float64(now.queued) - float64(f.before.queued)
	f.seen.elapsed += elapsed
	f.seen.busy += busy
	f.seen.served += ended
	f.seen.came += begun + more
	if opened.Known {
		f.sole.see(float64(now.busy))
		f.sole.elapsed += elapsed
		f.sole.busy += busy
		f.sole.came += float64(opened.Value)
		f.sole.served += float64(opened.Value) - more - (float64(now.busy) - float64(f.before.busy))
	}
}

// soleOpens counts the connections to a server with the only listener of its
// namespace.
func (s *server) soleOpens() kernel.Num {
	if len(s.space.tcp) != 1 || len(s.Sockets) != 1 || s.Sockets[0].Path != "" {
		return kernel.Num{}
	}
	return s.space.opens.read()
}

// turnover compares the connections in workers with those at the reading
// before.
func (f *flow) turnover(s *server) (ended, begun int) {
	f.now = f.now[:0]
	for _, q := range s.procs {
		if inode := q.hold(); inode != 0 {
			f.now = append(f.now, inode)
		}
	}
	ended, begun = missing(f.holds, f.now), missing(f.now, f.holds)
	f.holds, f.now = f.now, f.holds
	return ended, begun
}

// missing counts those of a that are not in b.
func missing(a, b []uint64) int {
	n := 0
next:
	for _, x := range a {
		for _, y := range b {
			if x == y {
				continue next
			}
		}
		n++
	}
	return n
}

func (f *flow) tell(s *server) {
	// All of the time has to be covered, or another listener was there.
	whole := f.sole.elapsed > 0.99*f.seen.elapsed
	lasting := f.seen.busy >= enoughSteps*f.seen.served*f.seen.elapsed/f.seen.steps
	from := &f.seen
	switch {
	case whole && f.sole.served >= enoughServed:
		from = &f.sole
	case f.seen.served < enoughServed || !lasting:
		return
	}
	off := from.error()
	if from.readings < fewestReadings || !(off <= mostError) {
		return
	}
	s.Service, s.ServiceError = Measure{from.service(), true}, Measure{off, true}
	s.Rate = Measure{max(from.came, 0) / from.elapsed, true}
}
