package system

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"brink/internal/clock"
)

// Holding is what a process that stands for the platform's memory holds.
type Holding struct {
	// MB of anonymous memory or, with Dir, of a file there that is mapped; Hot MB
	// of it are touched every interval, none if that is 0. MB are 2^20 bytes.
	MB, Hot int
	Every   time.Duration
	Dir     string
	// Out has the kernel move the memory to swap as it is filled, where it stays:
	// memory that nothing has needed for long.
	Out bool
}

// Args are the arguments of Hold.
func (h Holding) Args() []string {
	args := []string{"--mb", strconv.Itoa(h.MB), "--hot-mb", strconv.Itoa(h.Hot), "--every", h.Every.String()}
	if h.Dir != "" {
		args = append(args, "--file-in", h.Dir)
	}
	if h.Out {
		args = append(args, "--out")
	}
	return args
}

// Ready is the line that says that a holding is filled.
const Ready = "ready"

// Hold is the program "brink hold", which agents start to stand for memory that
// the platform itself uses: --mb of anonymous memory or, with --file-in, of a
// mapped file in a directory, of which the first --hot-mb are touched once in
// every interval of --every; with --out it is moved to swap. It makes itself the
// OOM killer's last choice where it may, writes "ready" when everything is
// filled, and runs until ctx ends. With --empty-swap it brings everything back
// from one swap area instead.
func Hold(ctx context.Context, args []string, out io.Writer) error {
	var h Holding
	flags := flag.NewFlagSet("hold", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&h.MB, "mb", 0, "")
	flags.IntVar(&h.Hot, "hot-mb", 0, "")
	flags.DurationVar(&h.Every, "every", 0, "")
	flags.StringVar(&h.Dir, "file-in", "", "")
	flags.BoolVar(&h.Out, "out", false, "")
	swap := flags.String("empty-swap", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *swap != "" {
		return emptySwap(*swap)
	}
	if h.MB < 1 || h.Hot < 0 || h.Hot > h.MB || h.Every < 0 {
		return fmt.Errorf("memory of %d MB, of which %d are touched every %s, cannot be held", h.MB, h.Hot, h.Every)
	}
	protect()
	memory, touch, err := h.fill()
	if err != nil {
		return err
	}
	defer func() { _ = unix.Munmap(memory) }()
	if _, err := fmt.Fprintln(out, Ready); err != nil {
		return err
	}
	if h.Every == 0 {
		h.Hot, h.Every = 0, time.Hour // a pause, not a wait that the runtime takes for a deadlock
	}
	h.keepHot(ctx, memory[:h.Hot<<20], touch)
	return nil
}

// OOMScore makes a process the OOM killer's last choice, but not impossible.
// https://www.kernel.org/doc/html/latest/filesystems/proc.html (3.1)
const OOMScore = -900

// protect sets the own oom_score_adj, which needs CAP_SYS_RESOURCE. Whoever
// started the process reads what it has become.
func protect() {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(strconv.Itoa(OOMScore)), 0)
}

// fill returns the filled memory and how one page of it is touched.
func (h Holding) fill() (memory []byte, touch func(page []byte), err error) {
	if h.Dir != "" {
		memory, err = mapFile(h.Dir, h.MB<<20)
		return memory, readPage, err
	}
	memory, err = unix.Mmap(-1, 0, h.MB<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, nil, fmt.Errorf("%d MB of memory: %w", h.MB, err)
	}
	if h.Out {
		return memory, writePage, pageOut(memory)
	}
	noise(memory, 1)
	return memory, writePage, nil
}

// pageOut dirties memory piece by piece and has each piece moved to swap before
// the next, so that little of it is ever in memory. Linux 5.4 and later do that
// (madvise(2), MADV_PAGEOUT).
func pageOut(memory []byte) error {
	const piece = 8 << 20
	_ = unix.Madvise(memory, unix.MADV_NOHUGEPAGE) // a huge page would have to be split first
	for ; len(memory) > 0; memory = memory[min(piece, len(memory)):] {
		part := memory[:min(piece, len(memory))]
		for off := 0; off < len(part); off += os.Getpagesize() {
			writePage(part[off:])
		}
		if err := unix.Madvise(part, unix.MADV_PAGEOUT); err != nil {
			return fmt.Errorf("having the kernel move memory to swap: %w", err)
		}
	}
	return nil
}

// keepHot touches hot once in every interval. A round that takes longer than
// that is followed by the next one at once, as a busy platform's would be.
func (h Holding) keepHot(ctx context.Context, hot []byte, touch func([]byte)) {
	page := os.Getpagesize()
	due := clock.Real.Now()
	for {
		for off := 0; off < len(hot) && ctx.Err() == nil; off += page {
			touch(hot[off : off+page])
		}
		now := clock.Real.Now()
		if due = due.Add(h.Every); due.Before(now) {
			due = now
		}
		if clock.Real.Sleep(ctx, due.Sub(now)) != nil {
			return
		}
	}
}

// mapFile makes a file without a name in dir, so that nothing is left of it
// when the process ends, and maps it. Its content is real: a hole would come
// back after reclaim without the disk.
func mapFile(dir string, size int) ([]byte, error) {
	f, err := os.CreateTemp(dir, "brink-cache-")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := os.Remove(f.Name()); err != nil {
		return nil, err
	}
	block := make([]byte, 1<<20)
	for off := 0; off < size; off += len(block) {
		noise(block, uint64(off)+1)
		if _, err := f.Write(block); err != nil {
			return nil, fmt.Errorf("a file of %d MB: %w", size>>20, err)
		}
	}
	// Dirty pages could not be dropped.
	if err := f.Sync(); err != nil {
		return nil, fmt.Errorf("a file of %d MB: %w", size>>20, err)
	}
	memory, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping a file of %d MB: %w", size>>20, err)
	}
	for off := 0; off < size; off += os.Getpagesize() {
		readPage(memory[off:])
	}
	return memory, nil
}

// noise fills b, whose length is a multiple of 8, with what does not compress
// (xorshift64).
func noise(b []byte, seed uint64) {
	for i := 0; i < len(b); i += 8 {
		seed ^= seed << 13
		seed ^= seed >> 7
		seed ^= seed << 17
		binary.LittleEndian.PutUint64(b[i:], seed)
	}
}

func writePage(page []byte) { page[0]++ }

// sum keeps the compiler from leaving out a read.
var sum atomic.Uint32

func readPage(page []byte) { sum.Add(uint32(page[0])) }
