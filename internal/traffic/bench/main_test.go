package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"brink/internal/clock"
	"brink/internal/traffic"
)

// The test binary runs itself again as the server and as each of the tools, so
// that the kernel accounts for the CPU time of each of them alone. The variable
// holds the role and the address.
const roleVar = "BRINK_BENCH_ROLE"

const (
	roleServer     = "server"
	roleStalling   = "stalling-server"
	roleBrink      = "brink"
	roleVegeta     = "vegeta"
	roleBare       = "bare"
	roleBrinkTen   = "brink-10"
	roleVegetaTen  = "vegeta-10"
	stallPeriod    = 5 * time.Second
	stallLength    = time.Second
	stallDuration  = 15 * time.Second
	stallRate      = 500
	cpuRate        = 2000
	cpuDuration    = 10 * time.Second
	requestTimeout = 10 * time.Second
)

func TestMain(m *testing.M) {
	role, addr, _ := strings.Cut(os.Getenv(roleVar), " ")
	var report any
	switch role {
	case "":
		os.Exit(m.Run())
	case roleServer:
		serve(http.HandlerFunc(answer))
	case roleStalling:
		serve(newStaller(clock.Real))
	case roleBrink:
		report = attackWithBrink(addr, cpuRate, cpuDuration, 0)
	case roleBrinkTen:
		report = attackWithBrink(addr, stallRate, stallDuration, 10)
	case roleBare:
		report = attackBare(addr, cpuRate, cpuDuration)
	case roleVegeta:
		report = attackWithVegeta(addr, cpuRate, cpuDuration)
	case roleVegetaTen:
		report = attackWithVegeta(addr, stallRate, stallDuration, vegeta.Workers(10), vegeta.MaxWorkers(10))
	}
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		panic(err)
	}
}

// result is what a tool's process says about its run.
type result struct {
	Requests int64
	Failed   int64
	P50, P99 time.Duration
	Start    int64 // Unix ns, brink only
	LagP99   time.Duration
	Held     bool
	Reason   string
}

func attackWithBrink(addr string, rate int, d time.Duration, connections int) result {
	spec := traffic.Spec{
		Kind: traffic.KindRate, Rate: float64(rate), Duration: d,
		Path: "/", Timeout: requestTimeout, Reuse: true, Connections: connections,
	}
	var start int64
	s, err := traffic.Run(context.Background(), clock.Real, spec, addr, func(p *traffic.Probe) {
		if p.Seq == 0 {
			start = p.Due
		}
	})
	if err != nil {
		panic(err)
	}
	return result{
		Requests: s.Scheduled, Failed: s.Scheduled - s.Count(traffic.OutcomeOK),
		P50: s.Latency.P50, P99: s.Latency.P99, Start: start,
		LagP99: s.SendLag.P99, Held: s.Held, Reason: s.Reason,
	}
}

func attackWithVegeta(addr string, rate int, d time.Duration, opts ...func(*vegeta.Attacker)) result {
	attacker := vegeta.NewAttacker(append(opts, vegeta.Timeout(requestTimeout))...)
	target := vegeta.NewStaticTargeter(vegeta.Target{Method: "GET", URL: "http://" + addr + "/"})
	var m vegeta.Metrics
	for r := range attacker.Attack(target, vegeta.Rate{Freq: rate, Per: time.Second}, d, "bench") {
		m.Add(r)
	}
	m.Close()
	return result{
		Requests: int64(m.Requests), Failed: int64(m.Requests) - int64(m.StatusCodes["200"]),
		P50: m.Latencies.P50, P99: m.Latencies.P99,
	}
}

func answer(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprint(w, strings.Repeat("x", 200))
}

// serve says its address on standard output and serves until its standard input
// is closed, which also happens when the process that started it dies.
func serve(h http.Handler) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		if s, ok := h.(*staller); ok {
			s.report()
		}
		os.Exit(0)
	}()
	panic(http.Serve(l, h))
}

// child starts this binary in a role.
func child(b *testing.B, role, addr string) *exec.Cmd {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleVar+"="+strings.TrimSpace(role+" "+addr))
	cmd.Stderr = os.Stderr
	return cmd
}

// server starts a server and returns its address and a function that stops it
// and returns what it says at the end.
func server(b *testing.B, role string) (string, func() []byte) {
	b.Helper()
	cmd := child(b, role, "")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	r := bufio.NewReader(out)
	addr, err := r.ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(addr), func() []byte {
		in.Close()
		last, _ := io.ReadAll(r)
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
		return last
	}
}

// attack runs a tool to its end and returns its report and the CPU time that its
// process used.
func attack(b *testing.B, role, addr string) (result, time.Duration) {
	b.Helper()
	cmd := child(b, role, addr)
	out, err := cmd.Output()
	if err != nil {
		b.Fatal(err)
	}
	var r result
	if err := json.Unmarshal(out, &r); err != nil {
		b.Fatalf("%s said %q: %v", role, out, err)
	}
	if r.Failed > 0 {
		b.Fatalf("%s: %d of %d requests failed", role, r.Failed, r.Requests)
	}
	return r, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}
