package traffic_test

import (
	"context"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"brink/internal/clock"
	"brink/internal/traffic"
)

// echo is a connection to a server in memory that answers each request the
// moment it is written.
type echo struct {
	net.Conn // never used: only reading, writing and closing are
	answers  chan struct{}
	closed   chan struct{}
	once     sync.Once
}

const echoed = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

func dialEcho(context.Context, string) (net.Conn, error) {
	return &echo{answers: make(chan struct{}, 1), closed: make(chan struct{})}, nil
}

func (e *echo) Read(p []byte) (int, error) {
	select {
	case <-e.answers:
		return copy(p, echoed), nil
	case <-e.closed:
		return 0, io.EOF
	}
}

func (e *echo) Write(p []byte) (int, error) {
	e.answers <- struct{}{}
	return len(p), nil
}

func (e *echo) Close() error {
	e.once.Do(func() { close(e.closed) })
	return nil
}

// footprint is what the live heap and the process take, in bytes.
func footprint(t *testing.T) (heap, resident int64) {
	t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(statm))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return int64(m.HeapAlloc), pages * int64(os.Getpagesize())
}

// Between the 200,000th and the 2,000,000th request one more byte kept for each
// would be 1.8 MB of live heap, and a probe kept for each 200 MB.
func TestMemoryDoesNotGrowWithTheNumberOfRequests(t *testing.T) {
	const early, all = 200_000, 2_000_000
	var n, earlyHeap, earlyResident int64
	s, err := traffic.Run(t.Context(), clock.Real, traffic.Spec{
		Kind: traffic.KindRate, Rate: 1e6, Count: all, Connections: 8, Path: "/", Timeout: time.Hour, Reuse: true,
	}, "app:80", func(*traffic.Probe) {
		if n++; n == early {
			earlyHeap, earlyResident = footprint(t)
		}
	}, traffic.WithDial(dialEcho))
	if err != nil || n != all || s.Count(traffic.OutcomeOK) != all {
		t.Fatalf("error %v, %d probes, %d ok; want %d", err, n, s.Count(traffic.OutcomeOK), all)
	}
	heap, resident := footprint(t)
	t.Logf("heap %d KiB then %d KiB, resident %d KiB then %d KiB", earlyHeap>>10, heap>>10, earlyResident>>10, resident>>10)
	if grown := heap - earlyHeap; grown > 1<<20 {
		t.Errorf("the live heap grew by %d bytes over %d requests", grown, all-early)
	}
	// Leaves room for what the runtime's own arenas do meanwhile.
	if grown := resident - earlyResident; grown > 32<<20 && !raceDetector {
		t.Errorf("resident memory grew by %d bytes over %d requests", grown, all-early)
	}
}

func TestSlowSinkLosesNothing(t *testing.T) {
	const all = 20_000
	seen := make([]bool, all)
	_, err := traffic.Run(t.Context(), clock.Real, traffic.Spec{
		Kind: traffic.KindRate, Rate: 1e6, Count: all, Connections: 8, Path: "/", Timeout: time.Hour, Reuse: true,
	}, "app:80", func(p *traffic.Probe) {
		if seen[p.Seq] {
			t.Errorf("request %d was delivered twice", p.Seq)
		}
		seen[p.Seq] = true
		if p.Seq%1000 == 0 {
			time.Sleep(5 * time.Millisecond)
		}
	}, traffic.WithDial(dialEcho))
	if err != nil {
		t.Fatal(err)
	}
	for seq, ok := range seen {
		if !ok {
			t.Fatalf("request %d was lost", seq)
		}
	}
}
