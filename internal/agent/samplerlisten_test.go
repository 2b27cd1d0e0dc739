package agent

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brink/internal/clock"
	"brink/internal/kernel"
)

// The kernel's counts are read anew when a listener tells that it has turned
// somebody away, and then agree with /proc/net/netstat.
func TestWhatIsTurnedAwayIsInTheNextSample(t *testing.T) {
	a := inProcess(t)
	s, err := newSampler(a)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	address := fullListener(t)
	s.take(clock.Real.Now())
	before := s.samples[0]
	for range 3 {
		dialInVain(t, address)
	}
	was := turnedAway(t, a.fs)
	s.take(clock.Real.Now())
	is := turnedAway(t, a.fs)
	x := s.samples[0]
	if x.Overflows < before.Overflows+3 || x.ListenDrops < before.ListenDrops+3 {
		t.Errorf("overflows from %d to %d, drops from %d to %d: want 3 more at least", before.Overflows, x.Overflows, before.ListenDrops, x.ListenDrops)
	}
	if d := uint64(x.ListenDrops); d < was.ListenDrops.Value || d > is.ListenDrops.Value {
		t.Errorf("%d drops, /proc/net/netstat had %v before and %v after", d, was.ListenDrops, is.ListenDrops)
	}
}

// Where no listener tells of anything, the counts stand, and are read at times
// all the same.
func TestTheCountsOfWhatIsTurnedAwayAreReadAtTimes(t *testing.T) {
	a := inProcess(t)
	s, err := newSampler(a)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	now := clock.Real.Now()
	s.take(now)
	x, m := s.samples[0], &s.machine
	quiet := s.drops(true)
	if !quiet.Known {
		t.Fatal("the listeners cannot be asked")
	}
	m.drops, m.netAt = quiet, now
	m.net.ListenDrops.Value += 1000 // as if it had been read so
	m.listening(&x, quiet, now.Add(netstatEvery-time.Millisecond))
	if x.ListenDrops != int64(m.net.ListenDrops.Value) || m.netAt != now {
		t.Errorf("%d drops, want what was read before", x.ListenDrops)
	}
	later := now.Add(netstatEvery)
	m.listening(&x, quiet, later)
	if read := turnedAway(t, a.fs); m.netAt != later || x.ListenDrops > int64(read.ListenDrops.Value) {
		t.Errorf("%d drops after %s, /proc/net/netstat has %v", x.ListenDrops, netstatEvery, read.ListenDrops)
	}
	quiet.Known = false
	later = later.Add(time.Millisecond)
	if m.listening(&x, quiet, later); m.netAt != later {
		t.Error("the counts were not read although nothing is known of the listeners")
	}
}

func turnedAway(t *testing.T, fs *kernel.FS) kernel.Netstat {
	t.Helper()
	n, err := fs.Netstat()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// fullListener listens with the shortest queue, which is full.
func fullListener(t *testing.T) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: name.(*unix.SockaddrInet4).Port}).String()
	c, err := net.Dial("tcp4", address) // the queue holds one above its limit of 0
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return address
}

func dialInVain(t *testing.T, address string) {
	t.Helper()
	if c, err := net.DialTimeout("tcp4", address, 50*time.Millisecond); err == nil {
		c.Close()
		t.Fatal("a full queue took another connection")
	}
}
