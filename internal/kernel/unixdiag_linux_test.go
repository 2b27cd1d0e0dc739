package kernel

import (
	"net"
	"path/filepath"
	"testing"
)

// A listener with a known backlog, of which one connection was accepted and two
// wait (listen(2)).
func TestUnixDiag(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sock")
	l := must[net.Listener](t)(net.Listen("unix", path))
	defer l.Close()
	for range 3 {
		c := must[net.Conn](t)(net.Dial("unix", path))
		defer c.Close()
	}
	c := must[net.Conn](t)(l.Accept())
	defer c.Close()
	u := must[*UnixDiag](t)(DialUnixDiag())
	defer u.Close()
	listening, connected := 0, 0
	if err := u.Listening(func(s *UnixSocket) {
		if string(s.Path) == path {
			listening++
			wantEqual(t, "waiting", s.Queue, 2)
			if !s.Backlog.Known || s.Backlog.Value < 3 {
				t.Errorf("backlog %v", s.Backlog)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := u.Connected(func(s *UnixSocket) {
		if string(s.Path) == path {
			connected++
			if s.Inode == 0 {
				t.Error("a connection without an inode")
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "listening", listening, 1)
	if connected == 0 {
		t.Error("the accepted connection is not told")
	}
}

// FuzzUnixMessages takes any answer of the kernel's. Whatever it is, nothing is
// read beyond it.
func FuzzUnixMessages(f *testing.F) {
	body := make([]byte, unixSocketLen, 64)
	body[unixState] = tcpListen
	body = append(body, 10, 0, unixName, 0, '/', 'a', 'b', 'c', 0, 0, 0, 0)
	body = append(body, 12, 0, unixQueue, 0, 3, 0, 0, 0, 7, 0, 0, 0)
	message := make([]byte, 16, 128)
	native.PutUint32(message, uint32(16+len(body)))
	native.PutUint16(message[4:], 20)
	f.Add(append(message, body...))
	f.Add([]byte{16, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		u := &UnixDiag{}
		_, err := u.messages(b, tcpListen, func(s *UnixSocket) {
			if len(s.Path) == 0 || s.Queue > 0 && !s.Backlog.Known {
				t.Errorf("%q: %d of %v", s.Path, s.Queue, s.Backlog)
			}
		})
		if err != nil && len(b) == 0 {
			t.Error(err)
		}
	})
}
