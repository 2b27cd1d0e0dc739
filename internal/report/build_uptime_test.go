package report

import (
	"slices"
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
		{App: "a", AtNs: s(12), Kind: wire.WorkerKilled}, // it served: no new start
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
	if row := c.Table.Rows[1]; row[0] != "b" || row[1] != "0" || row[2] != "0" || row[5] != "11.00" {
		t.Errorf("table row %v: b is down for 11 s and never restarts", row)
	}
}

// A worker that its own server kills while it boots is marked: the app starts
// over, and no restart is counted. Apps stand by their numbers.
func TestUptimesShowWorkersKilledWhileBooting(t *testing.T) {
	s := func(x int64) int64 { return 1_000_000_000 * x }
	got := appUptimes([]wire.Event{
		{App: "web-10", AtNs: s(0), Kind: wire.Deployed}, {App: "web-9", AtNs: s(0), Kind: wire.Deployed},
		{App: "web-10", AtNs: s(30), Kind: wire.WorkerKilled}, {App: "web-10", AtNs: s(61), Kind: wire.WorkerKilled}, {App: "web-10", AtNs: s(70), Kind: wire.Healthy},
		{App: "web-9", AtNs: s(20), Kind: wire.Healthy},
	}, s(80))
	if len(got) != 2 || got[0].App != "web-9" || got[1].Restarts != 0 || !cmp.Equal(got[1].Kills, []float64{30, 61}) {
		t.Fatalf("%+v", got)
	}
	c := must(t)(Uptime(UptimeInput{ID: "u", Apps: got}))
	if want := "2 apps: 0 restarts in all, 0 at most for one app. Their own servers killed 2 workers that had not booted yet."; c.Alt != want {
		t.Errorf("%q, want %q", c.Alt, want)
	}
	if n := len(specOf(t, c).Layer[1].Data.Values); n != 2 {
		t.Errorf("%d kills are drawn, want 2", n)
	}
}

// However they come, apps stand by name and then by number.
func TestAppsStandByNameAndNumber(t *testing.T) {
	want := []string{"a", "a1", "a2", "a10", "a1x", "b1"}
	for i := range want {
		got := append(slices.Clone(want[i:]), want[:i]...)
		slices.Reverse(got)
		if slices.SortStableFunc(got, byName); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
}
