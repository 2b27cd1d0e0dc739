package gauge

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"time"

	"brink/internal/kernel"
	"brink/internal/servertest"
)

// A process may open many files before it listens, and between its sockets: all
// of them are found, however few of its files are looked at first.
func TestListenersBehindManyFilesAreFound(t *testing.T) {
	t.Parallel()
	const script = `
import socket, sys
def listen(port):
    s = socket.socket()
    s.bind(("127.0.0.1", port))
    s.listen()
    return s
early = listen(int(sys.argv[1]))
files = [open("/dev/null") for _ in range(300)]
late = listen(int(sys.argv[2]))
while True:
    late.accept()
`
	early, late := servertest.FreePort(t), servertest.FreePort(t)
	p := servertest.Launch(t, late, map[string]string{"listen.py": script}, nil, servertest.PythonBin, "listen.py", strconv.Itoa(early), strconv.Itoa(late))
	g := watching(t, Config{Listen: []Address{{Port: uint16(early)}, {Port: uint16(late)}}})
	found := map[uint16]int{}
	for _, s := range sample(t, g).Servers {
		for i := range s.Sockets {
			found[s.Sockets[i].Local.Port()] = s.PID
		}
	}
	if len(found) != 2 || found[uint16(early)] != p.Process.Pid || found[uint16(late)] != p.Process.Pid {
		t.Errorf("the sockets of %d are taken for %v", p.Process.Pid, found)
	}
}

// A process that has its only socket behind many files is found as well.
func TestAListenerBehindManyFilesIsFound(t *testing.T) {
	t.Parallel()
	const script = `
import socket, sys
files = [open("/dev/null") for _ in range(300)]
s = socket.socket()
s.bind(("127.0.0.1", int(sys.argv[1])))
s.listen()
while True:
    s.accept()
`
	port := servertest.FreePort(t)
	p := servertest.Launch(t, port, map[string]string{"listen.py": script}, nil, servertest.PythonBin, "listen.py", strconv.Itoa(port))
	g := watching(t, onPort(port))
	if s := only(t, g); s.PID != p.Process.Pid {
		t.Errorf("the socket of %d is taken for that of %d", p.Process.Pid, s.PID)
	}
	sockets, ok := g.Listening()
	at := slices.IndexFunc(sockets, func(l kernel.ListenSocket) bool {
		return l.Local == netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(port))
	})
	if !ok || at < 0 {
		t.Fatalf("the socket is not among the %d that listen (known: %v)", len(sockets), ok)
	}
	const backlog = 128 // of Python's listen() without one
	wantNum(t, "limit", sockets[at].Backlog, backlog)
}

// What the workers of a pool wait on cannot be told where the pool is inside a
// process, so that asking does not make the kernel walk its table of connections.
func TestWaitsOfPoolsInsideAreNotLookedFor(t *testing.T) {
	t.Parallel()
	const script = `
import socket, sys
s = socket.socket()
s.bind(("127.0.0.1", int(sys.argv[1])))
s.listen()
kept = []
while True:
    kept.append(s.accept())
`
	port := servertest.FreePort(t)
	servertest.Launch(t, port, map[string]string{"keep.py": script}, nil, servertest.PythonBin, "keep.py", strconv.Itoa(port))
	conn, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cfg := onPort(port)
	cfg.Brief = true
	g := watching(t, cfg)
	for deadline := time.Now().Add(10 * time.Second); only(t, g).Sockets[0].Queue > 0; {
		if time.Now().After(deadline) {
			t.Fatal("the connection is not accepted")
		}
		time.Sleep(10 * time.Millisecond)
	}
	g.AskWaits()
	if s := only(t, g); s.Kind != UnknownKind || s.Busy.Known || g.servers[0].looked {
		t.Errorf("%s, busy %+v, its connections were looked at: %v", s.Kind, s.Busy, g.servers[0].looked)
	}
}
