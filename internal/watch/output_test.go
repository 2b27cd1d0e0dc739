package watch

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"brink/internal/gauge"
	"brink/internal/kernel"
)

func num(n uint64) kernel.Num { return kernel.Num{Value: n, Known: true} }

func known(v float64) gauge.Measure { return gauge.Measure{Value: v, Known: true} }

// example is a reading with everything in it that can be known or unknown.
func example() *gauge.Snapshot {
	return &gauge.Snapshot{
		At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Interval: time.Second,
		Servers: []*gauge.Server{
			{
				Name: "gunicorn app:app", Kind: gauge.GunicornSync, Why: "because", PID: 10,
				Workers: num(4), Busy: num(3), BusyAtLeast: 3, Idle: num(1), Queued: num(2), Open: num(3),
				CPU: known(0.25), RSSBytes: 64 << 20, Service: known(0.2), Rate: known(15),
				Total: gauge.Totals{WorkerSeconds: 40, BusySeconds: 30, CPUSeconds: 2.5},
				Sockets: []gauge.Socket{{Local: netip.MustParseAddrPort("127.0.0.1:8000"), Inode: 1, Queue: 2, Limit: num(64),
					Oldest: known(1.5), Abandoned: num(1), Drops: num(0), DropsTotal: num(7), QueueSeconds: 12}},
				Processes: []gauge.Process{
					{PID: 10, Master: true, RunState: 'S'},
					{PID: 11, State: gauge.Busy, RunState: 'S', Held: num(1), Serving: num(1), Unread: num(0),
						Wait: gauge.Wait{Call: "poll", Peer: netip.MustParseAddrPort("10.0.0.1:5432")}},
				},
			},
			{
				Name: "node", Kind: gauge.Node, Why: "because", PID: 20, BusyAtLeast: 0,
				Sockets: []gauge.Socket{{Local: netip.MustParseAddrPort("[::]:3000"), Inode: 2}}, Processes: []gauge.Process{{PID: 20}},
			},
			{Kind: gauge.UnknownKind, Why: "rights", NetNS: 77, Sockets: []gauge.Socket{{Local: netip.MustParseAddrPort("0.0.0.0:22"), Inode: 3, Queue: 1}}},
		},
	}
}

func TestJSON(t *testing.T) {
	b, err := json.Marshal(Document(example()))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Format  string
		Servers []map[string]any
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Format != "brink-watch/1" || len(doc.Servers) != 3 {
		t.Fatalf("format %q, %d servers", doc.Format, len(doc.Servers))
	}
	sync, node, foreign := doc.Servers[0], doc.Servers[1], doc.Servers[2]
	for field, want := range map[string]any{
		"workers": 4.0, "busy": 3.0, "idle": 1.0, "queued": 2.0, "cpus": 0.25, "service_s": 0.2, "rate_per_s": 15.0,
		"sustainable_per_s": 20.0, "saturated": false, "netns": nil,
	} {
		if sync[field] != want {
			t.Errorf("%s = %v, want %v", field, sync[field], want)
		}
	}
	// M/M/4 with 3 erlangs: Erlang C is 0.5094 (published tables), the mean
	// wait C s / (c - a) = 0.5094 * 0.2 s.
	if wait := sync["expected_wait_mmc_s"].(float64); wait < 0.1018 || wait > 0.102 {
		t.Errorf("expected wait %v s, want 0.1019", wait)
	}
	for _, field := range []string{"workers", "busy", "idle", "queued", "open_connections", "cpus", "service_s", "rate_per_s", "sustainable_per_s", "expected_wait_mmc_s"} {
		if v, there := node[field]; v != nil || !there {
			t.Errorf("%s of an unknown pool = %v, want null", field, v)
		}
	}
	if foreign["pid"] != nil || foreign["rss_bytes"] != nil || foreign["netns"] != 77.0 {
		t.Errorf("server without processes: %v", foreign)
	}
	process := sync["processes"].([]any)[1].(map[string]any)
	if process["state"] != "busy" || process["waits_on"].(map[string]any)["peer"] != "10.0.0.1:5432" {
		t.Errorf("process: %v", process)
	}
}

func TestTable(t *testing.T) {
	table := NewTable(example(), 0)
	lines := table.Lines()
	want := [][]string{
		{"LISTEN", "APP", "KIND", "WORKERS", "BUSY", "IDLE", "QUEUED", "OLDEST", "CPU", "MEM", "SUSTAINS", "WAIT"},
		{"127.0.0.1:8000", "gunicorn", "app:app", "gunicorn", "sync", "4", "3", "1", "2", "1.5s", "25.0%", "64", "MB", "20/s", "102ms"},
		{"[::]:3000", "node", "Node.js", "?", "?", "?", "≥0", "-", "?", "0", "MB", "?", "?"},
		{"0.0.0.0:22", "?", "unknown", "?", "?", "?", "≥1", "?", "?", "?", "?", "?"},
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d", len(lines), len(want))
	}
	for i, line := range lines {
		if got := strings.Fields(line); !slices.Equal(got, want[i]) {
			t.Errorf("line %d: %q, want %q", i, got, want[i])
		}
	}
	details := strings.Join(Details(example().Servers[0]), "\n")
	for _, part := range []string{"because", "pid 10: master", "pid 11: busy", "in poll, probably for 10.0.0.1:5432", "abandoned 1"} {
		if !strings.Contains(details, part) {
			t.Errorf("details lack %q:\n%s", part, details)
		}
	}
}
