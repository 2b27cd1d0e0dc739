//go:build linux

package closedloop

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"brink/internal/doctor"
	"brink/internal/servertest"
)

func addressAt(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

const (
	// healthyWindows of healthyWindow each show a healthy machine.
	healthyWindows = 200
	healthyWindow  = time.Second
	// rounds is into how many parts they are divided: in each a server has
	// another utilisation.
	rounds = 4
	// machineFull is in percent of all CPU time. Above it the machine itself is
	// not at the utilisation that is asked for, whoever uses it, and the window
	// is taken again, redone at most as often.
	machineFull = 90
	redone      = 100
)

// Seven pools of workers and a loop, all under honest load at once, at random
// and at utilisations up to 0.8. In none of the windows may anything be found,
// nor may any look bad.
func TestTwoHundredHealthyWindows(t *testing.T) {
	w := healthyWard(t)
	found, again := 0, 0
	var all []*doctor.Report
	for round := range rounds {
		stop := w.drive(round)
		time.Sleep(4 * brief) // until it flows
		for n := 0; n < healthyWindows/rounds; {
			before := cpuTimes(t)
			r := look(t, healthyWindow)
			busy := cpuTimes(t).busySince(before)
			if len(r.Findings) == 0 && r.Verdict == doctor.Healthy {
				all, n = append(all, r), n+1
				continue
			}
			if busy >= machineFull {
				if again++; again > redone {
					t.Fatalf("others kept the CPUs busy in %d windows: on this machine nothing can be told now", again)
				}
				continue
			}
			all, n, found = append(all, r), n+1, found+1
			t.Errorf("round %d, window %d, with the CPUs %.0f %% busy: %s", round, n, busy, sayAll(r))
		}
		stop()
	}
	t.Logf("%d windows of %s of %d servers: %d with a finding or a suspicion; %d more in which others kept the CPUs busy", len(all), healthyWindow, len(w.servers), found, again)
	w.wereSeen(t, all)
}

// busyWard is the servers of the test.
type busyWard struct {
	servers []patient
	pools   []servertest.Pool
}

func healthyWard(t *testing.T) *busyWard {
	t.Helper()
	quick := servertest.NewUpstream(t, brief)
	w := &busyWard{pools: servertest.Pools()}
	for _, k := range w.pools {
		w.servers = append(w.servers, patient{k.Name, k.Start(t, quick.URL)})
	}
	w.pools = append(w.pools, servertest.Pool{Name: "Node.js", Workers: 4, Request: servertest.Get})
	w.servers = append(w.servers, patient{"Node.js", servertest.Node(t, fmt.Sprintf(nodeLoop, nodeWaits))})
	return w
}

// drive gives each server a utilisation by the round.
func (w *busyWard) drive(round int) (stop func()) {
	utilisations := []float64{honest, 0.5, honest, 0.2}
	var stops []func()
	for i := range w.servers {
		stops = append(stops, w.pools[i].Drive(w.servers[i].Process, utilisations[(i+round)%len(utilisations)], brief))
	}
	return func() {
		for _, s := range stops {
			s()
		}
	}
}

// wereSeen checks that each server was judged in every window: what nobody
// looked at is healthy easily.
func (w *busyWard) wereSeen(t *testing.T, reports []*doctor.Report) {
	t.Helper()
	for _, p := range w.servers {
		n := 0
		for _, r := range reports {
			for _, c := range r.Good {
				if strings.Contains(c.Text, p.Address()) {
					n++
					break
				}
			}
		}
		if n != len(reports) {
			t.Errorf("%s was judged in %d of %d windows", p.name, n, len(reports))
		}
	}
}

// cpu is the machine's CPU time so far, in ticks: in all, and not idle.
type cpu struct{ all, busy float64 }

func (c cpu) busySince(before cpu) float64 {
	return 100 * (c.busy - before.busy) / (c.all - before.all)
}

// cpuTimes reads the first line of /proc/stat (proc_stat(5)): user, nice, system,
// idle, iowait, irq, softirq, steal.
func cpuTimes(t *testing.T) (c cpu) {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line)[1:9] {
		ticks, err := strconv.ParseFloat(field, 64)
		if err != nil {
			t.Fatal(err)
		}
		if c.all += ticks; i != 3 && i != 4 {
			c.busy += ticks
		}
	}
	return c
}
