package local

import (
	"errors"
	"strings"
	"testing"
	"time"

	"brink/internal/agent/agenttest"
	"brink/internal/experiment"
	"brink/internal/host"
	"brink/internal/kernel"
	"brink/internal/wire"
)

// The plan's memory limit is the kernel's where cgroup v2 is to be had, as in
// brink's own guest (host/vm runs this there), and elsewhere it is said that
// there is none.
func TestGuestAPlansLimitsHoldOnThisMachine(t *testing.T) {
	s, o := open(t, experiment.Plan{CPUs: 1, MemoryMB: 200, SwapMB: 1}, 50*time.Millisecond)
	limits := map[string]host.Limit{}
	for _, l := range s.Limits() {
		limits[l.Name] = l
	}
	if l := limits["cpus"]; !l.Applied || !strings.Contains(l.How, "sched_setaffinity") {
		t.Errorf("limit %+v", l)
	}
	if l := limits["memory"]; !l.Applied {
		if agenttest.InGuest() || !strings.Contains(l.How, "no memory limit can be applied") {
			t.Errorf("limit %+v", l)
		}
		return
	}
	for name, file := range map[string]string{"memory": "memory.max of cgroup /", "swap": "memory.swap.max of cgroup /"} {
		if l := limits[name]; !l.Applied || !strings.HasPrefix(l.How, file) {
			t.Errorf("limit %+v, want it applied by %s", l, file)
		}
	}
	// What is killed has less than the machine has to give.
	fs, err := kernel.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer fs.Close()
	m, err := fs.Meminfo()
	if err != nil || m.MemAvailable.Value>>20 < 400 {
		t.Fatalf("%d MB of memory are available, want enough for 300: %v", m.MemAvailable.Value>>20, err)
	}
	_, err = s.Deploy(t.Context(), shell("hog", "exec /usr/bin/python3 -c 'x = bytearray(b\"x\" * (300 << 20)); input()'"))
	var start *host.StartError
	if !errors.As(err, &start) || !strings.Contains(start.Reason, "was ended by signal 9 (killed) by the OOM killer") {
		t.Errorf("Deploy: %v, want a StartError with the OOM killer's signal", err)
	}
	if e := o.Events(wire.OOMKilled); len(e) != 1 || !strings.Contains(e[0].Detail, "cgroup") {
		t.Errorf("OOM kills %+v, want one of the cgroup", e)
	}
	_, err = s.Deploy(t.Context(), shell("crash", "kill -9 $$"))
	if !errors.As(err, &start) || !strings.Contains(start.Reason, "was ended by signal 9 (killed) after") {
		t.Errorf("Deploy: %v, want a StartError with a plain signal", err)
	}
	if n := len(o.Events(wire.OOMKilled)); n != 1 {
		t.Errorf("%d OOM kills, want 1: the second app killed itself", n)
	}
}
