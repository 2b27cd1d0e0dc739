//go:build linux

package closedloop

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"brink/internal/doctor"
	"brink/internal/servertest"
)

const (
	// healthyWindows of healthyWindow each show a healthy machine.
	healthyWindows = 200
	healthyWindow  = time.Second
	// rounds is into how many parts they are divided: in each a server has
	// another utilisation.
	rounds = 4
)

// Seven pools of workers and a loop, all under honest load at once, at random
// and at utilisations up to 0.8. In none of the windows may anything be found,
// nor may any look bad, and each server must have been judged: what nobody
// looked at is healthy easily.
func TestTwoHundredHealthyWindows(t *testing.T) {
	t.Parallel() // to TestSlowStart, which waits
	others := theNeighbours()
	w := healthyWard(t)
	found := 0
	for round := range rounds {
		stop := w.drive(round)
		time.Sleep(4 * brief) // until it flows
		for n := range healthyWindows / rounds {
			r := others.look(t, healthyWindow, func(r *doctor.Report) bool { return w.wrong(r) == "" })
			if wrong := w.wrong(r); wrong != "" {
				found++
				t.Errorf("round %d, window %d: %s:\n%s", round, n, wrong, sayAll(r))
			}
		}
		stop()
	}
	t.Logf("%d windows of %s of %d servers: %d with a finding or a suspicion; %s", healthyWindows, healthyWindow, len(w.servers), found, others)
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

// wrong says what of a report is not as a healthy machine's, "" if all is.
func (w *busyWard) wrong(r *doctor.Report) string {
	if len(r.Findings) > 0 || r.Verdict != doctor.Healthy {
		return fmt.Sprintf("it is called %s", r.Verdict)
	}
	for _, p := range w.servers {
		if !slices.ContainsFunc(r.Good, func(c doctor.Check) bool { return strings.Contains(c.Text, p.Address()) }) {
			return fmt.Sprintf("%s at %s was not judged", p.name, p.Address())
		}
	}
	return ""
}
