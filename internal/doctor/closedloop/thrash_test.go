//go:build linux

package closedloop

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"brink/internal/doctor"
	"brink/internal/experiment"
	"brink/internal/host"
)

// TestGuestThatThrashes has more memory in use at once than the guest has, on a
// slow swap disk, and asks doctor in the middle of it.
func TestGuestThatThrashes(t *testing.T) {
	m := boot(t, experiment.Plan{CPUs: 2, MemoryMB: 400, SwapMB: 600, SwapIOPS: 150, SwapMBs: 12, Share: experiment.Share{
		BallastMB: 100, HotMB: 100, HotEvery: experiment.Duration(time.Second),
	}})
	p := m.Session.(host.Presser)
	filled := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { filled <- p.Inflate(ctx, 330, time.Second) }()
	defer func() { cancel(); <-filled }()
	began := time.Now()
	for s := m.lastSample(); s.Pswpin <= 0 || s.PSIMemFull <= 0; s = m.lastSample() {
		if time.Since(began) > patience {
			t.Fatal("the guest does not swap")
		}
		time.Sleep(time.Second)
	}
	var missed []string
	for range tries {
		missed = nil
		for who, r := range m.doctors(t, 2*inGuest) {
			t.Logf("%s found %q after %s", who, modes(r), time.Since(began).Round(time.Second))
			if len(r.Findings) == 0 || r.Findings[0].Mode != doctor.SwapThrash { // it may only have begun
				missed = append(missed, fmt.Sprintf("%s found %q, want swap-thrash first:\n%s", who, modes(r), sayAll(r)))
				continue
			}
			for _, f := range r.Findings[1:] {
				if f.CausedBy != doctor.SwapThrash {
					t.Errorf("%s found %s beside it, which does not follow from it: %s", who, f.Mode, f.What)
				}
			}
		}
		if len(missed) == 0 {
			return
		}
	}
	t.Errorf("in each of %d looks somebody missed it, in the last:\n%s", tries, strings.Join(missed, "\n"))
}
