package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"brink/internal/evidence"
)

// runCollect runs brink collect in this process.
func runCollect(t *testing.T, args ...string) (code int, stderr string) {
	t.Helper()
	var out bytes.Buffer
	return collectWith(t, &app{stdout: &out}, args...)
}

func collectWith(t *testing.T, a *app, args ...string) (code int, stderr string) {
	t.Helper()
	var out, fault bytes.Buffer
	a.stderr = &fault
	cmd := a.collectCommand()
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&fault)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(context.Background())
	if err != nil {
		fault.WriteString(err.Error())
	}
	switch e := err.(type) {
	case nil:
		return exitDone, fault.String()
	case *exitError:
		return e.code, fault.String()
	}
	return -1, fault.String()
}

func TestCollectWritesABundleThatIsRead(t *testing.T) {
	out := filepath.Join(t.TempDir(), "case.tar.gz")
	code, said := runCollect(t, "--every", "100ms", "--for", "300ms", "--out", out)
	if code != exitDone || !strings.Contains(said, "readings in") {
		t.Fatalf("exit code %d: %s", code, said)
	}
	c, err := evidence.Read(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Readings) < 3 || !c.Has(evidence.HasReclaimRate) {
		t.Errorf("%d readings", len(c.Readings))
	}
	if _, err := os.Stat(out + ".part"); err == nil {
		t.Error("the part is left behind")
	}
	if code, said := runCollect(t, "--out", out); code != exitInput || !strings.Contains(said, "is there already") {
		t.Errorf("a file that is there: exit code %d, %s", code, said)
	}
}

// The document has the names that docs/evidence.md gives, no time for a trigger
// that was not there, and no name of the program's own.
func TestCollectTellsProgramsWhatItWrote(t *testing.T) {
	file := filepath.Join(t.TempDir(), "case.tar.gz")
	var stdout bytes.Buffer
	if code, said := collectWith(t, &app{stdout: &stdout, json: true}, "--every", "100ms", "--for", "100ms", "--out", file); code != exitDone {
		t.Fatalf("exit code %d: %s", code, said)
	}
	var got map[string]any
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(got))
	want := []string{"bytes", "dropped_readings", "file", "from", "gaps", "interrupted", "readings", "servers", "to"}
	if !slices.Equal(names, want) {
		t.Errorf("it has %v, want %v", names, want)
	}
	if got["file"] != file || got["gaps"] == nil {
		t.Errorf("file %v, gaps %v", got["file"], got["gaps"])
	}
	stdout.Reset()
	if code, said := collectWith(t, &app{stdout: &stdout, json: true}, "--every", "100ms", "--for", "100ms", "--out", file, "--force", "--on-trigger", "memory.available >= 0"); code != exitDone {
		t.Fatalf("exit code %d: %s", code, said)
	}
	if !strings.Contains(stdout.String(), `"triggered": "20`) {
		t.Errorf("a trigger that held is not told: %s", stdout.String())
	}
}

func TestCollectRefusesWhatMakesNoSense(t *testing.T) {
	out := filepath.Join(t.TempDir(), "case.tar.gz")
	for want, args := range map[string][]string{
		"--every 1ms: it must be 100ms or more":      {"--every", "1ms"},
		"--for 0s: it must be above 0":               {"--for", "0s"},
		`"psi.memory.ful" is not one of`:             {"--on-trigger", "psi.memory.ful > 20"},
		"names nothing to look at":                   {"--on-trigger", "1 > 0"},
		"--host-name: it must not be empty":          {"--host-name", ""},
		"--before 2h0m0s: it must be above 0 and at": {"--before", "2h"},
		"--before is of --on-trigger":                {"--before", "1m"},
		"--on-trigger: it must not be empty":         {"--on-trigger", ""},
		"exclude each other":                         {"--host-name", "a", "--keep-host-name"},
	} {
		code, said := runCollect(t, append(args, "--out", out)...)
		if code != exitInput || !strings.Contains(said, want) || strings.Contains(said, "\n") {
			t.Errorf("%v: exit code %d, %q, want %q", args, code, said, want)
		}
	}
	if left, err := filepath.Glob(out + "*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A device or a folder is not replaced, and a link in the place of the part is
// not written through.
func TestCollectReplacesFilesOnly(t *testing.T) {
	dir := t.TempDir()
	out, other := filepath.Join(dir, "case.tar.gz"), filepath.Join(dir, "other")
	if err := os.WriteFile(other, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, out); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, "/dev/null", out} {
		if code, said := runCollect(t, "--force", "--every", "100ms", "--for", "100ms", "--out", path); code != exitInput || !strings.Contains(said, "and no file") {
			t.Errorf("%s: exit code %d, %s", path, code, said)
		}
	}
	if err := os.Rename(out, out+".part"); err != nil {
		t.Fatal(err)
	}
	if code, said := runCollect(t, "--every", "100ms", "--for", "100ms", "--out", out); code != exitDone {
		t.Fatalf("exit code %d, %s", code, said)
	}
	text, err := os.ReadFile(other)
	info, statErr := os.Lstat(out)
	if err != nil || statErr != nil || string(text) != "precious" || !info.Mode().IsRegular() {
		t.Errorf("the link's target holds %q; %v, %v", text, err, statErr)
	}
}

// A bundle on standard output is the same bundle, and makes no file.
func TestCollectWritesToStandardOutput(t *testing.T) {
	t.Chdir(t.TempDir())
	var out, fault bytes.Buffer
	a := &app{stdout: &out, stderr: &fault}
	cmd := a.collectCommand()
	cmd.SetArgs([]string{"--every", "100ms", "--for", "200ms", "--out", "-"})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := evidence.ReadArchive(t.Context(), "standard input", &out)
	if err != nil || !c.Has(evidence.HasMeminfo) || !strings.Contains(fault.String(), "standard output: ") {
		t.Errorf("%v; it says %q", err, fault.String())
	}
	if left, err := filepath.Glob("*"); err != nil || len(left) > 0 {
		t.Errorf("files %v, %v", left, err)
	}
}

// What cannot be written is no bad input.
func TestCollectWhereNothingCanBeWritten(t *testing.T) {
	code, said := runCollect(t, "--every", "100ms", "--for", "100ms", "--out", filepath.Join(t.TempDir(), "missing", "case.tar.gz"))
	if code != exitBroken || !strings.Contains(said, "no such file or directory") {
		t.Errorf("exit code %d: %s", code, said)
	}
}

// A terminal that goes away takes nothing along.
// Who ends it before the trigger must not take the file for what was waited for.
func TestCollectSaysThatTheConditionNeverHeld(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer stop()
	var out, said bytes.Buffer
	a := &app{stdout: &out, stderr: &said}
	const never = "memory.available < 0"
	o := collecting{every: soonest, lasts: time.Second, before: time.Minute, trigger: never, host: "host", out: filepath.Join(t.TempDir(), "case.tar.gz")}
	if err := a.collect(ctx, o); err != nil || !strings.Contains(said.String(), never+" never held") {
		t.Errorf("%v: %s", err, said.String())
	}
}

func TestCollectSurvivesItsTerminal(t *testing.T) {
	// A signal that is caught here is not ignored by a child, under nohup neither.
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP)
	defer signal.Stop(hangUps)
	s := newSession(t)
	cmd := s.command("collect", "--every", "100ms", "--on-trigger", "memory.available < 0", "--out", "case.tar.gz")
	var fault bytes.Buffer
	cmd.Stderr = &fault
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.await("the bundle's part", func() bool { _, err := os.Stat(s.path("case.tar.gz.part")); return err == nil })
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, cmd.Wait()); code != exitDone {
		t.Errorf("exit code %d: %s", code, &fault)
	}
	if c, err := evidence.Read(t.Context(), s.path("case.tar.gz")); err != nil || !c.Has(evidence.HasMeminfo) {
		t.Errorf("the bundle: %v, %+v", err, c)
	}
	if left, err := filepath.Glob(s.path("*.part")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
