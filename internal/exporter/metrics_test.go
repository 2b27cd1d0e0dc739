package exporter

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"brink/internal/gauge"
	"brink/internal/kernel"
)

func num(n uint64) kernel.Num { return kernel.Num{Value: n, Known: true} }

func known(v float64) gauge.Measure { return gauge.Measure{Value: v, Known: true} }

// reading has everything in it that can be known or unknown.
func reading() *gauge.Snapshot {
	return &gauge.Snapshot{
		At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Interval: time.Second,
		Servers: []*gauge.Server{
			{
				Name: "gunicorn app:app", Kind: gauge.GunicornSync, PID: 10,
				Workers: num(4), Busy: num(3), BusyAtLeast: 3, Idle: num(1), Queued: num(2), Open: num(3),
				CPU: known(0.25), RSSBytes: 64 << 20, Service: known(0.2), Rate: known(15),
				Total: gauge.Totals{WorkerSeconds: 40, BusySeconds: 30, CPUSeconds: 2.5},
				Sockets: []gauge.Socket{{Local: netip.MustParseAddrPort("127.0.0.1:8000"), Inode: 1, Queue: 2, Limit: num(64),
					Oldest: known(1.5), Abandoned: num(1), Drops: num(0), DropsTotal: num(7), QueueSeconds: 12}},
				Processes: []gauge.Process{{PID: 10, Master: true}, {PID: 11, State: gauge.Busy}},
			},
			{
				Name: "node", Kind: gauge.Node, PID: 20, RSSBytes: 1 << 20,
				Sockets:   []gauge.Socket{{Local: netip.MustParseAddrPort("[::]:3000"), Inode: 2}},
				Processes: []gauge.Process{{PID: 20}},
			},
			{
				Kind: gauge.UnknownKind, NetNS: 77,
				Sockets: []gauge.Socket{{Local: netip.MustParseAddrPort("0.0.0.0:22"), Inode: 3, Queue: 1}},
			},
		},
	}
}

// Everything that is offered of the reading, by the values in it. What is
// unknown is absent: the workers of Node.js, all but the queue of a server that
// may not be looked into.
func TestMetrics(t *testing.T) {
	e := &Exporter{snap: reading(), readings: 5, failures: 1}
	const (
		sync    = `{kind="gunicorn sync",listen="127.0.0.1:8000",netns="",server="gunicorn app:app"}`
		node    = `{kind="Node.js",listen="[::]:3000",netns="",server="node"}`
		first   = `{netns="",server="gunicorn app:app",socket="127.0.0.1:8000"}`
		second  = `{netns="",server="node",socket="[::]:3000"}`
		foreign = `{netns="77",server="unknown",socket="0.0.0.0:22"}`
	)
	values := map[metric][]string{
		workers: {sync + " 4"}, busy: {sync + " 3"}, idle: {sync + " 1"}, queued: {sync + " 2"},
		workerTime: {sync + " 40"}, busyTime: {sync + " 30"},
		service: {sync + " 0.2"}, arrivals: {sync + " 15"}, sustainable: {sync + " 20"},
		cpuTime: {sync + " 2.5", node + " 0"}, memory: {sync + " 6.7108864e+07", node + " 1.048576e+06"}, processes: {sync + " 2", node + " 1"},
		queue: {first + " 2", second + " 0", foreign + " 1"}, queueTime: {first + " 12", second + " 0", foreign + " 0"},
		limit: {first + " 64"}, abandoned: {first + " 1"}, drops: {first + " 7"},
		oldest:   {first + " 1.5", second + " 0"},
		readings: {" 5"}, failures: {" 1"},
	}
	got := scrape(t, e)
	for _, m := range all {
		lines := slices.DeleteFunc(slices.Clone(got), func(line string) bool {
			name, _, _ := strings.Cut(strings.Fields(line)[0], "{")
			return name != m.name
		})
		want := values[m]
		if m == wait { // of no round value; watch tests it against tables
			want = lines[:1]
		}
		slices.Sort(want)
		for i, v := range want {
			want[i] = m.name + strings.TrimPrefix(v, m.name)
		}
		if !slices.Equal(lines, want) {
			t.Errorf("%s:\n%s\nwant:\n%s", m.name, strings.Join(lines, "\n"), strings.Join(want, "\n"))
		}
	}
}

// scrape returns what the handler serves without its comments, in order.
func scrape(t *testing.T, e *Exporter) []string {
	t.Helper()
	lines := slices.DeleteFunc(served(t, e), func(line string) bool { return strings.HasPrefix(line, "#") })
	slices.Sort(lines)
	return lines
}

// scrapeTypes returns the type of each metric that the handler serves.
func scrapeTypes(t *testing.T) map[string]string {
	t.Helper()
	types := map[string]string{}
	for _, line := range served(t, &Exporter{snap: reading()}) {
		if words := strings.Fields(line); len(words) == 4 && words[1] == "TYPE" {
			types[words[2]] = words[3]
		}
	}
	return types
}

func served(t *testing.T, e *Exporter) []string {
	t.Helper()
	answer := httptest.NewRecorder()
	e.Server().Handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if answer.Code != http.StatusOK {
		t.Fatalf("%d: %s", answer.Code, answer.Body)
	}
	return strings.Split(strings.TrimSpace(answer.Body.String()), "\n")
}

// The rules are those of Prometheus: names, units, help.
func TestMetricsAreNamedByTheRules(t *testing.T) {
	problems, err := testutil.CollectAndLint(&Exporter{snap: reading()})
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// Two servers that share a name and an address (SO_REUSEPORT) do not collide,
// and sockets of one server that share an address are added up.
func TestSharedAddress(t *testing.T) {
	snap := reading()
	twin := *snap.Servers[0]
	twin.Sockets = slices.Clone(twin.Sockets)
	twin.Sockets[0].Inode = 9
	twin.Sockets = append(twin.Sockets, twin.Sockets[0])
	snap.Servers = append(snap.Servers, &twin)
	e := &Exporter{snap: snap}
	const want = `# HELP brink_accept_queue_limit_connections Backlog of the listening socket.
# TYPE brink_accept_queue_limit_connections gauge
brink_accept_queue_limit_connections{netns="",server="gunicorn app:app",socket="127.0.0.1:8000"} 64
brink_accept_queue_limit_connections{netns="",server="gunicorn app:app 9",socket="127.0.0.1:8000"} 128
`
	if err := testutil.CollectAndCompare(e, strings.NewReader(want), limit.name); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(e, workers.name); n != 2 {
		t.Errorf("%d servers with workers, want 2", n)
	}
}

// Names that a process gives itself, and paths of its sockets, may hold anything
// and be of any length. A label is one printable line of at most 100 characters,
// or 200 where it holds addresses.
func TestNamesThatAreNoText(t *testing.T) {
	for _, c := range []struct{ name, path, server, listen string }{
		{"app\xff\n\"", "", `app� \"`, "127.0.0.1:8000"},
		{"a\n\x1b[2Jb", "/run/a\nb\u202e.sock", "a [2Jb", "unix:/run/a b .sock"},
		{strings.Repeat("x", 5000), "", strings.Repeat("x", 99) + "…", "127.0.0.1:8000"},
		{"\n", "/" + strings.Repeat("y", 300), "unknown", "unix:/" + strings.Repeat("y", 193) + "…"},
	} {
		snap := reading()
		snap.Servers[0].Name = c.name
		if c.path != "" {
			snap.Servers[0].Sockets[0].Local, snap.Servers[0].Sockets[0].Path = netip.AddrPort{}, c.path
		}
		want := workers.name + `{kind="gunicorn sync",listen="` + c.listen + `",netns="",server="` + c.server + `"} 4`
		lines := scrape(t, &Exporter{snap: snap})
		if !slices.Contains(lines, want) {
			t.Errorf("no %s in\n%s", want, strings.Join(lines, "\n"))
		}
		want = queue.name + `{netns="",server="` + c.server + `",socket="` + c.listen + `"} 2`
		if !slices.Contains(lines, want) {
			t.Errorf("no %s in\n%s", want, strings.Join(lines, "\n"))
		}
	}
}

// A reading that fails offers nothing old.
func TestFailedReading(t *testing.T) {
	e := &Exporter{readings: 3, failures: 1}
	if n := testutil.CollectAndCount(e); n != 2 {
		t.Errorf("%d metrics, want the two counters of readings", n)
	}
}
