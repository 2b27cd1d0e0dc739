package goapp

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

const (
	page = 4096
	mib  = 1 << 20

	stepsPerUnit = 100_000
	maxWorkUnits = 500_000
	maxFileMB    = 1024
	maxPayloadKB = 16384
)

// lcg takes steps of the generator of Numerical Recipes, modulo 2^32.
func lcg(x uint32, steps int) uint32 {
	for range steps {
		x = x*1664525 + 1013904223
	}
	return x
}

// burnWork does a fixed amount of work; the checksum proves that it was done.
func burnWork(units int) uint32 { return lcg(1, units*stepsPerUnit) }

// burnFor burns CPU until d of wall time has passed and returns the steps that
// fitted in.
func burnFor(d time.Duration) int {
	const chunk = 1000
	x, steps := uint32(1), 0
	for start := time.Now(); time.Since(start) < d; steps += chunk {
		x = lcg(x, chunk)
	}
	runtime.KeepAlive(x) // or the compiler may drop the arithmetic
	return steps
}

// block is the allocation, outside of Go's heap so that the collector neither
// sees nor doubles it.
type block []byte

func newBlock(mb int) (block, error) {
	if mb == 0 {
		return nil, nil
	}
	b, err := unix.Mmap(-1, 0, mb*mib, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("allocating %d MB: %w", mb, err)
	}
	block(b).touch(mb)
	return b, nil
}

// touch writes one byte to each page of the first mb megabytes.
func (b block) touch(mb int) {
	for at := 0; at < mb*mib; at += page {
		b[at] = 1
	}
}

// workFile is a file in TMPDIR without a name, so that nothing is left behind.
// It belongs to one worker and grows to the largest size asked for. The zero
// value is ready.
type workFile struct {
	file *os.File
	mb   int
	part []byte
}

// read reads the first mb megabytes and returns how many it read.
func (f *workFile) read(mb int) (int, error) {
	if mb == 0 {
		return 0, nil
	}
	if err := f.grow(mb); err != nil {
		return 0, err
	}
	n, err := io.CopyBuffer(discard{}, io.NewSectionReader(f.file, 0, int64(mb)*mib), f.part)
	if err != nil {
		return 0, err
	}
	if n != int64(mb)*mib {
		return 0, io.ErrUnexpectedEOF
	}
	return mb, nil
}

// discard is io.Discard without its ReadFrom, which would take the buffer's
// place with one of 8 KiB.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func (f *workFile) grow(mb int) error {
	if f.file == nil {
		file, err := os.CreateTemp("", "brink-work-")
		if err != nil {
			return err
		}
		if err := os.Remove(file.Name()); err != nil {
			file.Close()
			return err
		}
		f.file, f.part = file, make([]byte, mib)
	}
	if f.mb >= mb {
		return nil
	}
	part := bytes.Repeat([]byte("b"), mib)
	for ; f.mb < mb; f.mb++ {
		if _, err := f.file.WriteAt(part, int64(f.mb)*mib); err != nil {
			return err
		}
	}
	return nil
}
