package vm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"brink/internal/agent/agenttest"
	"brink/internal/experiment"
	"brink/internal/host"
	"brink/internal/host/vm/qemu"
)

func TestMain(m *testing.M) {
	agenttest.Main(m, map[string]func([]string) error{"lab": runLab})
}

// guestProgram builds what runs in guests, once.
var guestProgram = sync.OnceValues(func() (string, error) {
	path := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "guest-brink")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "./testdata/brink")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
})

// theHost is shared: what it finds out once holds for all tests.
var theHost = sync.OnceValues(func() (*Host, error) {
	if _, err := qemu.Find(); err != nil {
		return nil, errors.New("these tests boot machines; scripts/need.sh test installs QEMU")
	}
	program, err := guestProgram()
	if err != nil {
		return nil, err
	}
	h := New(Options{
		Program: "brink test", Brink: program,
		Progress: func(line string) { fmt.Fprintln(os.Stderr, line) },
	})
	_, err = h.theImage(context.Background())
	return h, err
})

func testHost(t *testing.T) *Host {
	t.Helper()
	h, err := theHost()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// small is a plan that boots anywhere.
var small = experiment.Plan{CPUs: 1, MemoryMB: 500, SwapMB: 64}

func open(t *testing.T, plan experiment.Plan, every time.Duration) (*session, *agenttest.Seen) {
	t.Helper()
	o := agenttest.NewSeen()
	s, err := testHost(t).Open(t.Context(), plan, every, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s.(*session), o
}

func flask(name string) experiment.App {
	return experiment.App{Name: name, Runtime: "flask", WorkerClass: "sync", Workers: 1, Timeout: experiment.Duration(60 * time.Second), Backlog: 64, StartLimit: experiment.Duration(2 * time.Minute)}
}

func shell(name, script string) experiment.App {
	return experiment.App{Name: name, Runtime: "command", Command: []string{"sh", "-c", script}, StartLimit: experiment.Duration(2 * time.Minute)}
}

func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func awaitGone(t *testing.T, pid int) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); alive(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%d is still alive", pid)
		}
	}
}

// left lists what is in the runtime directory and in that of guests' drives.
func left(t *testing.T, h *Host) []string {
	t.Helper()
	base, err := runtimeDir()
	if err != nil {
		t.Fatal(err)
	}
	disks, err := h.diskDir()
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, pattern := range []string{filepath.Join(base, scratchPrefix+"*"), filepath.Join(disks, ".file-*"), filepath.Join(disks, "*.img"), filepath.Join(disks, "vl.*")} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	return files
}

func limitNamed(limits []host.Limit, name string) host.Limit {
	for _, l := range limits {
		if l.Name == name {
			return l
		}
	}
	return host.Limit{}
}
