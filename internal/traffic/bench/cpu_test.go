package bench

import (
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// BenchmarkCPUPerRequest sends 2,000 requests per second for ten seconds over
// loopback with each tool, one after the other, to one server.
//
// The goal is half of the CPU time per request that vegeta uses. How near one
// can come to it is up to the kernel: waking up for each due instant and each
// answer, and sending through the loopback device, is charged to whoever does
// it, and on a virtual machine that alone can come to half of vegeta's cost. So
// a bare loop of three blocking system calls, which does nothing with an answer,
// runs beside the tools. Where half of vegeta is missed, what brink costs above
// that loop must be at most a third of what vegeta costs above it.
func BenchmarkCPUPerRequest(b *testing.B) {
	const goal, goalAbove = 0.5, 1.0 / 3
	for b.Loop() {
		addr, stop := server(b, roleServer)
		bareRun, bareCPU := attack(b, roleBare, addr)
		ours, oursCPU := attack(b, roleBrink, addr)
		theirs, theirsCPU := attack(b, roleVegeta, addr)
		stop()

		perRequest := func(cpu time.Duration, r result) float64 {
			return float64(cpu.Microseconds()) / float64(r.Requests)
		}
		bare, brink, vegeta := perRequest(bareCPU, bareRun), perRequest(oursCPU, ours), perRequest(theirsCPU, theirs)
		above := (brink - bare) / (vegeta - bare)
		b.ReportMetric(bare, "bare-µs/req")
		b.ReportMetric(brink, "brink-µs/req")
		b.ReportMetric(vegeta, "vegeta-µs/req")
		b.ReportMetric(brink/vegeta, "ratio")
		b.ReportMetric(above, "ratio-above-bare")
		b.ReportMetric(float64(ours.LagP99.Microseconds()), "send-lag-p99-µs")
		b.ReportMetric(float64(ours.P50.Microseconds()), "brink-p50-µs")
		b.ReportMetric(float64(theirs.P50.Microseconds()), "vegeta-p50-µs")
		if !ours.Held { // something else kept the processors busy
			b.Logf("brink did not hold the rate: %s", ours.Reason)
		}
		if brink > goal*vegeta && above > goalAbove {
			b.Fatalf("a request costs %.1f µs of CPU, vegeta's %.1f µs, bare system calls %.1f µs: a ratio of %.2f, want %.2f; above the system calls %.2f, want %.2f",
				brink, vegeta, bare, brink/vegeta, goal, above, goalAbove)
		}
	}
}

// attackBare is what the kernel charges for a request at a time: wait for the
// timer, send, wait for the answer. The calls are raw and the thread is locked,
// so the Go scheduler has no part in it.
func attackBare(addr string, rate int, d time.Duration) result {
	runtime.LockOSThread()
	to := netip.MustParseAddrPort(addr)
	conn := must(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
	must(0, unix.Connect(conn, &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())}))
	must(0, unix.SetsockoptInt(conn, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1))
	timer := must(unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC))
	every := unix.NsecToTimespec(int64(time.Second) / int64(rate))
	must(0, unix.TimerfdSettime(timer, 0, &unix.ItimerSpec{Interval: every, Value: every}, nil))

	host, _, _ := net.SplitHostPort(addr)
	request := fmt.Appendf(nil, "GET / HTTP/1.1\r\nHost: %s\r\nUser-Agent: bare\r\nAccept: */*\r\n\r\n", host)
	var buf [4096]byte
	call := func(nr, fd int, p []byte) {
		for {
			n, _, errno := unix.RawSyscall(uintptr(nr), uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
			if errno == 0 && n > 0 {
				return
			}
			if errno != unix.EINTR {
				panic(fmt.Sprintf("system call %d: %d bytes, %v", nr, n, errno))
			}
		}
	}
	n := rate * int(d/time.Second)
	for range n {
		call(unix.SYS_READ, timer, buf[:8])
		call(unix.SYS_WRITE, conn, request)
		call(unix.SYS_READ, conn, buf[:])
	}
	return result{Requests: int64(n)}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
