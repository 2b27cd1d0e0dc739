package kernel

import (
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/prometheus/procfs"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestNetstatFields(t *testing.T) {
	s := must[Netstat](t)(open(t, "testdata/linux-3.10").Netstat())
	wantEqual(t, "3.10", s, Netstat{
		ListenOverflows: num(51), ListenDrops: num(60),
		SyncookiesSent: num(3), SyncookiesRecv: num(2), SyncookiesFailed: num(1),
		TCPReqQFullDoCookies: num(16), TCPReqQFullDrop: num(17), TCPBacklogDrop: num(4),
		TCPAbortOnData: num(10), TCPAbortOnClose: num(11), TCPAbortOnMemory: num(12),
		TCPAbortOnTimeout: num(13), TCPAbortOnLinger: num(14), TCPAbortFailed: num(15),
		TCPTimeouts: num(77),
		ActiveOpens: num(100), PassiveOpens: num(200), AttemptFails: num(3), EstabResets: num(4),
		CurrEstab: num(5), InSegs: num(6000), OutSegs: num(7000), RetransSegs: num(80), OutRsts: num(9),
	})
}

func TestNetstatPairsThatDoNotMatch(t *testing.T) {
	for _, c := range []struct {
		name, text, field string
	}{
		{"values cut off", "TcpExt: ListenOverflows ListenDrops\nTcpExt: 5\n", "ListenDrops"},
		{"too many values", "TcpExt: ListenOverflows\nTcpExt: 5 6\n", "values"},
		{"another group", "TcpExt: ListenDrops\nIpExt: 5\n", "TcpExt:"},
		{"no values", "TcpExt: ListenDrops", "TcpExt:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, _ := tree(t, map[string]string{"proc/net/netstat": c.text})
			s, err := f.Netstat()
			wantFieldError(t, err, "proc/net/netstat", 2, c.field)
			wantEqual(t, "ListenDrops", s.ListenDrops, Num{})
		})
	}
}

// A full accept queue counts overflows, and prometheus/procfs sees the same.
func TestNetstatLive(t *testing.T) {
	f := live(t)
	before := must[Netstat](t)(f.Netstat())
	_, port := listener(t, unix.AF_INET, 1)
	connect(t, port, "")
	connect(t, port, "")
	overflow(t, port)
	var after Netstat
	eventually(t, "an overflow is counted", func() bool {
		after = must[Netstat](t)(f.Netstat())
		return after.ListenOverflows.Value > before.ListenOverflows.Value
	})
	if after.ListenDrops.Value <= before.ListenDrops.Value {
		t.Errorf("ListenDrops went from %v to %v", before.ListenDrops, after.ListenDrops)
	}
	other := must[procfs.ProcNetstat](t)(must[procfs.Proc](t)(procfs.Self()).Netstat())
	last := must[Netstat](t)(f.Netstat())
	seen := uint64(*other.TcpExt.ListenOverflows)
	if seen < after.ListenOverflows.Value || seen > last.ListenOverflows.Value {
		t.Errorf("procfs has %d overflows, we have %v and then %v", seen, after.ListenOverflows, last.ListenOverflows)
	}
}

// overflow sends a SYN to a listener whose queue is full, without waiting for
// the answer that does not come.
func overflow(t *testing.T, port uint16) {
	t.Helper()
	fd := must[int](t)(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0))
	t.Cleanup(func() { unix.Close(fd) })
	err := unix.Connect(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: int(port)})
	if err != unix.EINPROGRESS {
		t.Fatalf("connect: %v, want EINPROGRESS", err)
	}
}

// The short reading says what the whole one says, wherever the names stand.
func TestListenEventsAgreeWithNetstat(t *testing.T) {
	for _, text := range []string{
		string(must[[]byte](t)(os.ReadFile("testdata/linux-3.10/proc/net/netstat"))),
		"TcpExt: ListenDrops A ListenOverflows B\nTcpExt: 35 1 34 2\nIpExt: X\nIpExt: 1\n",
		"IpExt: X\nIpExt: 1\nTcpExt: A ListenOverflows ListenDrops\nTcpExt: 9 3 4\n",
		"TcpExt: A B\nTcpExt: 1 2\n",
	} {
		f, _ := tree(t, map[string]string{"proc/net/netstat": text})
		whole, short := must[Netstat](t)(f.Netstat()), must[Netstat](t)(once(f.ListenEventsReader()))
		wantEqual(t, "overflows", short.ListenOverflows, whole.ListenOverflows)
		wantEqual(t, "drops", short.ListenDrops, whole.ListenDrops)
	}
	f, _ := tree(t, map[string]string{"proc/net/netstat": "TcpExt: ListenOverflows ListenDrops\nTcpExt: 3 x\n"})
	s, err := once(f.ListenEventsReader())
	wantFieldError(t, err, "proc/net/netstat", 2, "ListenDrops")
	wantEqual(t, "overflows", s.ListenOverflows, num(3))
	wantEqual(t, "drops", s.ListenDrops, Num{})
}
