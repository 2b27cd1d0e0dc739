package gauge

import "golang.org/x/sys/unix"

var pollCalls = map[int]waitCall{
	unix.SYS_POLL: {"poll", -1}, unix.SYS_SELECT: {"select", -1}, unix.SYS_EPOLL_WAIT: {"epoll_wait", -1},
	unix.SYS_PAUSE: {"pause", -1},
}
