package agent

import (
	"net"
	"net/netip"
	"testing"

	"brink/internal/kernel"
)

// An app on 0.0.0.0 does not collide with one that listens on [::] for IPv6
// alone, and one on [::] does with one on 0.0.0.0 (ipv6(7), IPV6_V6ONLY).
func TestAPortIsTriedInItsOwnFamily(t *testing.T) {
	fs, err := kernel.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer fs.Close()
	p := newPorts()
	bound, reason, err := p.claim(fs, "0.0.0.0:0")
	if err != nil || reason != "" || bound.Addr() != netip.IPv4Unspecified() || bound.Port() == 0 {
		t.Fatalf("bound %v, %q, %v, want a port of 0.0.0.0", bound, reason, err)
	}
	six, err := net.Listen("tcp6", "[::]:0")
	if err != nil {
		return // the machine has no IPv6
	}
	defer six.Close()
	port := six.Addr().(*net.TCPAddr).AddrPort().Port()
	want := netip.AddrPortFrom(netip.IPv4Unspecified(), port)
	if bound, reason, err := p.claim(fs, want.String()); err != nil || reason != "" || bound != want {
		t.Errorf("bound %v, %q, %v, want %v", bound, reason, err, want)
	}
	four, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer four.Close()
	port = four.Addr().(*net.TCPAddr).AddrPort().Port()
	if _, reason, err := p.claim(fs, netip.AddrPortFrom(netip.IPv6Unspecified(), port).String()); err != nil || reason == "" {
		t.Errorf("reason %q, %v, want that the port is taken", reason, err)
	}
}
