package vm

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"brink/internal/agent/agenttest"
	"brink/internal/experiment"
	"brink/internal/host"
	"brink/internal/host/vm/image"
	"brink/internal/host/vm/qemu"
)

// openTroubled opens a plan whose Close is expected to say want.
func openTroubled(t *testing.T, h *Host, want string) *session {
	t.Helper()
	s, err := h.Open(t.Context(), small, 0, agenttest.NewSeen())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Close: %v, want %q", err, want)
		}
		if pid := s.(*session).process.PID(); alive(pid) {
			t.Errorf("QEMU (%d) is alive after Close", pid)
		}
	})
	return s.(*session)
}

// The kernel's own way to panic on demand, which it ends with its offset:
// https://www.kernel.org/doc/html/latest/admin-guide/sysrq.html
func TestAPanicIsReportedWithTheConsolesLastLines(t *testing.T) {
	s := openTroubled(t, testHost(t), "the guest's kernel panicked: sysrq triggered crash")
	_, err := s.Deploy(t.Context(), shell("boom", "echo c >/proc/sysrq-trigger; sleep 60"))
	for _, want := range []string{"the guest's kernel panicked: sysrq triggered crash", "its console ends: ", "Kernel Offset"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Deploy: %v, want %q", err, want)
		}
	}
}

func TestAFullDiskIsReported(t *testing.T) {
	s := openTroubled(t, testHost(t), "the guest's disk is full")
	_, err := s.Deploy(t.Context(), shell("fills", "fallocate -l $(df --output=avail -B1 / | tail -n 1) /fill; sleep 4; echo x >/more; exit 1"))
	var start *host.StartError
	if !errors.As(err, &start) || !strings.Contains(start.Reason, "the guest's disk is full") {
		t.Errorf("Deploy: %v, want a StartError about the disk", err)
	}
}

// A machine that is stopped answers as little as one whose kernel hangs.
func TestAHangIsReported(t *testing.T) {
	shared := testHost(t)
	h := New(shared.opts)
	h.silence = time.Second
	s := openTroubled(t, h, "the guest hangs: its agent has not answered for 1s")
	if err := syscall.Kill(s.process.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, s.process.PID())
	if _, err := s.Deploy(t.Context(), shell("late", "true")); err == nil {
		t.Error("a deploy on a machine that is gone succeeded")
	}
}

// cacheWith makes a cache with an image of the current recipe whose root file
// system is empty, and a host that uses it.
func cacheWith(t *testing.T, change func(*image.Image)) *Host {
	t.Helper()
	shared := testHost(t)
	good, err := shared.theImage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	bad := *good
	bad.Dir = filepath.Join(image.Dir(cache), good.ID)
	if err := os.MkdirAll(bad.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := image.MakeDisk(t.Context(), image.Disk{Path: bad.Root(), MB: 8}); err != nil {
		t.Fatal(err)
	}
	kernel, err := os.ReadFile(good.KernelPath())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bad.KernelPath(), kernel, 0o644); err != nil {
		t.Fatal(err)
	}
	bad.RootBytes = 8 << 20
	change(&bad)
	about, err := json.Marshal(bad)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bad.Dir, "image.json"), about, 0o644); err != nil {
		t.Fatal(err)
	}
	opts := shared.opts
	opts.Cache, opts.Accelerator = cache, qemu.TCG
	return New(opts)
}

func TestAnImageThatDoesNotBootIsReported(t *testing.T) {
	h := cacheWith(t, func(*image.Image) {})
	_, err := h.Open(t.Context(), small, 0, agenttest.NewSeen())
	if want := "the guest could not set itself up: move /sys to the root: no such file or directory"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Open: %v, want %q", err, want)
	}
	if files := left(t, h); len(files) > 0 {
		t.Errorf("left over: %v", files)
	}
}

// Damage that nobody wrote shows when the machine does not come up.
func TestDamageInsideAnImageIsNamed(t *testing.T) {
	h := cacheWith(t, func(i *image.Image) { i.Built = time.Now().Add(time.Second) })
	img, err := h.theImage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(img.Root())
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(img.Root(), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	// What follows the first superblock describes the rest.
	_, err = f.WriteAt(make([]byte, 1<<20), 2048)
	if err := errors.Join(err, f.Close(), os.Chtimes(img.Root(), info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
	_, err = h.Open(t.Context(), small, 0, agenttest.NewSeen())
	for _, want := range []string{img.Dir, "root.ext4 is damaged", "brink image build --force", "the guest could not set itself up: mount the root drive", "its console ends: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open: %v, want %q", err, want)
		}
	}
	if !errors.Is(err, image.ErrBroken) {
		t.Errorf("Open: %v, want ErrBroken", err)
	}
}

func TestABrokenImageIsFoundBeforeAnythingStarts(t *testing.T) {
	h := cacheWith(t, func(i *image.Image) { i.RootBytes++ })
	missing, err := h.Check(t.Context(), small, nil)
	if err != nil || len(missing) != 1 || missing[0].Need != "a sound image" || !strings.Contains(missing[0].Advice, "brink image build --force") {
		t.Errorf("Check: %+v, %v", missing, err)
	}
	if _, err := h.Open(t.Context(), small, 0, agenttest.NewSeen()); !errors.Is(err, image.ErrBroken) {
		t.Errorf("Open: %v, want ErrBroken", err)
	}
}

func TestCheckNamesWhatThisMachineLacks(t *testing.T) {
	h := testHost(t)
	for _, c := range []struct {
		name string
		plan experiment.Plan
		want []string
	}{
		{"nothing", small, nil},
		{"a machine that can boot", experiment.Plan{MemoryMB: 50}, []string{"a plan of 64 MB"}},
		{"room for what is filled", experiment.Plan{MemoryMB: 400, Share: experiment.Share{SidecarMB: 100}}, []string{"a plan of 401 MB"}},
		{"room where there is swap", experiment.Plan{MemoryMB: 400, SwapMB: 100, Share: experiment.Share{SidecarMB: 100}}, nil},
		{"memory", experiment.Plan{MemoryMB: 1 << 20}, []string{"MB of memory"}},
		{"CPUs", experiment.Plan{CPUs: 256, MemoryMB: 500}, []string{"256 CPUs"}},
		{"swap", experiment.Plan{MemoryMB: 500, SwapMB: 1 << 30}, []string{"a swap disk of 1073741824 MB"}},
	} {
		missing, err := h.Check(t.Context(), c.plan, []experiment.App{{Name: "web", Workers: 3, AllocMB: 67}, {Name: "idle"}})
		if err != nil || len(missing) != len(c.want) {
			t.Errorf("%s: %+v, %v", c.name, missing, err)
			continue
		}
		for i, m := range missing {
			if !strings.Contains(m.Need, c.want[i]) || m.Advice == "" {
				t.Errorf("%s: %+v, want %q", c.name, m, c.want[i])
			}
		}
	}
}

func TestWithoutQEMUThatIsSaid(t *testing.T) {
	h := testHost(t)
	t.Setenv("PATH", t.TempDir())
	missing, err := h.Check(t.Context(), small, nil)
	if err != nil || len(missing) != 1 || missing[0].Need != "QEMU" {
		t.Errorf("Check: %+v, %v", missing, err)
	}
	if _, err := h.Open(context.Background(), small, 0, agenttest.NewSeen()); !errors.Is(err, qemu.ErrMissing) {
		t.Errorf("Open: %v, want ErrMissing", err)
	}
}

func TestWithoutAnImageCheckSaysWhatABuildLacks(t *testing.T) {
	opts := testHost(t).opts
	opts.Cache = t.TempDir()
	path, err := qemu.Find()
	if err != nil {
		t.Fatal(err)
	}
	programs := t.TempDir()
	if err := os.Symlink(path, filepath.Join(programs, qemu.Program)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", programs)
	missing, err := New(opts).Check(t.Context(), small, nil)
	if err != nil || len(missing) != 1 || missing[0].Need != "an image to boot" ||
		missing[0].Advice != "It must be built first, but mmdebstrap is not installed; install it with: apt-get install mmdebstrap." {
		t.Errorf("Check: %+v, %v", missing, err)
	}
}

func TestARuntimeDirectoryWithALongNameIsRefused(t *testing.T) {
	h := testHost(t)
	dir := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", dir)
	missing, err := h.Check(t.Context(), small, nil)
	if err != nil || len(missing) != 1 || missing[0].Need != "a shorter name of the runtime directory" || !strings.Contains(missing[0].Advice, dir) {
		t.Errorf("Check: %+v, %v", missing, err)
	}
}

func TestAProgramThatNeedsALoaderIsRefused(t *testing.T) {
	opts := testHost(t).opts
	opts.Brink = "/usr/bin/env"
	missing, err := New(opts).Check(t.Context(), small, nil)
	if err != nil || len(missing) != 1 || !strings.Contains(missing[0].Advice, "/usr/bin/env is linked dynamically") {
		t.Errorf("Check: %+v, %v", missing, err)
	}
}
