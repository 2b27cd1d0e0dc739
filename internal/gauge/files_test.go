package gauge

import (
	"strconv"
	"testing"

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
