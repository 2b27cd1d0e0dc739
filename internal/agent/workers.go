package agent

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"brink/internal/wire"
)

// lineDelay is how long a worker's disappearance waits for the line in which
// its master says why. Masters look after their workers once a second.
const lineDelay = 1500 * time.Millisecond

// workers follows the workers of one app: the children of its first process,
// and what their master logs about them. Either source may be first; each
// birth and each end becomes one event.
type workers struct {
	emit func(wire.Event)

	mu   sync.Mutex
	seen map[int]*worker
	// boots and timeouts count since the app's last start.
	boots, timeouts int
	// tells is whether the app's workers say when they are ready.
	tells bool
}

type worker struct {
	scans    int
	booted   bool
	ready    bool
	timedOut bool
	goneNs   int64 // when a scan first missed it, 0 while it lives
	marked   bool  // by the present scan
}

func newWorkers(emit func(wire.Event)) *workers {
	return &workers{emit: emit, seen: map[int]*worker{}}
}

// scan takes the children of the first process as they are now. A child that
// is seen twice is a worker; one that is gone by the second scan was a helper
// of the master's, unless the log calls it a worker.
func (w *workers) scan(nowNs int64, pids []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.seen {
		s.marked = false
	}
	for _, pid := range pids {
		s := w.get(pid)
		s.marked, s.goneNs = true, 0
		if s.scans++; s.scans == 2 {
			w.boot(nowNs, pid, s)
		}
	}
	for pid, s := range w.seen {
		switch {
		case s.marked:
		case s.goneNs == 0:
			s.goneNs = nowNs
		case nowNs-s.goneNs >= int64(lineDelay):
			w.end(pid, s, wire.Event{Kind: wire.WorkerExited})
		}
	}
}

func (w *workers) get(pid int) *worker {
	s := w.seen[pid]
	if s == nil {
		s = new(worker)
		w.seen[pid] = s
	}
	return s
}

func (w *workers) boot(nowNs int64, pid int, s *worker) {
	if !s.booted {
		s.booted = true
		w.boots++
		w.emit(wire.Event{AtNs: nowNs, Kind: wire.WorkerBooted, Pid: pid})
	}
}

// ready counts the workers that have said that they can serve.
func (w *workers) ready() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, s := range w.seen {
		if s.ready && s.goneNs == 0 {
			n++
		}
	}
	return n
}

// end emits the end of a worker, at the time when it was found gone.
func (w *workers) end(pid int, s *worker, e wire.Event) {
	delete(w.seen, pid)
	if !s.booted {
		return
	}
	if s.timedOut {
		w.timeouts++
		e.Kind, e.Detail = wire.WorkerKilled, "worker time-out"
		if !s.ready && w.tells {
			e.Detail += " while it booted"
		}
	}
	e.Pid = pid
	if s.goneNs != 0 {
		e.AtNs = s.goneNs
	}
	w.emit(e)
}

// summary says how many workers booted and timed out since the app's start; it
// is empty unless one timed out, which the platform would not see.
func (w *workers) summary() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timeouts == 0 {
		return ""
	}
	return fmt.Sprintf(", with %d worker boots and %d worker time-outs", w.boots, w.timeouts)
}

// flush ends all workers: their master is gone and will say no more.
func (w *workers) flush(nowNs int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.boots, w.timeouts = 0, 0 }()
	for pid, s := range w.seen {
		w.end(pid, s, wire.Event{AtNs: nowNs, Kind: wire.WorkerExited})
	}
}

// What gunicorn (20 to 23) and brink's own master say about workers.
var (
	bootLine    = pattern(`Booting worker with pid: (\d+)`)
	readyLine   = pattern(`Worker ready with pid: (\d+)`) // said by brink's apps
	timeoutLine = pattern(`WORKER TIMEOUT \(pid:(\d+)\)`)
	signalLine  = pattern(`Worker with pid (\d+) was terminated due to signal (\d+)`)
	sentLine    = pattern(`Worker \(pid:(\d+)\) was sent (SIG[A-Z0-9]+)!`)
	codeLine    = pattern(`Worker (?:with pid |\(pid:)(\d+)\)? exited with code (\d+)`)
)

// pattern is compiled when it is first used: only an agent needs it.
func pattern(source string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(source) })
}

// line takes one line of the app's log.
func (w *workers) line(nowNs int64, text string) {
	// All the patterns share a word; most lines of an app do not have it.
	if !strings.Contains(text, "orker") && !strings.Contains(text, "WORKER") {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if pid, _, ok := match(bootLine, text); ok {
		w.boot(nowNs, pid, w.get(pid))
	} else if pid, _, ok := match(readyLine, text); ok {
		s := w.get(pid)
		w.boot(nowNs, pid, s)
		s.ready = true
		w.emit(wire.Event{AtNs: nowNs, Kind: wire.WorkerReady, Pid: pid})
	} else if pid, _, ok := match(timeoutLine, text); ok {
		w.get(pid).timedOut = true
	} else if pid, number, ok := match(signalLine, text); ok {
		signal, _ := strconv.Atoi(number)
		w.signaled(nowNs, pid, signal)
	} else if pid, sent, ok := match(sentLine, text); ok {
		w.signaled(nowNs, pid, int(unix.SignalNum(sent)))
	} else if pid, number, ok := match(codeLine, text); ok {
		code, _ := strconv.Atoi(number)
		w.end(pid, w.get(pid), wire.Event{AtNs: nowNs, Kind: wire.WorkerExited, Code: &code})
	}
}

func (w *workers) signaled(nowNs int64, pid, signal int) {
	kind := wire.WorkerKilled
	if signal == int(unix.SIGTERM) {
		kind = wire.WorkerExited // asked to go, and gone
	}
	w.end(pid, w.get(pid), wire.Event{AtNs: nowNs, Kind: kind, Signal: signal})
}

// match returns the pid in the first group and the text of the second.
func match(re func() *regexp.Regexp, text string) (pid int, more string, ok bool) {
	m := re().FindStringSubmatch(text)
	if m == nil {
		return 0, "", false
	}
	pid, err := strconv.Atoi(m[1])
	if err != nil {
		return 0, "", false
	}
	if len(m) > 2 {
		more = m[2]
	}
	return pid, more, true
}
