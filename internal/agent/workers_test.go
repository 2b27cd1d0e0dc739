package agent

import (
	"reflect"
	"strings"
	"testing"

	"brink/internal/wire"
)

const ms = int64(1e6)

// The log lines are gunicorn's own: arbiter.py of 20.1 and, where they differ,
// of 23.0.
func TestWorkersFromScansAndLog(t *testing.T) {
	code := 1
	type step func(*workers)
	scan := func(at int64, pids ...int) step { return func(w *workers) { w.scan(at*ms, pids) } }
	line := func(at int64, text string) step { return func(w *workers) { w.line(at*ms, text) } }
	flush := func(at int64) step { return func(w *workers) { w.flush(at * ms) } }
	event := func(at int64, kind wire.EventKind, pid int) wire.Event {
		return wire.Event{AtNs: at * ms, Kind: kind, Pid: pid}
	}
	const boot = "[2026-01-01 00:00:00 +0000] [7] [INFO] Booting worker with pid: 7"
	for _, tc := range []struct {
		name  string
		steps []step
		want  []wire.Event
	}{
		{"the log is first", []step{line(1, boot), scan(100, 7), scan(200, 7)},
			[]wire.Event{event(1, wire.WorkerBooted, 7)}},
		{"the scans are first", []step{scan(100, 7), scan(200, 7), line(201, boot)},
			[]wire.Event{event(200, wire.WorkerBooted, 7)}},
		{"ready, which implies booted", []step{line(1, "[2026-01-01 00:00:00 +0000] [7] [INFO] Worker ready with pid: 7"), scan(100, 7), scan(200, 7)},
			[]wire.Event{event(1, wire.WorkerBooted, 7), event(1, wire.WorkerReady, 7)}},
		{"a helper of the master's", []step{scan(100, 9), scan(200), scan(2000)}, nil},
		{"gone without a word", []step{line(1, boot), scan(100, 7), scan(200), scan(300), scan(1800)},
			[]wire.Event{event(1, wire.WorkerBooted, 7), event(200, wire.WorkerExited, 7)}},
		{"killed before any scan", []step{line(1, boot), line(50, "[WARNING] Worker with pid 7 was terminated due to signal 9"), scan(100)},
			[]wire.Event{event(1, wire.WorkerBooted, 7), {AtNs: 50 * ms, Kind: wire.WorkerKilled, Pid: 7, Signal: 9}}},
		{"killed, told after it was missed", []step{line(1, boot), scan(100, 7), scan(200), line(900, "Worker with pid 7 was terminated due to signal 9"), scan(3000)},
			[]wire.Event{event(1, wire.WorkerBooted, 7), {AtNs: 200 * ms, Kind: wire.WorkerKilled, Pid: 7, Signal: 9}}},
		{"gunicorn 23 says SIGKILL", []step{line(1, boot), line(50, "[ERROR] Worker (pid:7) was sent SIGKILL! Perhaps out of memory?")},
			[]wire.Event{event(1, wire.WorkerBooted, 7), {AtNs: 50 * ms, Kind: wire.WorkerKilled, Pid: 7, Signal: 9}}},
		{"asked to go", []step{line(1, boot), line(50, "[ERROR] Worker (pid:7) was sent SIGTERM!")},
			[]wire.Event{event(1, wire.WorkerBooted, 7), {AtNs: 50 * ms, Kind: wire.WorkerExited, Pid: 7, Signal: 15}}},
		{"exited with a code", []step{line(1, boot), line(50, "[ERROR] Worker (pid:7) exited with code 1")},
			[]wire.Event{event(1, wire.WorkerBooted, 7), {AtNs: 50 * ms, Kind: wire.WorkerExited, Pid: 7, Code: &code}}},
		{"brink's own words for it", []step{line(1, boot), line(50, "[WARNING] Worker with pid 7 exited with code 1")},
			[]wire.Event{event(1, wire.WorkerBooted, 7), {AtNs: 50 * ms, Kind: wire.WorkerExited, Pid: 7, Code: &code}}},
		{"timed out, then killed", []step{line(1, boot), scan(100, 7), line(150, "[CRITICAL] WORKER TIMEOUT (pid:7)"), scan(200), line(210, "Worker with pid 7 was terminated due to signal 9")},
			[]wire.Event{event(1, wire.WorkerBooted, 7), {AtNs: 200 * ms, Kind: wire.WorkerKilled, Pid: 7, Signal: 9, Detail: "worker time-out"}}},
		{"timed out, gone at SIGABRT", []step{line(1, boot), line(150, "[CRITICAL] WORKER TIMEOUT (pid:7)"), scan(200), scan(1800)},
			[]wire.Event{event(1, wire.WorkerBooted, 7), {AtNs: 200 * ms, Kind: wire.WorkerKilled, Pid: 7, Detail: "worker time-out"}}},
		{"missed once, there again", []step{line(1, boot), scan(100), scan(200, 7), scan(1900, 7)},
			[]wire.Event{event(1, wire.WorkerBooted, 7)}},
		{"the master is gone", []step{line(1, boot), scan(100, 7), flush(200), scan(300)},
			[]wire.Event{event(1, wire.WorkerBooted, 7), event(200, wire.WorkerExited, 7)}},
		{"words that only look like it", []step{line(1, "Worker with pid 99999999999999999999 was terminated due to signal 9"), line(2, "worker")}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []wire.Event
			w := newWorkers(func(e wire.Event) { got = append(got, e) })
			for _, s := range tc.steps {
				s(w)
			}
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("events %+v\nwant   %+v", got, tc.want)
			}
		})
	}
}

// Whatever an app logs, only workers that were said to boot get events, and
// each of them at most one of birth and one of end.
func FuzzWorkersLine(f *testing.F) {
	f.Add("Booting worker with pid: 7\nWORKER TIMEOUT (pid:7)\nWorker with pid 7 was terminated due to signal 9")
	f.Add("Worker (pid:7) was sent SIGKILL! Perhaps out of memory?")
	f.Add("Worker (pid:8) exited with code 3\nBooting worker with pid: 8")
	f.Fuzz(func(t *testing.T, log string) {
		alive := map[int]bool{}
		w := newWorkers(func(e wire.Event) {
			if booted := e.Kind == wire.WorkerBooted; booted == alive[e.Pid] {
				t.Fatalf("event %+v while alive is %t", e, alive[e.Pid])
			}
			alive[e.Pid] = e.Kind == wire.WorkerBooted
		})
		for line := range strings.Lines(log) {
			w.line(ms, line)
		}
		w.flush(ms)
	})
}
