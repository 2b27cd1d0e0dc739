package lab

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"brink/internal/clock"
	"brink/internal/experiment"
	"brink/internal/host/local"
	"brink/internal/record"
)

// alive tells whether a process is there and not only waits to be reaped.
func alive(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	return !strings.Contains(string(text), ") Z ")
}

// servers are the two that hand out requests alike, with four workers.
func servers() map[string]experiment.App {
	flask := app("site")
	flask.Runtime, flask.WorkerClass, flask.Workers, flask.Backlog = "flask", "sync", 4, 2048
	builtIn := app("site")
	builtIn.Workers, builtIn.Backlog = 4, 2048
	return map[string]experiment.App{"gunicorn": flask, "built-in": builtIn}
}

// holds sends n holds at once to each server, and tries again where the
// machine was too busy for what is asked: one of a few repetitions must be as it
// should. For the same reason these tests do not run in parallel.
func holds(t *testing.T, n int, hold time.Duration, ok func(r ran) error) {
	for name, a := range servers() {
		t.Run(name, func(t *testing.T) {
			s := experiment.Step{Name: "s", Apps: []experiment.App{a}, Traffic: []experiment.Traffic{{
				Kind: "batch", Path: fmt.Sprintf("/thread-hold?secs=%g", hold.Seconds()), Count: n, Timeout: experiment.Duration(30 * time.Second),
			}}}
			var errs []error
			for range 4 {
				r := run(t, t.Context(), Options{
					Design: design(1, s), Host: local.New(local.Options{Program: "brink test"}), Clock: clock.Real, Sampling: 50 * time.Millisecond,
				})
				if r.err != nil {
					t.Fatal(r.err)
				}
				err := ok(r)
				if rep := r.repetitions()[0]; rep.Status != "done" {
					err = errors.New(rep.Status + ": " + rep.Reason)
				}
				if err == nil {
					return
				}
				errs = append(errs, err)
			}
			t.Errorf("none of four repetitions was as it should:\n%v", errors.Join(errs...))
		})
	}
}

func took(p record.Probe) time.Duration { return time.Duration(p.Done - p.Due) }

// values checks metrics of the only repetition.
func (r ran) values(want map[string]float64) error {
	table := r.table()
	for name, x := range want {
		if v := table.Cell("s", name).Values; len(v) != 1 || v[0].Missing != "" || v[0].Censored || v[0].X != x {
			return fmt.Errorf("%s: %+v, want %v", name, v, x)
		}
	}
	return nil
}

// The reference's S4: of five requests on four workers, four take one hold and
// the fifth two.
func TestTheFifthOfFiveWaits(t *testing.T) {
	holds(t, 5, 300*time.Millisecond, func(r ran) error {
		all := r.probes(1)
		if len(all) != 5 {
			return fmt.Errorf("%d requests", len(all))
		}
		slices.SortFunc(all, func(a, b record.Probe) int { return int(took(a) - took(b)) })
		pids := map[int32]bool{}
		for _, p := range all[:4] {
			pids[p.Pid] = true
			if ratio := float64(took(p)) / float64(took(all[0])); ratio > 1.5 {
				return fmt.Errorf("one of the first four took %.2f times as long as the first", ratio)
			}
		}
		if ratio := float64(took(all[4])) / float64(took(all[0])); ratio < 1.8 || ratio > 2.6 {
			return fmt.Errorf("the last took %.2f times as long as the first", ratio)
		}
		if len(pids) != 4 || !pids[all[4].Pid] {
			return fmt.Errorf("four requests were answered by %v and the fifth by %d", pids, all[4].Pid)
		}
		return r.values(map[string]float64{"requests": 5, "workers_seen": 4, "peak_in_service": 4, "failure_pct": 0, "overflows": 0})
	})
}

// Ten on four are served in rounds of 4, 4 and 2: no worker begins its next
// request before its last one is done, and each round takes every worker once.
func TestTenOnFourAreServedInRounds(t *testing.T) {
	began := func(p record.Probe) int64 { return p.FirstByte - p.ServedNs }
	const hold = 400 * time.Millisecond
	holds(t, 10, hold, func(r ran) error {
		all := r.probes(1)
		slices.SortFunc(all, func(a, b record.Probe) int { return int(began(a) - began(b)) })
		var rounds []int
		for chunk := range slices.Chunk(all, 4) {
			pids := map[int32]bool{}
			for _, p := range chunk {
				pids[p.Pid] = true
			}
			rounds = append(rounds, len(pids))
		}
		if !slices.Equal(rounds, []int{4, 4, 2}) {
			return fmt.Errorf("rounds of %v workers, want 4, 4 and 2", rounds)
		}
		// Rounds that do not run into each other have a good part of a hold between
		// the last start of one and the first of the next.
		for _, i := range []int{4, 8} {
			if gap := time.Duration(began(all[i]) - began(all[i-1])); gap < hold/4 {
				return fmt.Errorf("request %d began %v after the one before it", i+1, gap)
			}
		}
		free := map[int32]int64{}
		for _, p := range all {
			if before := free[p.Pid] - int64(hold/5); began(p) < before {
				return fmt.Errorf("worker %d began a request before its last one was done", p.Pid)
			}
			free[p.Pid] = p.FirstByte
		}
		return r.values(map[string]float64{"requests": 10, "workers_seen": 4, "peak_in_service": 4})
	})
}

// Twelve at once on four workers: once those have taken theirs, exactly eight
// wait in the kernel's accept queue, at every reading of the first round. Until
// then, on a busy machine, there may be more.
func TestTwelveOnFourQueueEight(t *testing.T) {
	const hold = 500 * time.Millisecond
	holds(t, 12, hold, func(r ran) error {
		rep := r.repetitions()[0]
		read, deepest := 0, int64(0)
		for s, err := range r.Samples(t.Context(), rep.ID) {
			if err != nil {
				return err
			}
			if s.App != "site" || s.AtNs > rep.TrafficEndNs {
				continue
			}
			deepest = max(deepest, s.QueueDepth)
			after := time.Duration(s.AtNs - rep.TrafficNs)
			if after < 2*hold/5 || after > 9*hold/10 {
				continue
			}
			if read++; s.QueueDepth != 8 || s.QueueLimit != 2048 {
				return fmt.Errorf("%v after the start %d of %d wait, want 8 of 2048", after, s.QueueDepth, s.QueueLimit)
			}
		}
		if read < 3 || deepest > 12 {
			return fmt.Errorf("the queue was read %d times in half a hold of %v; at most %d waited", read, hold, deepest)
		}
		return r.values(map[string]float64{"requests": 12, "accept_queue_max": float64(deepest), "peak_in_service": 4, "overflows": 0, "abandoned_max": 0})
	})
}
