package kernel

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// DirectReclaims is what the tracepoints of direct reclaim have told since a
// [ReclaimTrace] was opened.
type DirectReclaims struct {
	// Count is how many direct reclaims have ended, Nanos the wall time that
	// they took in sum, LongestNanos that of the longest. One that had begun
	// before the trace is not counted.
	Count, Nanos, LongestNanos uint64
	// Lost events were overwritten before they were read: the other numbers are
	// lower bounds by as much.
	Lost uint64
}

// ReclaimTrace listens to mm_vmscan_direct_reclaim_begin and _end in a tracing
// instance of its own, so that nobody else's tracing is touched. It needs the
// right to write in tracefs. It must not be used from several goroutines at
// once.
//
// https://www.kernel.org/doc/html/latest/trace/ftrace.html#instances
// https://www.kernel.org/doc/html/latest/trace/events.html
type ReclaimTrace struct {
	root     *os.Root
	instance string // its directory
	pipe     int    // -1 until it is open
	buf      []byte
	kept     int // bytes of an unfinished line at the start of buf
	pairs    reclaimPairs
}

const (
	tracePrefix = "brink-"
	// traceBufferKB is the ring for each CPU: some 5,000 reclaims.
	traceBufferKB = "512"
	// traceReads bounds a reading, of 4 to 8 KiB each.
	traceReads = 256
)

var traceEvents = [...]string{"mm_vmscan_direct_reclaim_begin", "mm_vmscan_direct_reclaim_end"}

// TraceDirectReclaim begins to listen. The error is [ErrUnavailable] where
// tracefs is not mounted or lacks these events. Instances of processes that
// have ended without closing theirs are removed.
func (f *FS) TraceDirectReclaim() (*ReclaimTrace, error) {
	dir, err := f.tracefs()
	if err != nil {
		return nil, err
	}
	f.removeStaleTraces(dir)
	t := &ReclaimTrace{root: f.root, instance: dir + "/instances/" + tracePrefix + strconv.Itoa(os.Getpid()), pipe: -1, buf: make([]byte, 64<<10)}
	if err := f.root.Mkdir(t.instance, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, explain(t.instance, err)
	}
	if err := t.begin(); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// tracefs finds where tracefs is mounted.
func (f *FS) tracefs() (string, error) {
	for _, dir := range []string{"sys/kernel/tracing", "sys/kernel/debug/tracing"} {
		switch _, err := f.root.Stat(dir + "/events/vmscan/" + traceEvents[0]); {
		case err == nil:
			return dir, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", explain(dir, err)
		}
	}
	return "", fmt.Errorf("tracefs: %w: it is not mounted, or has no events of direct reclaim", ErrUnavailable)
}

func (f *FS) removeStaleTraces(dir string) {
	d, err := f.root.Open(dir + "/instances")
	if err != nil {
		return
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return
	}
	for _, name := range names {
		pid, ours := strings.CutPrefix(name, tracePrefix)
		if ours && isNumber([]byte(pid)) && !f.at.isDir("proc/"+pid) {
			stale := ReclaimTrace{root: f.root, instance: dir + "/instances/" + name, pipe: -1}
			_ = stale.Close()
		}
	}
}

// begin sets the instance up. The options keep lines short; a kernel without
// one of them is as good.
func (t *ReclaimTrace) begin() error {
	for _, o := range [...]struct{ file, value string }{
		{"buffer_size_kb", traceBufferKB}, {"trace_clock", "mono"}, {"options/record-cmd", "0"},
	} {
		if err := t.set(o.file, o.value); err != nil && !errors.Is(err, ErrUnavailable) && !errors.Is(err, unix.EINVAL) {
			return err
		}
	}
	if err := t.openPipe(); err != nil {
		return explain(t.instance+"/trace_pipe", err)
	}
	for _, event := range traceEvents {
		if err := t.set("events/vmscan/"+event+"/enable", "1"); err != nil {
			return err
		}
	}
	return nil
}

// openPipe leaves a descriptor that Go's poller does not know of: each event would
// wake it.
func (t *ReclaimTrace) openPipe() error {
	f, err := t.root.OpenFile(t.instance+"/trace_pipe", os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	controlErr := raw.Control(func(fd uintptr) { t.pipe, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	return errors.Join(controlErr, err)
}

func (t *ReclaimTrace) set(file, value string) error {
	name := t.instance + "/" + file
	f, err := t.root.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return explain(name, err)
	}
	_, err = f.WriteString(value)
	if err = errors.Join(err, f.Close()); err != nil {
		return explain(name, err)
	}
	return nil
}

// Read takes in what has happened since the last reading, without waiting, and
// returns the sums since the trace was opened. It allocates nothing. What is
// more than the kernel's buffer holds stays for the next reading.
func (t *ReclaimTrace) Read(dst *DirectReclaims) error {
	for range traceReads {
		n, err := unix.Read(t.pipe, t.buf[t.kept:])
		if err == unix.EINTR {
			continue
		}
		if err == unix.EAGAIN || err == nil && n == 0 {
			break
		}
		if err != nil {
			return explain(t.instance+"/trace_pipe", err)
		}
		text := t.buf[:t.kept+n]
		t.kept = copy(t.buf, t.pairs.take(text))
		if t.kept == len(t.buf) {
			t.kept = 0 // no line of the kernel is as long
		}
	}
	*dst = t.pairs.sums
	return nil
}

// Close stops listening and removes the instance.
func (t *ReclaimTrace) Close() error {
	if t == nil {
		return nil
	}
	for _, event := range traceEvents {
		// Without the event there is nothing to stop.
		_ = t.set("events/vmscan/"+event+"/enable", "0")
	}
	var err error
	if t.pipe >= 0 {
		err = unix.Close(t.pipe)
	}
	if removed := t.root.Remove(t.instance); removed != nil {
		err = errors.Join(err, explain(t.instance, removed))
	}
	return err
}
