package agent_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brink/internal/agent/agenttest"
	"brink/internal/wire"
)

func TestWhyAnAppDoesNotStart(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	listen := "s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(('127.0.0.1', PORT)); s.listen()\n"
	answer := func(text string) string {
		return listen + "while True:\n c, _ = s.accept(); c.recv(4096); c.sendall(" + text + "); c.close()\n"
	}
	raw := func(name, program string) wire.App { return python(name, program) }
	port := taken.Addr().(*net.TCPAddr).Port
	for _, tc := range []struct {
		app  wire.App
		want string
	}{
		{raw("dies", "print('no config', file=sys.stderr); sys.exit(3)"), "it exited with code 3 after"},
		{raw("dies loudly", "print('no config', file=sys.stderr); sys.exit(3)"), "its last lines: no config"},
		{raw("is killed", "os.kill(os.getpid(), 9)"), "it was ended by signal 9 (killed) after"},
		{raw("never listens", "time.sleep(60)"), "it did not answer /health within 1.5s: it has no listener on 127.0.0.1:"},
		{raw("never answers", listen+"time.sleep(60)"), "within 1.5s: it accepted the connection but did not answer"},
		{raw("fails", answer(`b'HTTP/1.1 500 Oh no\r\nContent-Length: 0\r\n\r\n'`)), "it answered /health with status 500"},
		{raw("moved", answer(`b'HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n'`)), "it answered /health with status 302"},
		{raw("garbage", answer(`os.urandom(64)+b'\n'`)), "it answered /health with something that is not HTTP"},
		{raw("hangs up", listen+"while True:\n c, _ = s.accept(); c.recv(4096); c.close()\n"), "it closed the connection without an answer"},
		{raw("endless body", listen+"while True:\n c, _ = s.accept(); c.recv(4096); c.sendall(b'HTTP/1.1 200 OK\\r\\n\\r\\n')\n try:\n  while True: c.sendall(b'x'*65536)\n except OSError: pass\n"), "it answered /health with more than 64 KiB"},
		{raw("endless headers", listen+"while True:\n c, _ = s.accept(); c.recv(4096); c.sendall(b'HTTP/1.1 200 OK\\r\\n')\n try:\n  while True: c.sendall(b'A: '+b'x'*1000+b'\\r\\n')\n except OSError: pass\n"), "it answered /health with something that is not HTTP"},
		{wire.App{Name: "no permission", Runtime: "command", Command: []string{notExecutable(t)}}, "permission denied"},
		{withAddr(raw("port taken", serving), taken.Addr().String()), fmt.Sprintf("port %d is taken by pid %d (%s)", port, os.Getpid(), comm(t))},
	} {
		t.Run(tc.app.Name, func(t *testing.T) {
			t.Parallel()
			tc.app.StartLimitNs = int64(1500 * time.Millisecond)
			_, err := a.Deploy(t, tc.app)
			for _, e := range a.Events(wire.Started) {
				if e.App == tc.app.Name && alive(e.Pid) {
					t.Errorf("it left pid %d behind", e.Pid)
				}
			}
			var fault *wire.Fault
			if !errors.As(err, &fault) {
				t.Fatalf("error %v, want a fault", err)
			}
			if !strings.Contains(fault.Text, tc.want) || strings.Contains(fault.Text, "\n") {
				t.Errorf("reason %q, want one line with %q", fault.Text, tc.want)
			}
			if tc.want != "permission denied" && fault.Kind != wire.StartFailed {
				t.Errorf("kind %s, want %s", fault.Kind, wire.StartFailed)
			}
		})
	}
}

func notExecutable(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func comm(t *testing.T) string {
	b, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

func withAddr(app wire.App, addr string) wire.App {
	app.Addr = addr
	return app
}

// Somebody else answers on the app's port: the app is not up, however healthy
// the answer.
func TestAnotherProcessAnswersInTheAppsPlace(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	free.Close()
	go func() {
		a.AwaitEvents(t, wire.Started, 1)
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { l.Close() })
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {}))
	}()
	_, err = a.Deploy(t, withAddr(python("silent", "time.sleep(60)"), addr))
	want := fmt.Sprintf("is answered by pid %d (%s), which is not a process of the app", os.Getpid(), comm(t))
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	for _, tc := range []struct {
		method wire.Method
		body   any
		want   string
	}{
		{"dance", nil, `the agent knows no method "dance"`},
		{wire.Deploy, "text", "deploy: its body is malformed"},
		{wire.Deploy, wire.App{}, "an app needs a name"},
		{wire.Deploy, wire.App{Name: "a", Addr: "localhost:1"}, `address "localhost:1" is not an IP address and a port`},
		{wire.Deploy, wire.App{Name: "b", Addr: "127.0.0.1:0", Runtime: "perl"}, `runtime "perl" is not one of flask, asgi, node, go, command`},
		{wire.Deploy, wire.App{Name: "c", Addr: "127.0.0.1:0", Runtime: "flask"}, "flask needs at least 1 worker, not 0"},
		{wire.Deploy, wire.App{Name: "d", Addr: "127.0.0.1:0", Runtime: "flask", Workers: 1, TimeoutNs: 1500e6}, "gunicorn's worker time-out takes whole seconds, not 1.5s"},
		{wire.Deploy, wire.App{Name: "e", Addr: "127.0.0.1:0", Runtime: "node", Workers: 2}, "the node app is one process; it cannot have 2 workers"},
		{wire.Deploy, wire.App{Name: "f", Addr: "127.0.0.1:0", Runtime: "command"}, "runtime command needs a command"},
		{wire.Deploy, wire.App{Name: "g", Addr: "127.0.0.1:0", Runtime: "command", Command: []string{"no-such-program"}}, "executable file not found"},
		{wire.Deploy, wire.App{Name: "h", Addr: "127.0.0.1:0", Runtime: "command", Command: []string{"true"}, Env: map[string]string{"A=B": "x"}}, `environment variable "A=B" cannot be set`},
		{wire.Deploy, wire.App{Name: "a", Addr: "127.0.0.1:0"}, "app a has been deployed already"},
		{wire.StopApp, wire.AppName{Name: "nobody"}, `there is no app "nobody"`},
		{wire.StartSampling, wire.Sampling{EveryNs: 10}, "a sampling interval of 10ns is shorter than 1ms"},
	} {
		err := a.Call(t.Context(), tc.method, tc.body, nil)
		var fault *wire.Fault
		if !errors.As(err, &fault) || fault.Kind != wire.BadRequest || !strings.Contains(fault.Text, tc.want) {
			t.Errorf("%s %+v: error %v, want a bad request: %q", tc.method, tc.body, err, tc.want)
		}
	}
}
