package gauge

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"brink/internal/goapp"
	"brink/internal/kernel"
)

const (
	gunicornBin = "/usr/bin/gunicorn"
	// patience is how long anything may take on a busy machine.
	patience = 60 * time.Second
	// masterEnv makes the test binary the built-in Go app, on that port.
	masterEnv = "WATCH_TEST_MASTER_PORT"
)

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

// slowUpstream answers after a while and knows how many requests are with it.
type slowUpstream struct {
	*httptest.Server
	inFlight atomic.Int64
}

func newUpstream(t *testing.T, hold time.Duration) *slowUpstream {
	t.Helper()
	u := &slowUpstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.inFlight.Add(1)
		defer u.inFlight.Add(-1)
		select {
		case <-time.After(hold):
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, "done")
	}))
	t.Cleanup(u.Close)
	return u
}

// wsgi waits for the upstream, or sleeps for ?SECONDS. Each worker, process or
// thread, has a byte of the file "busy" that is 1 while it serves.
const wsgi = `
import itertools, mmap, os, threading, time, urllib.request

fd = os.open("busy", os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, 4096)
busy = mmap.mmap(fd, 4096)
mine = threading.local()

def slot():
    if not hasattr(mine, "slot"):
        for i in itertools.count():
            try:
                os.close(os.open("slot%d" % i, os.O_CREAT | os.O_EXCL))
                mine.slot = i
                break
            except FileExistsError:
                pass
    return mine.slot

def app(env, start):
    i = slot()
    busy[i] = 1
    try:
        query = env.get("QUERY_STRING", "")
        if query:
            time.sleep(float(query))
        else:
            with urllib.request.urlopen(os.environ["UPSTREAM"], timeout=30) as r:
                r.read()
    finally:
        busy[i] = 0
    start("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "3")])
    return [b"ok\n"]
`

// busyInApp is how many workers of the WSGI app say that they serve.
func busyInApp(t testing.TB, p *process) int64 {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(p.Dir, "busy"))
	if err != nil {
		t.Fatal(err)
	}
	return int64(bytes.Count(b, []byte{1}))
}

// freePort is one that was free a moment ago.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// process is a server under test.
type process struct {
	*exec.Cmd
	port   int
	asking atomic.Int64 // requests under way
}

func (p *process) url(query string) string {
	return fmt.Sprintf("http://127.0.0.1:%d/%s", p.port, query)
}

// launch starts a command in a directory of its own and waits until it listens.
func launch(t testing.TB, port int, files map[string]string, env []string, name string, args ...string) *process {
	t.Helper()
	p := launchAt(t, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), files, env, name, args...)
	p.port = port
	return p
}

// launchAt is launch with an address of any network.
func launchAt(t testing.TB, network, address string, files map[string]string, env []string, name string, args ...string) *process {
	t.Helper()
	dir := t.TempDir()
	address = strings.ReplaceAll(address, "@DIR@", dir)
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(strings.ReplaceAll(text, "@DIR@", dir)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "@DIR@", dir)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end(cmd)
		log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("%s said:\n%.4000s", name, text)
		}
	})
	eventually(t, name+" listens", func() bool {
		c, err := net.Dial(network, address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return &process{Cmd: cmd}
}

func end(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait()
}

func gunicornWith(t testing.TB, upstream string, args ...string) *process {
	t.Helper()
	port := freePort(t)
	args = append(args, "-b", "127.0.0.1:"+strconv.Itoa(port), "app:app")
	return launch(t, port, map[string]string{"app.py": wsgi}, []string{"UPSTREAM=" + upstream}, gunicornBin, args...)
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("never happened: %s", what)
}

// client opens a connection for each request.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}

// hold keeps n requests in a server until the test ends.
func hold(t testing.TB, n int, url string) {
	t.Helper()
	for range n {
		go func() {
			if resp, err := client.Get(url); err == nil {
				resp.Body.Close()
			}
		}()
	}
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
	eventually(t, fmt.Sprintf("%d processes", processes), func() bool {
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
