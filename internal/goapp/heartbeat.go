package goapp

import (
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// heartbeat is a memory file shared by the master and one worker: the instant
// of the worker's last sign of life on CLOCK_MONOTONIC, and whether it has
// booted. Writing to it wakes nobody, unlike a pipe.
type heartbeat struct{ file *os.File }

const heartbeatSize = 16

// newHeartbeat starts the clock: a worker that never gets to report is late
// too, as a gunicorn worker is that boots for longer than the time-out.
func newHeartbeat() (heartbeat, error) {
	fd, err := unix.MemfdCreate("heartbeat", unix.MFD_CLOEXEC)
	if err != nil {
		return heartbeat{}, fmt.Errorf("creating a heartbeat file: %w", err)
	}
	h := heartbeat{os.NewFile(uintptr(fd), "heartbeat")}
	if err := h.write(false); err != nil {
		h.file.Close()
		return heartbeat{}, err
	}
	return h, nil
}

// alive reports a booted worker's sign of life.
func (h heartbeat) alive() error { return h.write(true) }

func (h heartbeat) write(booted bool) error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return fmt.Errorf("reading the clock: %w", err)
	}
	var b [heartbeatSize]byte
	binary.NativeEndian.PutUint64(b[:8], uint64(now.Nano()))
	if booted {
		b[8] = 1
	}
	if _, err := h.file.WriteAt(b[:], 0); err != nil {
		return fmt.Errorf("writing a heartbeat: %w", err)
	}
	return nil
}

// read returns how long ago the last sign of life was.
func (h heartbeat) read() (age time.Duration, booted bool, err error) {
	var b [heartbeatSize]byte
	if _, err := h.file.ReadAt(b[:], 0); err != nil {
		return 0, false, fmt.Errorf("reading a heartbeat: %w", err)
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0, false, fmt.Errorf("reading the clock: %w", err)
	}
	last := int64(binary.NativeEndian.Uint64(b[:8]))
	return time.Duration(now.Nano() - last), b[8] == 1, nil
}
