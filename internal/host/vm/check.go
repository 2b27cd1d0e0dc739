package vm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"brink/internal/agent"
	"brink/internal/experiment"
	"brink/internal/host"
	"brink/internal/host/vm/image"
	"brink/internal/host/vm/qemu"
	"brink/internal/kernel"
)

// roomMB is what a guest may write to its root, and what remains free then.
const roomMB = 1024

// leastMB is the smallest MemTotal with which a guest was seen to come up; with
// 50 MB its kernel panics.
const leastMB = 64

// Check finds out whether a machine for the plan can be made here. What apps
// run on is in the image, so that they miss nothing.
func (h *Host) Check(ctx context.Context, plan experiment.Plan, apps []experiment.App) ([]host.Missing, error) {
	var missing []host.Missing
	lacks := func(need, advice string) { missing = append(missing, host.Missing{Need: need, Advice: advice}) }
	switch err := qemu.Fit(ctx); {
	case errors.Is(err, qemu.ErrMissing):
		lacks("QEMU", "Install it with: apt-get install --no-install-recommends qemu-system-x86.")
	case err != nil:
		lacks("QEMU 7.2 or later", capital(err.Error())+"; install a later one.")
	}
	if err := image.CanMakeDisks(); err != nil {
		lacks("mke2fs", "Install it with: apt-get install e2fsprogs.")
	}
	if err := h.checkBrink(lacks); err != nil {
		return nil, err
	}
	have, _, err := agent.AllowedCPUs()
	if err != nil {
		return nil, err
	}
	if plan.CPUs > have {
		lacks(fmt.Sprintf("%d CPUs", plan.CPUs), fmt.Sprintf("This machine lets brink use %d; a guest's CPUs would wait for each other.", have))
	}
	if err := h.checkMemory(plan, lacks); err != nil {
		return nil, err
	}
	checkFit(plan, apps, lacks)
	if err := h.checkDisk(plan, lacks); err != nil {
		return nil, err
	}
	if err := checkSockets(lacks); err != nil {
		return nil, err
	}
	if err := h.checkImage(lacks); err != nil {
		return nil, err
	}
	return missing, nil
}

// checkBrink wants a brink that runs in a guest, which has this machine's kind of
// processor and no loader.
func (h *Host) checkBrink(lacks func(need, advice string)) error {
	if runtime.GOARCH != "amd64" {
		lacks("an x86-64 processor", "Guests have the processor that brink was built for, which is "+runtime.GOARCH+" here.")
	}
	exe, err := h.brink()
	if err != nil {
		return err
	}
	if err := isStatic(exe); err != nil {
		lacks("a brink that a guest can run", capital(err.Error())+".")
	}
	return nil
}

func (h *Host) checkMemory(plan experiment.Plan, lacks func(need, advice string)) error {
	fs, err := kernel.Open("/")
	if err != nil {
		return err
	}
	defer fs.Close()
	m, err := fs.Meminfo()
	if err != nil {
		return err
	}
	need := machineMB(memoryMB(plan)) + qemu.OverheadMB
	if have := int(m.MemAvailable.Value >> 20); m.MemAvailable.Known && have < need {
		lacks(fmt.Sprintf("%d MB of memory", need), fmt.Sprintf("This machine has %d MB available; end other programs or set memory_mb lower.", have))
	}
	return nil
}

// checkFit refuses a plan that no guest can boot in, and what cannot be held
// where swap_mb is 0: a guest then has no swap, while elsewhere it has the
// machine's.
func checkFit(plan experiment.Plan, apps []experiment.App, lacks func(need, advice string)) {
	have := memoryMB(plan)
	if have < leastMB {
		lacks(fmt.Sprintf("a plan of %d MB", leastMB), fmt.Sprintf("A guest of %d MB does not boot; set memory_mb to %d or more.", have, leastMB))
		return
	}
	want := plan.Share.BallastMB + plan.Share.SidecarMB*len(apps)
	for _, a := range apps {
		want += max(1, a.Workers) * a.AllocMB
	}
	if plan.SwapMB == 0 && want > have {
		lacks(fmt.Sprintf("a plan of %d MB", want), fmt.Sprintf("The apps of a step and the platform's share fill that much, and a guest of %d MB has no swap; set memory_mb or swap_mb higher.", have))
	}
}

func (h *Host) checkDisk(plan experiment.Plan, lacks func(need, advice string)) error {
	dir, err := h.diskDir()
	if err != nil {
		return err
	}
	free, err := freeMB(dir)
	if err != nil {
		return err
	}
	switch need := plan.SwapMB + plan.Share.CacheMB + roomMB; {
	case plan.SwapMB > free:
		lacks(fmt.Sprintf("a swap disk of %d MB", plan.SwapMB), fmt.Sprintf("The disk of %s has %d MB free; make room or set swap_mb lower.", dir, free))
	case need > free:
		lacks(fmt.Sprintf("%d MB on the disk of %s", need, dir), fmt.Sprintf("It has %d MB free; make room.", free))
	}
	return nil
}

// checkSockets wants room for the names of a machine's sockets, which the kernel
// bounds (unix(7)).
func checkSockets(lacks func(need, advice string)) error {
	dir, err := runtimeDir()
	if err != nil {
		return err
	}
	const most, number = 107, "1234567890" // as os.MkdirTemp appends it
	if over := len(filepath.Join(dir, scratchPrefix+number, controlSocket)) - most; over > 0 {
		lacks("a shorter name of the runtime directory", fmt.Sprintf("Sockets in %s would have %d bytes too many in their names; set XDG_RUNTIME_DIR to another.", dir, over))
	}
	return nil
}

// checkImage wants an image that can be used, or what it takes to build one.
func (h *Host) checkImage(lacks func(need, advice string)) error {
	cache, err := h.cache()
	if err != nil {
		return err
	}
	switch _, err := image.Find(cache); {
	case errors.Is(err, image.ErrNone):
		// Of mke2fs has been told already.
		if err := image.CanBuild(image.Options{Cache: cache, Mirror: h.opts.Mirror}); err != nil && !errors.Is(err, image.ErrNoMke2fs) {
			lacks("an image to boot", fmt.Sprintf("It must be built first, but %s.", err))
		}
	case err != nil:
		lacks("a sound image", fmt.Sprintf("%s.", capital(err.Error())))
	}
	return nil
}

func capital(text string) string {
	if text == "" || text[0] < 'a' || text[0] > 'z' {
		return text
	}
	return string(text[0]-'a'+'A') + text[1:]
}

// diskDir is where guests' drives are while they run, in files without names.
func (h *Host) diskDir() (string, error) {
	cache, err := h.cache()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "vm")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("the directory for guests' drives: %w", err)
	}
	return dir, nil
}
