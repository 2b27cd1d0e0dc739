package cli

import (
	"bufio"
	"encoding/csv"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"brink/internal/probe"
)

// TestProbeScript runs the scripts of testdata/probe, each against a built-in
// workload of its own at $APP, and a server that speaks TLS at $TLS.
func TestProbeScript(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "probe"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", os.Getenv("GORACE"))
			url, stop, err := startWorkload()
			if err != nil {
				return err
			}
			env.Defer(stop)
			env.Setenv("APP", url)
			env.Setenv("TLS", secure.URL)
			return os.WriteFile(filepath.Join(env.WorkDir, "authority.pem"), authority, 0o644)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     exits,
			"probe":     sends,
			"lines":     lineCount,
			"traffic":   trafficFile,
			"interrupt": interrupt,
			"kept":      kept,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// startWorkload starts brink app with two workers and returns its URL.
func startWorkload() (url string, stop func(), err error) {
	cmd := exec.Command("brink", "app", "--bind", "127.0.0.1:0", "--workers", "2")
	out, err := cmd.StderrPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	lines := bufio.NewScanner(out)
	for url == "" && lines.Scan() {
		if _, at, ok := strings.Cut(lines.Text(), "Listening at: "); ok {
			url, _, _ = strings.Cut(at, " ")
		}
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, out)
	}()
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-drained
		_ = cmd.Wait()
	}
	if url == "" {
		stop()
		return "", nil, errors.New("brink app says no address")
	}
	return url, stop, nil
}

// sends ARG... is exits 0 brink probe ARG..., or exits 1 where a busy machine kept
// the traffic from being what was asked for.
func sends(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: probe ARG...")
	}
	err := ts.Exec("brink", append([]string{"probe"}, args...)...)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 && strings.Contains(ts.ReadFile("stderr"), "the traffic was not what was asked for") {
		return
	}
	ts.Check(err)
}

// trafficFile N STATUS OUTCOME LEAST FILE checks the requests of a traffic.csv:
// N or, with a +, at least N of them before those that an end cut short, all
// with this status and outcome, none faster than LEAST milliseconds, none sent
// before it was due.
func trafficFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 5 {
		ts.Fatalf("usage: traffic N[+] STATUS OUTCOME LEAST FILE")
	}
	rows, err := csv.NewReader(strings.NewReader(ts.ReadFile(args[4]))).ReadAll()
	ts.Check(err)
	header := []string{"timestamp", "url", "status", "elapsed_ms", "due", "sent", "outcome", "pid", "answered_by", "err"}
	if !slices.Equal(rows[0], header) {
		ts.Fatalf("the header is %v", rows[0])
	}
	text, more := strings.CutSuffix(args[0], "+")
	n, err := strconv.Atoi(text)
	ts.Check(err)
	for more && slices.Contains([]string{"unsent", "canceled"}, rows[len(rows)-1][6]) {
		rows = rows[:len(rows)-1]
	}
	if got := len(rows) - 1; got < n || got > n && !more {
		ts.Fatalf("%d requests, want %s", got, args[0])
	}
	least, err := strconv.ParseFloat(args[3], 64)
	ts.Check(err)
	status := strings.TrimSuffix(args[1], "-") // - for none
	for _, r := range rows[1:] {
		elapsed, err := strconv.ParseFloat(r[3], 64)
		ts.Check(err)
		if r[2] != status || r[6] != args[2] || elapsed < least || r[5] < r[4] || r[0] != r[4] {
			ts.Fatalf("%v: want status %s, %s, at least %v ms, sent not before due", r, status, args[2], least)
		}
		_, err = time.Parse(time.RFC3339Nano, r[0])
		ts.Check(err)
	}
}

// kept FILE checks that the file has whole rows only, and as many as the command
// before said.
func kept(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: kept FILE")
	}
	text := ts.ReadFile(args[0])
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	ts.Check(err)
	said := fmt.Sprintf("%s holds %d of ", args[0], len(rows)-1)
	if !strings.HasSuffix(text, "\n") || !strings.Contains(ts.ReadFile("stderr"), said) {
		ts.Fatalf("the file ends with %q, and stderr does not say %q: %s", text[max(0, len(text)-40):], said, ts.ReadFile("stderr"))
	}
}

// interrupt FILE COMMAND... starts a command, interrupts it as Ctrl-C does once
// FILE holds a row, and wants exit code 3.
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: interrupt FILE COMMAND...")
	}
	command, err := exec.LookPath(args[1])
	ts.Check(err)
	var out, errs strings.Builder
	cmd := exec.Command(command, args[2:]...)
	cmd.Dir = ts.Getenv("WORK")
	cmd.Stdout, cmd.Stderr = &out, &errs
	ts.Check(cmd.Start())
	file := ts.MkAbs(args[0])
	for limit := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if text, _ := os.ReadFile(file); len(text) > 0 {
			break
		}
		if time.Now().After(limit) {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			ts.Fatalf("%s never held anything: %s", args[0], errs.String())
		}
	}
	time.Sleep(300 * time.Millisecond) // so that requests are sent and answered
	ts.Check(cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 3 {
		ts.Fatalf("exit code %d, want 3: %s", code, errs.String())
	}
	ts.Check(os.WriteFile(ts.MkAbs("stdout.txt"), []byte(out.String()), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("stderr.txt"), []byte(errs.String()), 0o644))
}

func TestWhetherTheTrafficWasHeldIsSaid(t *testing.T) {
	for want, s := range map[string]probe.Stream{
		"as asked for: 50.0 requests per second": {Held: true, Target: 50, Achieved: 50},
		"as asked for":                           {Held: true},
		"not as asked for: it was late":          {Target: 50, Achieved: 20, Reason: "it was late"},
	} {
		if got := heldText(page{}, s); got != want {
			t.Errorf("%+v: %q, want %q", s, got, want)
		}
	}
	err := notHeld([]probe.Stream{{URL: "http://a/", Held: true}, {URL: "http://b/", Reason: "it was late"}})
	var coded *exitError
	if want := "the traffic was not what was asked for: http://b/: it was late"; !errors.As(err, &coded) || coded.code != 1 || err.Error() != want {
		t.Errorf("%v, want exit code 1 and %q", err, want)
	}
	if err := notHeld([]probe.Stream{{Held: true}}); err != nil {
		t.Error(err)
	}
}

func TestDurationsHaveThreeSignificantDigits(t *testing.T) {
	for ms, want := range map[float64]string{
		0.0421: "42.1 µs", 0.628: "628 µs", 1: "1.00 ms", 61.23: "61.2 ms", 500: "500 ms", 999.7: "1.00 s", 0.9997: "1.00 ms", 1497.4: "1.50 s", 10_000: "10.0 s", 234_567: "235 s",
	} {
		if got := durationText(ms); got != want {
			t.Errorf("%v ms is %q, want %q", ms, got, want)
		}
	}
	for percent, want := range map[float64]string{0: "0 %", 4: "4.00 %", 0.4621: "0.462 %", 100: "100 %"} {
		if got := shareText(percent); got != want {
			t.Errorf("%v is %q, want %q", percent, got, want)
		}
	}
	if got := significant(123456); got != "123456" {
		t.Errorf("123456 is %q", got)
	}
}
