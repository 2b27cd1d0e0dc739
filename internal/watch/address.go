package watch

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Address is a port, on a certain address or on any.
type Address struct {
	Addr netip.Addr // the zero Addr stands for all
	Port uint16     // from 1
}

// ParseAddress reads :PORT, PORT, ADDRESS:PORT or [ADDRESS]:PORT.
func ParseAddress(text string) (Address, error) {
	if port, ok := parsePort(strings.TrimPrefix(text, ":")); ok {
		return Address{Port: port}, nil
	}
	ap, err := netip.ParseAddrPort(text)
	if err != nil || ap.Port() == 0 {
		return Address{}, fmt.Errorf("%q is not an address: it must be like :8000, 127.0.0.1:8000 or [::1]:8000", text)
	}
	return Address{ap.Addr().Unmap(), ap.Port()}, nil
}

func parsePort(text string) (uint16, bool) {
	port, err := strconv.ParseUint(text, 10, 16)
	return uint16(port), err == nil && port > 0
}

// String is the form that ParseAddress reads.
func (a Address) String() string {
	if !a.Addr.IsValid() {
		return ":" + strconv.Itoa(int(a.Port))
	}
	return netip.AddrPortFrom(a.Addr, a.Port).String()
}

// matches reports whether a socket that listens on local receives what is sent
// to the address.
func (a Address) matches(local netip.AddrPort) bool {
	if a.Port != local.Port() {
		return false
	}
	return !a.Addr.IsValid() || a.Addr == local.Addr() || local.Addr().IsUnspecified()
}

func (w *Watcher) wants(local netip.AddrPort) bool {
	for _, a := range w.cfg.Listen {
		if a.matches(local) {
			return true
		}
	}
	return len(w.cfg.Listen) == 0
}
