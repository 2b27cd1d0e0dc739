package agent

import (
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"brink/internal/kernel"
	"brink/internal/wire"
)

// kernelLog is read for the pids that the OOM killer chose.
// https://www.kernel.org/doc/html/latest/admin-guide/abi-testing.html (dev-kmsg)
const kernelLog = "/dev/kmsg"

// oomWatch tells SIGKILL by the OOM killer from SIGKILL by anybody else.
type oomWatch struct {
	fs  *kernel.FS
	log *os.File // nil where this user may not read it

	mu sync.Mutex
	// killed has the log's line by pid, for those that nobody has asked for.
	killed map[int]string
	told   uint64 // of the machine's OOM kills
	done   chan struct{}
}

func watchOOM(fs *kernel.FS, path string) *oomWatch {
	w := &oomWatch{fs: fs, killed: map[int]string{}, done: make(chan struct{})}
	w.told = w.machineKills()
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == nil {
		// What was logged before is no business of ours; a pipe has no before.
		_, _ = unix.Seek(fd, 0, io.SeekEnd)
		w.log = os.NewFile(uintptr(fd), path)
		go w.follow()
	} else {
		close(w.done)
	}
	return w
}

func (w *oomWatch) close() error {
	if w.log == nil {
		return nil
	}
	err := w.log.Close()
	<-w.done
	return err
}

// maxRecord is longer than a record of the log can be.
const maxRecord = 8 << 10

// follow reads the log, one record at a time, until it is closed.
func (w *oomWatch) follow() {
	defer close(w.done)
	record := make([]byte, maxRecord)
	for {
		n, err := w.log.Read(record)
		switch {
		case errors.Is(err, unix.EPIPE): // records were overwritten before they were read
		case err != nil:
			return
		default:
			w.record(string(record[:n]))
		}
	}
}

// oomRecord is what __oom_kill_process in mm/oom_kill.c logs, since Linux 3.
var oomRecord = pattern(`[Oo]ut of memory.*Killed process (\d+) \(`)

var oomRecordParts = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`Killed process \d+ \([^)]*\)|anon-rss:\w+`) })

func (w *oomWatch) record(text string) {
	if !strings.Contains(text, "Killed process") {
		return
	}
	pid, _, ok := match(oomRecord, text)
	if !ok {
		return
	}
	where := "the machine was out of memory"
	if strings.Contains(text, "cgroup out of memory") {
		where = "its cgroup was out of memory"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.killed[pid] = where + ": " + strings.Join(oomRecordParts().FindAllString(text, -1), ", ")
}

// take returns what the log says about the end of a process, once.
func (w *oomWatch) take(pid int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	why := w.killed[pid]
	delete(w.killed, pid)
	return why
}

func (w *oomWatch) machineKills() uint64 {
	v, err := w.fs.Vmstat()
	if err != nil || !v.OOMKill.Known {
		return 0
	}
	return v.OOMKill.Value
}

// machineKill tells whether the machine counted an OOM kill that has not been
// told yet, and takes it for told.
func (w *oomWatch) machineKill() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.machineKills() <= w.told {
		return false
	}
	w.told++
	return true
}

// groupKills counts the OOM kills in the app's own cgroup, whether its limit or
// the machine's memory was exceeded.
func (a *app) groupKills() (uint64, bool) {
	path := a.cgroupPath()
	if path == "" {
		return 0, false
	}
	c, err := a.agent.fs.Cgroup(path)
	if err != nil {
		return 0, false
	}
	m, err := c.Memory()
	return m.EventOOMKill.Value, err == nil && m.EventOOMKill.Known
}

// oomKill says, in a word of the kernel's, why the process was killed by the OOM
// killer; it is empty when it was not. It does not wait.
func (a *app) oomKill(pid int) string {
	if why := a.agent.oom.take(pid); why != "" {
		a.ooms.Add(1)
		return why
	}
	if a.agent.oom.log != nil {
		return "" // the log names the pid
	}
	if n, ok := a.groupKills(); ok {
		if n <= a.ooms.Load() {
			return ""
		}
		a.ooms.Add(1)
		return "memory.events of its cgroup counts an OOM kill"
	}
	if a.agent.oom.machineKill() {
		return "/proc/vmstat counts an OOM kill at that time; which process it was cannot be seen by this user"
	}
	return ""
}

// awaitOOMKill is oomKill, but waits a moment for the log: the kernel writes the
// line after it has sent the signal.
func (a *app) awaitOOMKill(pid int) string {
	const pause, limit = 5 * time.Millisecond, 250 * time.Millisecond
	deadline := a.agent.clock.Now().Add(limit)
	for {
		if why := a.oomKill(pid); why != "" {
			return why
		}
		if a.agent.oom.log == nil || a.agent.clock.Now().After(deadline) {
			return ""
		}
		<-a.agent.clock.After(pause)
	}
}

// workerEvent passes a worker's event on, after an oom_killed if the OOM killer
// ended it. A time-out is its master's doing.
func (a *app) workerEvent(e wire.Event) {
	unexplained := e.Detail == "" && e.Code == nil && (e.Signal == 0 || e.Signal == int(unix.SIGKILL))
	if (e.Kind == wire.WorkerKilled || e.Kind == wire.WorkerExited) && unexplained {
		if why := a.oomKill(e.Pid); why != "" {
			a.emit(wire.Event{Kind: wire.OOMKilled, AtNs: e.AtNs, Pid: e.Pid, Signal: int(unix.SIGKILL), Detail: why})
			e.Kind, e.Signal = wire.WorkerKilled, int(unix.SIGKILL)
		}
	}
	a.emit(e)
}
