package exporter

import (
	"net"
	"net/netip"
	"strconv"
	"testing"
)

// Only an address that was written out is served at, everything short is on
// the loopback address.
func TestParseAddress(t *testing.T) {
	for text, want := range map[string]string{
		"9464": "127.0.0.1:9464", ":9464": "127.0.0.1:9464", "localhost:9464": "127.0.0.1:9464",
		"0.0.0.0:9464": "0.0.0.0:9464", "[::]:9464": "[::]:9464", "192.0.2.1:1": "192.0.2.1:1", "[::ffff:192.0.2.1]:1": "192.0.2.1:1",
	} {
		if a, err := parseAddress(text); err != nil || a.String() != want {
			t.Errorf("%q: %v, %v, want %s", text, a, err, want)
		}
	}
	for _, text := range []string{"", ":", "0", ":0", "*:9464", "example.org:9464", "0.0.0.0", "0.0.0.0:0", "70000", "localhost", "localhost:0", "-1"} {
		if a, err := parseAddress(text); err == nil {
			t.Errorf("%q was read as %v", text, a)
		}
	}
}

// All IPv4 addresses are no IPv6 address, and the other way round: a socket of
// the other kind can have the same port, which one for both would refuse.
func TestListensAtNothingElse(t *testing.T) {
	for _, c := range []struct{ address, network, other string }{
		{"0.0.0.0", "tcp6", "[::]"}, {"[::]", "tcp4", "0.0.0.0"}, {"127.0.0.1", "tcp6", "[::]"}, {"[::1]", "tcp4", "0.0.0.0"},
	} {
		other, err := net.Listen(c.network, c.other+":0")
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		port := other.Addr().(*net.TCPAddr).Port
		o := options{address: netip.MustParseAddrPort(c.address + ":" + strconv.Itoa(port))}
		if err := o.listen(); err != nil {
			t.Errorf("%s beside %s: %v", c.address, c.other, err)
			continue
		}
		defer o.listener.Close()
		other.Close()
		if conn, err := net.Dial(c.network, net.JoinHostPort(map[string]string{"tcp4": "127.0.0.1", "tcp6": "::1"}[c.network], strconv.Itoa(port))); err == nil {
			conn.Close()
			t.Errorf("%s is served at %s too", c.address, conn.LocalAddr())
		}
	}
}

// Whatever is written, an address for all is served at only if it says so.
func FuzzParseAddress(f *testing.F) {
	for _, text := range []string{"9464", ":9464", "localhost:1", "0.0.0.0:1", "[::]:1", "::1", "[fe80::1%eth0]:80"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseAddress(text)
		if err != nil {
			return
		}
		if again, err := parseAddress(a.String()); a.Port() == 0 || err != nil || again != a {
			t.Errorf("%q was read as %v, and that as %v, %v", text, a, again, err)
		}
	})
}
