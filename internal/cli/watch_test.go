package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// runWatch runs the command as the root command would.
func runWatch(ctx context.Context, asJSON bool, args ...string) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	a := &app{stdout: &out, stderr: &errs, json: asJSON}
	cmd := a.watchCommand()
	cmd.SetArgs(args)
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(ctx)
	return out.String(), errs.String(), err
}

func TestWatchRefusesBadInput(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--listen", "x"}, `--listen "x" is not an address`},
		{[]string{"--pid", "4194305"}, "--pid 4194305: there is no such process"},
		{[]string{"--pid", "-1"}, "--pid -1: there is no such process"},
		{[]string{"--every", "99ms"}, "--every 99ms: it must be 100ms or more"},
		{[]string{"--for", "-1s"}, "--for -1s: it must be above 0"},
		{[]string{"--for", "0s"}, "--for 0s: it must be above 0"},
		{[]string{"--prometheus", ""}, "--prometheus needs an address to serve at"},
		{[]string{"--listen", ""}, `--listen "" is not an address`},
		{[]string{"--once", "--for", "1s"}, "--once and --for exclude each other"},
		{[]string{"--once", "--prometheus", "9464"}, "--once and --prometheus exclude each other"},
		{[]string{"--once", "--every", "100ms", "--listen", "127.0.0.1:1"}, "nothing listens there"},
	} {
		_, _, err := runWatch(t.Context(), false, c.args...)
		var coded *exitError
		if !errors.As(err, &coded) || coded.code != exitInput || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, want exit code %d and %q", c.args, err, exitInput, c.says)
		}
	}
}

// served listens in this process, which watch leaves out: nothing has to be
// there for the form of the output.
func served(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

func TestWatchStreamsJSONUntilItsTimeIsUp(t *testing.T) {
	address := served(t)
	out, _, err := runWatch(t.Context(), true, "--listen", address, "--every", "100ms", "--for", "350ms")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) < 2 {
		t.Fatalf("%d documents, want several", len(lines))
	}
	for _, line := range lines {
		var doc struct {
			Format  string
			Servers []any
		}
		if err := json.Unmarshal([]byte(line), &doc); err != nil || doc.Format != "brink-watch/1" || doc.Servers == nil {
			t.Errorf("%v in %s", err, line)
		}
	}
}

func TestWatchPrintsTablesWithoutTerminal(t *testing.T) {
	out, _, err := runWatch(t.Context(), false, "--listen", served(t), "--every", "100ms", "--for", "250ms")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out, "LISTEN"); n < 2 || strings.ContainsRune(out, '\x1b') {
		t.Errorf("%d tables, want several and no control characters:\n%s", n, out)
	}
}

// The exporter is asked for what the command line of brink asks for, and an
// address cannot be taken for a flag.
func TestExporterArguments(t *testing.T) {
	o := watching{listen: []string{":80", "[::1]:81"}, pids: []int{4, 5}, every: 2 * time.Second, lasts: time.Minute, prometheus: "--help"}
	want := "--every=2s --for=1m0s --listen=:80 --listen=[::1]:81 --pid=4 --pid=5 --quiet -- --help"
	if got := strings.Join(o.exporterArguments(true), " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
