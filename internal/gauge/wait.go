package gauge

import (
	"brink/internal/kernel"

	"golang.org/x/sys/unix"
)

// waitCall is a system call in which workers are met, and which argument is the
// descriptor; -1 where none is.
type waitCall struct {
	name string
	fd   int
}

// waitCalls are those that exist on all architectures that Go knows; pollCalls
// adds those of this one.
var waitCalls = map[int]waitCall{
	unix.SYS_READ: {"read", 0}, unix.SYS_WRITE: {"write", 0},
	unix.SYS_RECVFROM: {"recvfrom", 0}, unix.SYS_RECVMSG: {"recvmsg", 0},
	unix.SYS_SENDTO: {"sendto", 0}, unix.SYS_SENDMSG: {"sendmsg", 0},
	unix.SYS_CONNECT: {"connect", 0},
	unix.SYS_ACCEPT:  {"accept", 0}, unix.SYS_ACCEPT4: {"accept4", 0},
	unix.SYS_PPOLL: {"poll", -1}, unix.SYS_PSELECT6: {"select", -1}, unix.SYS_EPOLL_PWAIT: {"epoll_wait", -1},
	unix.SYS_NANOSLEEP: {"sleep", -1}, unix.SYS_CLOCK_NANOSLEEP: {"sleep", -1},
	unix.SYS_FUTEX: {"futex", -1}, unix.SYS_WAIT4: {"wait", -1}, unix.SYS_WAITID: {"wait", -1},
	unix.SYS_FLOCK: {"flock", -1}, unix.SYS_FCNTL: {"fcntl", -1}, unix.SYS_FSYNC: {"fsync", -1},
}

// waitsOn tells what the main thread waits on, as far as rights allow.
func (q *proc) waitsOn(s *server) Wait {
	if q.p.Syscall(&q.wait) != nil || q.wait.Running {
		return Wait{}
	}
	call, ok := waitCalls[q.wait.Number]
	if !ok {
		call, ok = pollCalls[q.wait.Number]
	}
	if !ok {
		return Wait{}
	}
	w := Wait{Call: call.name}
	if !s.looked {
		return w
	}
	if call.fd >= 0 {
		for i := range q.socks {
			if k := &q.socks[i]; uint64(k.fd) == q.wait.Args[call.fd] {
				if c := s.space.connection(k.inode); c != nil {
					w.Peer, w.Sure = c.Remote, true
				}
			}
		}
		return w
	}
	if call.name == "poll" || call.name == "select" {
		if c := q.onlyPeer(s); c != nil {
			w.Peer = c.Remote
		}
	}
	return w
}

// onlyPeer is the one connection that a busy process has besides the accepted
// one; nil if there are none or several.
func (q *proc) onlyPeer(s *server) *kernel.Connection {
	var only *kernel.Connection
	serving := false
	for i := range q.socks {
		k := &q.socks[i]
		serving = serving || k.is == accepted
		c := s.space.connection(k.inode)
		if k.is == accepted || c == nil {
			continue
		}
		if only != nil {
			return nil
		}
		only = c
	}
	if !serving {
		return nil
	}
	return only
}
