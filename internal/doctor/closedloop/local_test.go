//go:build linux

package closedloop

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"brink/internal/doctor"
	"brink/internal/servertest"
)

// window is how far apart the readings are, and windows how many there may be
// until a state that is held has been named.
const (
	window  = 2 * time.Second
	windows = 20
)

const (
	// honest is the utilisation of a healthy twin.
	honest = 0.8
	// brief is how long a request of honest load holds a worker.
	brief = 150 * time.Millisecond
)

// about finds the findings about a server, by its address.
func about(r *doctor.Report, p *servertest.Process) []doctor.Finding {
	var list []doctor.Finding
	for _, f := range r.Findings {
		if strings.Contains(f.Subject, p.Address()) {
			list = append(list, f)
		}
	}
	return list
}

// sayAll shows what a report says, for a test that fails.
func sayAll(r *doctor.Report) string {
	var b strings.Builder
	_ = doctor.Text(&b, r, doctor.TextOptions{Width: 160, All: true}) // a Builder takes everything
	return b.String()
}

// patient is a server that is to be named, or a healthy twin, which is not.
type patient struct {
	name string
	*servertest.Process
}

// ward is what is on the machine at one time: servers that have a failure mode,
// and healthy ones beside them.
type ward struct {
	mode       doctor.Mode
	ill, twins []patient
	// window is for what a usual one is too short to show; 0 stands for the usual.
	window time.Duration
}

// examine looks until each of the ill has been named with the mode. Nothing may
// be said of a twin in any window, nor of the ill what does not follow from it.
func (w *ward) examine(t *testing.T) {
	t.Helper()
	named := map[string]bool{}
	var last *doctor.Report
	window := cmp.Or(w.window, window)
	for n := 1; len(named) < len(w.ill) && n <= windows; n++ {
		last = theNeighbours().look(t, window, func(r *doctor.Report) bool { return len(w.wrong(r)) == 0 })
		for _, wrong := range w.wrong(last) {
			t.Error(wrong)
		}
		for _, p := range w.ill {
			for _, f := range about(last, p.Process) {
				if f.Mode == w.mode && !named[p.name] {
					named[p.name] = true
					t.Logf("window %d: %s", n, f.What)
				}
			}
		}
	}
	for _, p := range w.ill {
		if !named[p.name] {
			t.Errorf("%s at %s was not found to have %s in %d windows of %s; the last says\n%s", p.name, p.Address(), w.mode, windows, window, sayAll(last))
		}
	}
}

// wrong is what a report says that is not so: of the ill something that does not
// follow from what they have, of a twin anything.
func (w *ward) wrong(r *doctor.Report) []string {
	list := w.ofTwins(r)
	for _, p := range w.ill {
		for _, f := range about(r, p.Process) {
			if f.Mode != w.mode && f.CausedBy == "" {
				list = append(list, fmt.Sprintf("%s has %s, and was found to have %s: %s", p.name, w.mode, f.Mode, f.What))
			}
		}
	}
	return list
}

// ofTwins is what a report says of the twins.
func (w *ward) ofTwins(r *doctor.Report) []string {
	var list []string
	for _, p := range w.twins {
		for _, f := range about(r, p.Process) {
			list = append(list, fmt.Sprintf("%s is healthy, and was found to have %s: %s", p.name, f.Mode, f.What))
		}
	}
	return list
}

// TestLocal causes what can be caused beside other work on this machine.
func TestLocal(t *testing.T) {
	logs := startTimeOuts(t) // they take a minute, which the others use
	t.Run("exhausted pools", exhaustedPools)
	t.Run("blocked loops", blockedLoops)
	t.Run("overflowing queue", overflowingQueue)
	t.Run("boots without end", endlessBoots)
	t.Run("full CPUs", fullCPUs)
	t.Run("time-outs in the log", logs.examine)
}

// exhaustedPools: every pool that can be looked into has all its workers held by
// a backend that does not answer; the backend of its twin does, at 0.8.
func exhaustedPools(t *testing.T) {
	stuck, quick := servertest.NewUpstream(t, time.Hour), servertest.NewUpstream(t, brief)
	w := ward{mode: doctor.WorkerExhaustion}
	for _, k := range servertest.Pools() {
		p, twin := k.Start(t, stuck.URL), k.Start(t, quick.URL)
		w.ill = append(w.ill, patient{k.Name, p})
		w.twins = append(w.twins, patient{k.Name, twin})
		untilEnded(t, p, k.Drive(p, 1, 0))
		if k.Tells {
			// A process may take in all that come at first, whatever it can serve.
			servertest.Eventually(t, "all its workers are held", func() bool {
				servertest.Hold(t, 1, p.URL(""))
				return servertest.BusyInApp(t, p) == int64(k.Workers)
			})
		}
		t.Cleanup(k.Drive(twin, honest, brief))
	}
	w.examine(t)
	w.asOrdinaryUser(t)
}

// untilEnded stops what drives a server that does not answer, by ending it.
func untilEnded(t *testing.T, p *servertest.Process, stop func()) {
	t.Cleanup(func() { servertest.End(p.Cmd); stop() })
}

// Each of these stands still at /block, with a CPU or without, and otherwise
// answers after a while without holding up others.
const (
	nodeLoop = `const stand = %s
require("http").createServer((q, r) => q.url == "/block" ? stand() : setTimeout(() => r.end("ok"), 150)).listen(+process.argv[2], "127.0.0.1")`
	nodeComputes = `() => { for (;;); }`
	nodeWaits    = `() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1e6)`

	asgiLoop = `
import asyncio, time
async def app(scope, receive, send):
    if scope["type"] != "http": return
    if scope["path"] == "/block": time.sleep(1000)
    await asyncio.sleep(0.15)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body"})
`
	geventLoop = `
import ctypes, time
def app(env, start):
    if env["PATH_INFO"] == "/block": ctypes.CDLL(None).sleep(1000) # which nothing patches
    time.sleep(0.15)
    start("200 OK", [("Content-Length", "0")])
    return [b""]
`
)

// blockedLoops: one request stands still on the only loop while others come; the
// twins get the others alone.
func blockedLoops(t *testing.T) {
	node := func(stand string) func() *servertest.Process {
		return func() *servertest.Process { return servertest.Node(t, fmt.Sprintf(nodeLoop, stand)) }
	}
	python := func(app, bin string, args ...string) func() *servertest.Process {
		return func() *servertest.Process {
			port := servertest.FreePort(t)
			at := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
			full := append([]string(nil), args...)
			for i := range full {
				full[i] = strings.ReplaceAll(strings.ReplaceAll(full[i], "ADDRESS", at), "PORT", strconv.Itoa(port))
			}
			return servertest.Launch(t, port, map[string]string{"app.py": app}, nil, bin, append(full, "app:app")...)
		}
	}
	visitors := servertest.Pool{Workers: 4, Request: servertest.Get}
	w := ward{mode: doctor.EventLoopBlocked}
	for name, start := range map[string]func() *servertest.Process{
		"Node.js that computes": node(nodeComputes),
		"Node.js that waits":    node(nodeWaits),
		"uvicorn":               python(asgiLoop, servertest.PythonBin, "-m", "uvicorn", "--port", "PORT"),
		"gunicorn uvicorn":      python(asgiLoop, servertest.GunicornBin, "-t", "300", "-k", "uvicorn.workers.UvicornWorker", "-b", "ADDRESS"),
		"gunicorn gevent":       python(geventLoop, servertest.GunicornBin, "-t", "300", "-k", "gevent", "-b", "ADDRESS"),
	} {
		p, twin := start(), start()
		w.ill = append(w.ill, patient{name, p})
		w.twins = append(w.twins, patient{name, twin})
		servertest.Hold(t, 1, p.URL("block"))
		untilEnded(t, p, visitors.Drive(p, honest, brief))
		t.Cleanup(visitors.Drive(twin, honest, brief))
	}
	w.examine(t)
}

// slowAccept accepts one connection after the other behind a queue of four, and
// keeps each for as long as it is told.
const slowAccept = `
import socket, sys, time
s = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=4)
while True:
    c, _ = s.accept()
    c.settimeout(1)
    try: c.recv(4096)
    except OSError: pass
    time.sleep(float(sys.argv[2]))
    c.close()
`

// overflowingQueue: more clients than a queue of four holds, at a server that
// does not accept; the twin does, and its clients come one at a time.
func overflowingQueue(t *testing.T) {
	start := func(hold string) *servertest.Process {
		port := servertest.FreePort(t)
		return servertest.Launch(t, port, nil, nil, servertest.PythonBin, "-c", slowAccept, strconv.Itoa(port), hold)
	}
	dial := servertest.Pool{Workers: 8, Request: func(p *servertest.Process) error {
		d := net.Dialer{Timeout: time.Second}
		c, err := d.DialContext(context.Background(), "tcp4", p.Address())
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := c.Write([]byte("x")); err != nil {
			return err
		}
		_, err = c.Read(make([]byte, 1)) // until it is closed
		return err
	}}
	p, twin := start("1000"), start("0")
	untilEnded(t, p, dial.Drive(p, 1, 0))
	one := dial
	one.Workers = 1
	t.Cleanup(one.Drive(twin, 0.5, brief))
	w := ward{mode: doctor.AcceptQueueFilled, ill: []patient{{"a queue of four", p}}, twins: []patient{{"a queue of four", twin}}}
	w.examine(t)
}

// endlessBoots: workers take longer to boot than their master waits, and requests
// wait for one; the twin's master waits longer.
func endlessBoots(t *testing.T) {
	start := func(limit string) *servertest.Process {
		port := servertest.FreePort(t)
		p := servertest.Launch(t, port, map[string]string{"app.py": "import time\ntime.sleep(1000)\n"}, nil,
			servertest.GunicornBin, "-w", "2", "-t", limit, "-b", addressAt(port), "app:app")
		untilEnded(t, p, servertest.Keep(2, func() { _ = servertest.Get(p) }))
		return p
	}
	w := ward{mode: doctor.BootTimeoutLoop, window: 12 * time.Second, // three rounds and a half
		ill: []patient{{"a limit of 3 s", start("3")}}, twins: []patient{{"a limit of 1000 s", start("1000")}}}
	w.examine(t)
}
