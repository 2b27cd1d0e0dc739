//go:build linux

package closedloop

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"brink/internal/doctor"
	"brink/internal/servertest"
)

// computes needs a CPU for as many seconds as it is asked to: an amount of work,
// and not a time, so that it takes longer where others compute as well.
const computes = `
import time
def app(env, start):
    until = time.thread_time() + float(env["QUERY_STRING"])
    while time.thread_time() < until: pass
    start("200 OK", [("Content-Length", "0")])
    return [b""]
`

// fullCPUs: twice as many requests as there are CPUs compute, and workers are
// left for more; the twin is the same server when only a quarter of the CPUs'
// time is asked for.
func fullCPUs(t *testing.T) {
	const work = 50 * time.Millisecond
	cpus := runtime.NumCPU()
	port := servertest.FreePort(t)
	p := servertest.Launch(t, port, map[string]string{"app.py": computes}, nil,
		servertest.GunicornBin, "-t", "300", "-w", fmt.Sprint(3*cpus), "-b", addressAt(port), "app:app")
	asks := func(seconds float64) func() {
		return func() {
			if resp, err := servertest.Client.Get(p.URL(fmt.Sprintf("?%.2f", seconds))); err == nil {
				_ = resp.Body.Close()
			}
		}
	}
	others := theNeighbours()
	t.Run("twin", func(t *testing.T) {
		quarter := servertest.Pool{Name: "computes", Workers: cpus, Request: func(*servertest.Process) error { asks(work.Seconds())(); return nil }}
		defer quarter.Drive(p, 0.25, work)()
		time.Sleep(window) // until it flows
		fine := func(r *doctor.Report) bool { return r.Finding(doctor.CPUContention) == nil && len(about(r, p)) == 0 }
		for range 3 {
			if r := others.look(t, window, fine); !fine(r) {
				t.Errorf("a quarter of the CPUs' time is used, and it is found:\n%s", sayAll(r))
			}
		}
	})
	t.Log(others)
	stop := servertest.Keep(2*cpus, asks(1))
	defer stop()
	var r *doctor.Report
	for n := 1; n <= windows; n++ {
		r = doctor.Diagnose(look(t, window))
		for _, f := range about(r, p) {
			if f.CausedBy != doctor.CPUContention {
				t.Errorf("the CPUs are full, and the server was found to have %s, which does not follow from it: %s", f.Mode, f.What)
			}
		}
		if f := r.Finding(doctor.CPUContention); f != nil {
			t.Logf("window %d: %s", n, f.What)
			return
		}
	}
	t.Errorf("more computes than there are CPUs, and that was not found in %d windows of %s; the last says\n%s", windows, window, sayAll(r))
}
