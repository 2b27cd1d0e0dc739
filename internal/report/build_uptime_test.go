package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"brink/internal/wire"
)

// Two apps exit in the same second; one comes back after two more, the other
// never does.
func TestUptimesFollowTheEvents(t *testing.T) {
	s := func(x int64) int64 { return 1_000_000_000 * (100 + x) }
	got := appUptimes([]wire.Event{
		{App: "a", AtNs: s(0), Kind: wire.Deployed}, {App: "a", AtNs: s(2), Kind: wire.Healthy},
		{App: "b", AtNs: s(1), Kind: wire.Deployed}, {App: "b", AtNs: s(4), Kind: wire.Healthy},
		{App: "a", AtNs: s(9), Kind: wire.Exited}, {App: "b", AtNs: s(9), Kind: wire.Exited},
		{App: "a", AtNs: s(10), Kind: wire.Restarted}, {App: "a", AtNs: s(11), Kind: wire.Healthy},
	}, s(20))
	want := []AppUptime{
		{App: "a", Restarts: 1, Stretches: []Stretch{{0, 2, Starting}, {2, 9, Serving}, {9, 10, Down}, {10, 11, Starting}, {11, 20, Serving}}},
		{App: "b", Stretches: []Stretch{{1, 4, Starting}, {4, 9, Serving}, {9, 20, Down}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	c := must(t)(Uptime(UptimeInput{ID: "u", Apps: got}))
	if n := len(specOf(t, c).Layer[0].Data.Values); n != 8 {
		t.Errorf("%d bars, want 8", n)
	}
	if row := c.Table.Rows[1]; row[0] != "b" || row[1] != "0" || row[4] != "11.00" {
		t.Errorf("table row %v: b is down for 11 s and never restarts", row)
	}
}
