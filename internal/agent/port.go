package agent

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"brink/internal/kernel"
)

// ports are those that apps were promised. An app listens some time after its
// port was chosen, and another must not be given the same one meanwhile.
type ports struct {
	mu       sync.Mutex
	promised map[netip.AddrPort]bool
}

func newPorts() *ports { return &ports{promised: map[netip.AddrPort]bool{}} }

// claim checks that addr can be listened on, so that an app's own failure to do
// so is not mistaken for another's answer, and returns it with a free port in
// place of port 0. The reason is empty when the port can be had.
func (p *ports) claim(fs *kernel.FS, addr string) (bound netip.AddrPort, reason string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	const tries = 100
	for range tries {
		bound, reason, err = tryPort(fs, addr)
		chosen := !strings.HasSuffix(addr, ":"+strconv.Itoa(int(bound.Port())))
		if err != nil || reason != "" || !chosen || !p.promised[bound] {
			break
		}
	}
	p.promised[bound] = true
	return bound, reason, err
}

// Unavailable says why no app could listen on addr, an IP address and a port, at
// present; it is empty when one could.
func Unavailable(addr string) (reason string, err error) {
	fs, err := kernel.Open("/")
	if err != nil {
		return "", err
	}
	defer fs.Close()
	_, reason, err = tryPort(fs, addr)
	return reason, err
}

// tryPort listens on addr for a moment.
func tryPort(fs *kernel.FS, addr string) (bound netip.AddrPort, reason string, err error) {
	want, err := netip.ParseAddrPort(addr)
	if err != nil {
		return want, "", fmt.Errorf("address %q is not an IP address and a port such as 127.0.0.1:8000", addr)
	}
	// Of both families 0.0.0.0 would be taken for [::], which an app that listens
	// on it does not take.
	network := "tcp"
	if want.Addr().Unmap().Is4() {
		network = "tcp4"
	}
	l, err := net.Listen(network, addr)
	switch {
	case err == nil:
		defer l.Close()
		return l.Addr().(*net.TCPAddr).AddrPort(), "", nil
	case errors.Is(err, unix.EADDRINUSE):
		return want, fmt.Sprintf("port %d is taken%s", want.Port(), takenBy(fs, want)), nil
	case errors.Is(err, unix.EACCES):
		return want, fmt.Sprintf("port %d may not be used by this user", want.Port()), nil
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return want, fmt.Sprintf("address %s is not one of this machine's", want.Addr()), nil
	}
	return want, "", fmt.Errorf("trying port %d: %w", want.Port(), err)
}

func takenBy(fs *kernel.FS, addr netip.AddrPort) string {
	pids := listenerPids(fs, addr)
	if len(pids) == 0 {
		return ""
	}
	return fmt.Sprintf(" by pid %d (%s)", pids[0], name(fs, pids[0]))
}

// listenerPids returns the processes, as far as this user may look, that hold
// the socket which listens on addr; none when they cannot be told.
func listenerPids(fs *kernel.FS, addr netip.AddrPort) []int {
	listeners, err := fs.Listeners(0)
	if err != nil {
		return nil
	}
	inodes := map[string]bool{}
	for _, l := range listeners {
		if covers(l.Local, addr) {
			inodes["socket:["+strconv.FormatUint(l.Inode, 10)+"]"] = true
		}
	}
	if len(inodes) == 0 {
		return nil
	}
	all, err := fs.PIDs()
	if err != nil {
		return nil
	}
	var pids []int
	for _, pid := range all {
		if holdsAny(pid, inodes) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// covers tells whether a socket that listens on local receives what is sent
// to addr. A wildcard IPv6 socket receives IPv4 too.
func covers(local, addr netip.AddrPort) bool {
	if local.Port() != addr.Port() {
		return false
	}
	return local.Addr().Unmap() == addr.Addr().Unmap() || local.Addr().IsUnspecified() || addr.Addr().IsUnspecified()
}

func holdsAny(pid int, links map[string]bool) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	fds, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, fd := range fds {
		if link, err := os.Readlink(dir + "/" + fd.Name()); err == nil && links[link] {
			return true
		}
	}
	return false
}
