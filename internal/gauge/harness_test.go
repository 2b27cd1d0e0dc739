package gauge

import (
	"fmt"
	"os"
	"testing"
	"time"

	"brink/internal/goapp"
	"brink/internal/kernel"
	"brink/internal/servertest"
)

// masterEnv makes the test binary the built-in Go app, on that port.
const masterEnv = "WATCH_TEST_MASTER_PORT"

func TestMain(m *testing.M) {
	goapp.RunIfWorker()
	if port, ok := os.LookupEnv(masterEnv); ok {
		os.Exit(masterMain(port))
	}
	if port, ok := os.LookupEnv(serverEnv); ok {
		os.Exit(serverMain(port))
	}
	os.Exit(m.Run())
}

func watching(t testing.TB, cfg Config) *Gauge {
	t.Helper()
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

func onPort(port int) Config { return Config{Listen: []Address{{Port: uint16(port)}}} }

// sample takes a reading as if a second had gone by since the one before: the
// gauge then looks at connections wherever it has to.
func sample(t testing.TB, g *Gauge) *Snapshot {
	t.Helper()
	now := time.Now()
	if !g.snap.At.IsZero() {
		now = g.snap.At.Add(time.Second)
	}
	s, err := g.Sample(now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// only reads the one server that is watched.
func only(t testing.TB, g *Gauge) *Server {
	t.Helper()
	s := sample(t, g)
	if len(s.Servers) != 1 {
		t.Fatalf("%d servers, want 1", len(s.Servers))
	}
	return s.Servers[0]
}

// grown waits until a server has all its processes, master included.
func grown(t testing.TB, g *Gauge, processes int) *Server {
	t.Helper()
	var s *Server
	servertest.Eventually(t, fmt.Sprintf("%d processes", processes), func() bool {
		snap := sample(t, g)
		if len(snap.Servers) != 1 {
			return false
		}
		s = snap.Servers[0]
		return len(s.Processes) == processes
	})
	return s
}

func num(n uint64) kernel.Num { return kernel.Num{Value: n, Known: true} }

func wantNum(t testing.TB, what string, got kernel.Num, want uint64) {
	t.Helper()
	if got != num(want) {
		t.Errorf("%s = %v, want %d", what, got, want)
	}
}
