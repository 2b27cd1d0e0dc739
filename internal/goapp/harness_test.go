package goapp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"brink/apps"

	"golang.org/x/sys/unix"
)

const (
	// masterEnv makes the test binary a master, as `brink app` would be; its
	// value is a Config as JSON, whose AllocMB comes from the environment.
	masterEnv = "GOAPP_TEST_MASTER"
	// workerExitEnv makes workers leave with that code instead of booting.
	workerExitEnv = "GOAPP_TEST_WORKER_EXIT"

	gunicorn = "/usr/bin/gunicorn"
	python   = "/usr/bin/python3"

	// patience is how long anything may take on a busy machine.
	patience = 60 * time.Second
)

func TestMain(m *testing.M) {
	if code, err := strconv.Atoi(os.Getenv(workerExitEnv)); err == nil && os.Getenv(workerEnv) != "" {
		os.Exit(code)
	}
	RunIfWorker()
	if config := os.Getenv(masterEnv); config != "" {
		os.Exit(testMaster(config))
	}
	os.Exit(m.Run())
}

func testMaster(config string) int {
	cfg, err := FromEnv(os.Getenv)
	if err == nil {
		mb := cfg.AllocMB
		err = json.Unmarshal([]byte(config), &cfg)
		cfg.AllocMB = mb
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	err = Main(context.Background(), cfg, os.Stderr)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrWorkerBoot):
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// launch is how to start one of the servers.
type launch struct {
	workers   int
	timeout   time.Duration
	backlog   int
	keepAlive time.Duration
	bind      string
	env       []string
	flags     []string // of gunicorn
}

func (l launch) withDefaults() launch {
	if l.workers == 0 {
		l.workers = 1
	}
	if l.timeout == 0 {
		l.timeout = 2 * time.Minute
	}
	if l.backlog == 0 {
		l.backlog = 2048
	}
	if l.bind == "" {
		l.bind = "127.0.0.1:0"
	}
	return l
}

// command builds the command line of one of the servers: "flask", "asgi",
// "node" or "go".
func command(t testing.TB, kind string, l launch) *exec.Cmd {
	t.Helper()
	l = l.withDefaults()
	if sentence := needPython(); sentence != "" {
		t.Fatal(sentence)
	}
	var cmd *exec.Cmd
	switch kind {
	case "flask":
		cmd = exec.Command(gunicorn, append([]string{
			"--bind=" + l.bind,
			fmt.Sprintf("--workers=%d", l.workers),
			fmt.Sprintf("--timeout=%d", int(l.timeout.Seconds())),
			fmt.Sprintf("--backlog=%d", l.backlog),
		}, append(l.flags, "app:app")...)...)
		cmd.Dir = unpacked(t, kind)
		cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	case "asgi":
		host, port, err := net.SplitHostPort(l.bind)
		if err != nil {
			t.Fatal(err)
		}
		if port == "0" { // uvicorn's parent process does not say which one it got
			port = freePort(t)
		}
		cmd = exec.Command(python, append([]string{
			"-m", "uvicorn", "--host=" + host, "--port=" + port,
			fmt.Sprintf("--workers=%d", l.workers),
			fmt.Sprintf("--backlog=%d", l.backlog),
			"--no-access-log",
		}, append(l.flags, "asgi:app")...)...)
		cmd.Dir = unpacked(t, "flask")
		cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", fmt.Sprintf("WEB_CONCURRENCY=%d", l.workers))
	case "node":
		node, err := exec.LookPath("node")
		if err != nil {
			t.Fatal("node is missing: install the Debian package nodejs")
		}
		cmd = exec.Command(node, "server.js")
		cmd.Dir = unpacked(t, kind)
		cmd.Env = append(os.Environ(), "PORT=0")
	case "go":
		cfg := Config{
			Bind: l.bind, Workers: l.workers, Timeout: l.timeout, GracefulTimeout: 30 * time.Second,
			Backlog: l.backlog, KeepAlive: l.keepAlive,
		}
		config, err := json.Marshal(cfg)
		if err != nil {
			t.Fatal(err)
		}
		cmd = exec.Command(os.Args[0])
		// Under the race detector every exit would take a second longer.
		cmd.Env = append(os.Environ(), masterEnv+"="+string(config), "GORACE=atexit_sleep_ms=0")
	default:
		t.Fatalf("unknown server %q", kind)
	}
	cmd.Env = append(cmd.Env, l.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// debian names the packages of what the distribution's Python must import.
var debian = map[string]string{
	"flask": "python3-flask", "gunicorn": "gunicorn", "gevent": "python3-gevent", "uvicorn": "python3-uvicorn",
}

// needPython is what is missing, in one sentence, or nothing.
var needPython = sync.OnceValue(func() string {
	for module, pkg := range debian {
		if exec.Command(python, "-c", "import "+module).Run() != nil {
			return fmt.Sprintf("%s is missing: install the Debian package %s", module, pkg)
		}
	}
	return ""
})

// freePort is a port that nobody listens on at present.
func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

func unpacked(t testing.TB, app string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), app)
	if err := apps.Unpack(app, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// server is a running server. It is stopped, and looked after for processes
// that it left behind, when the test ends.
type server struct {
	kind  string
	cmd   *exec.Cmd
	addr  string
	began time.Time
	ended chan struct{}

	mu  sync.Mutex
	log bytes.Buffer
}

// listeningLine is how gunicorn, Node.js and the built-in server, or uvicorn,
// say where they are.
var listeningLine = regexp.MustCompile(`(?:Listening at:|Uvicorn running on) http://(\S+)`)

// start returns when the server answers /health and, where its workers say so,
// all of them can serve.
func start(t *testing.T, kind string, l launch) *server {
	t.Helper()
	s := startOnly(t, kind, l)
	if kind == "asgi" {
		s.awaitUvicorn(t, l.withDefaults().workers)
	}
	s.get(t, "/health")
	return s
}

// awaitUvicorn waits for its workers: the parent process says where it will
// listen, and they do. One alone says nothing else.
func (s *server) awaitUvicorn(t *testing.T, workers int) {
	t.Helper()
	ready := func() bool { return strings.Count(s.output(), "Worker ready with pid: ") >= workers }
	if workers == 1 {
		ready = func() bool { _, err := s.try(http.MethodGet, "/health"); return err == nil }
	}
	if !eventually(ready) {
		t.Fatalf("not all workers of uvicorn get ready:\n%s", s.output())
	}
}

// startOnly returns when the server says where it listens.
func startOnly(t *testing.T, kind string, l launch) *server {
	t.Helper()
	s := &server{kind: kind, cmd: command(t, kind, l), began: time.Now(), ended: make(chan struct{})}
	out, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	listening := make(chan string, 1)
	go func() {
		defer close(s.ended)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			s.mu.Lock()
			fmt.Fprintln(&s.log, lines.Text())
			s.mu.Unlock()
			if found := listeningLine.FindStringSubmatch(lines.Text()); found != nil {
				listening <- found[1]
			}
		}
		_ = s.cmd.Wait()
	}()
	t.Cleanup(func() { s.stop(t) })
	select {
	case s.addr = <-listening:
	case <-s.ended:
		t.Fatalf("%s ended before it listened:\n%s", kind, s.output())
	case <-time.After(patience):
		t.Fatalf("%s does not listen:\n%s", kind, s.output())
	}
	return s
}

func (s *server) output() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// stop asks nicely, and fails the test if a process of the group is left or if
// the race detector had something to say in one of them.
func (s *server) stop(t *testing.T) {
	group := s.cmd.Process.Pid
	select {
	case <-s.ended:
	default:
		_ = s.cmd.Process.Signal(unix.SIGTERM)
		select {
		case <-s.ended:
		case <-time.After(patience):
			t.Errorf("%s does not end on SIGTERM:\n%s", s.kind, s.output())
		}
	}
	if strings.Contains(s.output(), "DATA RACE") {
		t.Errorf("%s races:\n%s", s.kind, s.output())
	}
	if !eventually(func() bool { return errors.Is(unix.Kill(-group, 0), unix.ESRCH) }) {
		t.Errorf("%s left processes behind", s.kind)
		_ = unix.Kill(-group, unix.SIGKILL)
	}
}

// answer is an HTTP answer with its body read.
type answer struct {
	status int
	header http.Header
	body   map[string]any
	pid    int // of X-Brink-Pid
}

func (s *server) get(t *testing.T, path string) answer {
	t.Helper()
	a, err := s.try(http.MethodGet, path)
	if err != nil {
		t.Fatalf("%s: GET %s: %v\n%s", s.kind, path, err, s.output())
	}
	return a
}

// try makes one request on a connection of its own.
func (s *server) try(method, path string) (answer, error) {
	target, err := url.Parse("http://" + s.addr + path)
	if err != nil {
		return answer{}, err
	}
	client := http.Client{
		Timeout:   patience,
		Transport: &http.Transport{DisableKeepAlives: true},
	}
	resp, err := client.Do(&http.Request{Method: method, URL: target})
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	return readAnswer(resp)
}

func readAnswer(resp *http.Response) (answer, error) {
	a := answer{status: resp.StatusCode, header: resp.Header}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return a, err
	}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &a.body); err != nil {
			return a, fmt.Errorf("%.200s: %w", text, err)
		}
	}
	a.pid, err = strconv.Atoi(resp.Header.Get("X-Brink-Pid"))
	return a, err
}

// children lists the processes that pid has started.
func children(t testing.TB, pid int) []int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var out []int
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it ended meanwhile
		}
		// proc(5): pid (comm) state ppid ...; comm may hold anything.
		fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if fields[1] == strconv.Itoa(pid) {
			child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, child)
		}
	}
	return out
}

func gone(pid int) bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

func eventually(is func() bool) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if is() {
			return true
		}
	}
	return false
}
