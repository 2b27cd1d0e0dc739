//go:build linux

package evidence

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brink/internal/kernel"
)

// childReport is what a child process that looked at the machine found out
// about itself.
type childReport struct {
	CPU      time.Duration // beside what starting up cost
	Resident uint64        // the most it had, bytes
	Case     *Case
}

// TestMain makes the test binary a child that looks at the machine, when it is
// asked to.
func TestMain(m *testing.M) {
	if length := os.Getenv("BRINK_TEST_LIVE"); length != "" {
		if err := lookAsChild(length); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func lookAsChild(length string) error {
	d, err := time.ParseDuration(length)
	if err != nil {
		return err
	}
	before := cpuTime(unix.RUSAGE_SELF)
	c, err := Live(context.Background(), Options{For: d})
	if err != nil {
		return err
	}
	r := childReport{CPU: cpuTime(unix.RUSAGE_SELF) - before, Case: c}
	fs, err := kernel.Open("/")
	if err != nil {
		return err
	}
	p, err := fs.OpenProcess(os.Getpid())
	if err != nil {
		return err
	}
	var s kernel.PIDStatus
	if err := p.Status(&s); err != nil {
		return err
	}
	r.Resident = s.VmHWM.Value
	return json.NewEncoder(os.Stdout).Encode(r)
}

func cpuTime(who int) time.Duration {
	var ru unix.Rusage
	_ = unix.Getrusage(who, &ru) // it cannot fail for these
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// lookFrom runs a child; attr says as whom.
func lookFrom(t testing.TB, binary, length string, attr *syscall.SysProcAttr) childReport {
	t.Helper()
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), "BRINK_TEST_LIVE="+length)
	cmd.SysProcAttr = attr
	var out, fault bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &fault
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, fault.String())
	}
	var r childReport
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// waiting opens a listener with connections that nobody accepts.
func waiting(t *testing.T, n int) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	for range n {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
	}
	return l.Addr().String()
}

func TestLiveSeesThisMachine(t *testing.T) {
	address := waiting(t, 3)
	c, err := Live(t.Context(), Options{For: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	wantWhole(t, c)
	if len(c.Readings) != 2 {
		t.Fatalf("%d readings", len(c.Readings))
	}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		t.Fatal(err)
	}
	if got, want := c.Last().Meminfo.MemTotal.Number, float64(info.Totalram)*float64(info.Unit); got != want {
		t.Errorf("MemTotal = %v, sysinfo(2) says %v", got, want)
	}
	l := c.Last().Listener(address)
	if l == nil {
		t.Fatalf("%s is not among %+v", address, c.Last().Listeners)
	}
	wantValue(t, "queue", l.Queue, 3, Events, "")
	if s, ok := c.Span(); !ok || s.Seconds.Number < 0.25 {
		t.Errorf("span: %+v", s)
	}
	for _, s := range []Signal{HasMeminfo, HasVmstat, HasReclaimRate, HasCPURate, HasListeners} {
		if !c.Has(s) {
			t.Errorf("%s is not seen", s)
		}
	}
	if c.First().Frozen {
		t.Error("this machine is not frozen")
	}
}

func TestLiveEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Live(ctx, Options{For: time.Hour}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestLiveOfACapturedTree(t *testing.T) {
	c, err := Live(t.Context(), Options{Root: "../kernel/testdata/linux-5.10"})
	if err != nil || len(c.Readings) != 1 {
		t.Errorf("%v, %v", c, err)
	}
}

// TestLiveAsAnOrdinaryUser runs as nobody (65534), or as whoever runs the test.
func TestLiveAsAnOrdinaryUser(t *testing.T) {
	address := waiting(t, 2)
	dir := t.TempDir()
	for up := dir; up != "/" && up != os.TempDir(); up = filepath.Dir(up) {
		if err := os.Chmod(up, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(dir, "look")
	copyFile(t, os.Args[0], binary)
	var attr *syscall.SysProcAttr
	if os.Geteuid() == 0 {
		attr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	c := lookFrom(t, binary, "300ms", attr).Case
	l := c.Last().Listener(address)
	if l == nil {
		t.Fatalf("%s is not among %+v", address, c.Last().Listeners)
	}
	wantValue(t, "queue", l.Queue, 2, Events, "")
	if c.Last().Machine.Root != No || !c.Has(HasReclaimRate) {
		t.Errorf("machine: %+v", c.Last().Machine)
	}
	if text, err := os.ReadFile("/proc/sys/kernel/dmesg_restrict"); err == nil && strings.TrimSpace(string(text)) == "1" {
		for _, g := range c.Unseen() {
			if g.What == HasKernelLog && g.Why != Denied {
				t.Errorf("the kernel's log: %+v", g)
			}
		}
	}
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLiveStaysSmall holds it to 30 MB of resident memory.
func TestLiveStaysSmall(t *testing.T) {
	const most = memoryFactor * 30 << 20
	if r := lookFrom(t, os.Args[0], "300ms", nil); r.Resident == 0 || r.Resident > most {
		t.Errorf("it had %d KiB resident, want at most %d", r.Resident>>10, most>>10)
	}
}

// BenchmarkLive tells the CPU time of a look beside that of "ps aux" on the
// same machine, whose double it may cost.
func BenchmarkLive(b *testing.B) {
	var live, ps time.Duration
	n := 0
	for b.Loop() {
		n++
		live += lookFrom(b, os.Args[0], "2s", nil).CPU
		before := cpuTime(unix.RUSAGE_CHILDREN)
		if err := exec.Command("ps", "aux").Run(); err != nil {
			b.Fatal(err)
		}
		ps += cpuTime(unix.RUSAGE_CHILDREN) - before
	}
	b.ReportMetric(float64(live.Microseconds())/1000/float64(n), "cpu-ms/look")
	b.ReportMetric(float64(live)/float64(ps), "×ps-aux")
}

func TestKmsgRecords(t *testing.T) {
	// https://www.kernel.org/doc/html/latest/admin-guide/abi-testing.html: 6 is the
	// facility kernel at level info, 30 a daemon's.
	for record, want := range map[string]string{
		"6,1234,8123456789,-;Out of memory: Killed process 7 (a) x\n SUBSYSTEM=y\n": "8123456789 Out of memory: Killed process 7 (a) x",
		"30,1,2,-;systemd[1]: hello\n":                                              "",
		"x,1,2,-;text":                                                              "",
		"6,1":                                                                       "",
	} {
		got := ""
		if micros, text, ok := kmsgRecord([]byte(record)); ok {
			got = fmt.Sprintf("%d %s", micros, text)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", record, got, want)
		}
	}
}
