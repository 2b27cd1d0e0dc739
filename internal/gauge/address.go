package gauge

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Address is a port, on a certain address or on any, or a Unix socket.
type Address struct {
	Addr netip.Addr // the zero Addr stands for all
	Port uint16     // from 1
	Path string     // of a Unix socket; the others are zero then
}

const unixPrefix = "unix:"

// ParseAddress reads :PORT, PORT, ADDRESS:PORT, [ADDRESS]:PORT or unix:PATH.
func ParseAddress(text string) (Address, error) {
	if path, ok := strings.CutPrefix(text, unixPrefix); ok {
		if !strings.HasPrefix(path, "/") {
			return Address{}, fmt.Errorf("%q is not an address: the path of a Unix socket begins with /", text)
		}
		return Address{Path: path}, nil
	}
	if port, ok := parsePort(strings.TrimPrefix(text, ":")); ok {
		return Address{Port: port}, nil
	}
	ap, err := netip.ParseAddrPort(text)
	if err != nil || ap.Port() == 0 {
		return Address{}, fmt.Errorf("%q is not an address: it must be like :8000, 127.0.0.1:8000, [::1]:8000 or unix:/run/app.sock", text)
	}
	return Address{Addr: ap.Addr().Unmap(), Port: ap.Port()}, nil
}

func parsePort(text string) (uint16, bool) {
	port, err := strconv.ParseUint(text, 10, 16)
	return uint16(port), err == nil && port > 0
}

// String is the form that ParseAddress reads.
func (a Address) String() string {
	if a.Path != "" {
		return unixPrefix + a.Path
	}
	if !a.Addr.IsValid() {
		return ":" + strconv.Itoa(int(a.Port))
	}
	return netip.AddrPortFrom(a.Addr, a.Port).String()
}

// matches reports whether a socket that listens on local receives what is sent
// to the address.
func (a Address) matches(local netip.AddrPort) bool {
	if a.Path != "" || a.Port != local.Port() {
		return false
	}
	return !a.Addr.IsValid() || a.Addr == local.Addr() || local.Addr().IsUnspecified()
}

// wants reports whether a socket is one of those that are watched.
func (g *Gauge) wants(l *listener) bool {
	if g.apps != nil {
		return g.cfg.Unowned && g.unowned[l.Inode] || slices.ContainsFunc(g.apps, func(f *followed) bool { return f.wants(l) })
	}
	if l.path != "" && len(g.cfg.Listen) > 0 {
		return g.asksFor(l.path)
	}
	return len(g.cfg.Listen) == 0 || slices.ContainsFunc(g.cfg.Listen, func(a Address) bool { return a.matches(l.Local) })
}

// wantsUnix reports whether Unix sockets may be among them. Apps that are
// followed serve TCP, unless they were found at a Unix socket before.
func (g *Gauge) wantsUnix() bool {
	if g.apps != nil {
		return slices.ContainsFunc(g.servers, (*server).onUnix)
	}
	return len(g.cfg.Listen) == 0 || slices.ContainsFunc(g.cfg.Listen, func(a Address) bool { return a.Path != "" })
}

func (s *server) onUnix() bool {
	return slices.ContainsFunc(s.Sockets, func(k Socket) bool { return k.Path != "" })
}

// asksFor reports whether a Unix socket is one of those that were named.
func (g *Gauge) asksFor(path string) bool {
	return slices.ContainsFunc(g.cfg.Listen, func(a Address) bool { return a.Path == path })
}
