package agent

import (
	"fmt"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"brink/internal/kernel"
)

const nanosPerTick = 1_000_000_000 / kernel.UserHz

// tree is the processes that belong to one app: its first process, what that
// started, and orphans that the agent inherited from them.
type tree struct {
	fs   *kernel.FS
	ends *kernel.Ends // nil where nobody asks often

	mu   sync.Mutex
	main int
	// wrapped says that the first process only starts the one that matters, as
	// crun does.
	wrapped bool
	inner   int // the one that matters then, when last seen
	members []*member
	known   map[int]bool
	changes int
	ended   int64 // CPU time of members that are gone, ns
	kids    []int
}

// member is one process of a tree as it was last read.
type member struct {
	proc    *kernel.Process
	watched bool // its end is told of
	stat    kernel.PIDStat
	cpu     int64 // ns
	// clock is what readClocks has read and settle has not taken in yet.
	clock int64
	rest  resting
}

// resting is what freshen has read of a process: its memory, and its CPU time by
// which it can be told that it has not run since.
type resting struct {
	cpu   int64 // ns
	pages int64
	at    time.Time
}

func newTree(fs *kernel.FS) *tree { return &tree{fs: fs, known: map[int]bool{}} }

// adopt makes pid a member; it is no error when it is gone already.
func (t *tree) adopt(pid int) {
	if t.known[pid] {
		return
	}
	p, err := t.fs.OpenProcess(pid)
	if err != nil {
		return
	}
	m := &member{proc: p, watched: t.ends != nil && t.ends.Watch(p) == nil}
	if !m.read() {
		p.Close()
		return
	}
	t.known[pid] = true
	t.changes++
	t.members = append(t.members, m)
}

// start makes pid the app's first process.
func (t *tree) start(pid int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.main, t.inner = pid, 0
	t.adopt(pid)
}

// add makes pid a member.
func (t *tree) add(pid int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.adopt(pid)
}

// scan reads every member again and forgets those that are gone. A deep scan
// also looks for children, which costs more, and for processes with several
// threads allocates.
func (t *tree) scan(deep bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.members[:0]
	for _, m := range t.members {
		if m.read() {
			kept = append(kept, m)
			continue
		}
		t.changes++
		t.ended += m.cpu
		delete(t.known, m.proc.PID())
		m.proc.Close()
	}
	clear(t.members[len(kept):])
	t.members = kept
	if !deep {
		return
	}
	for i := 0; i < len(t.members); i++ { // grows while it is walked
		kids, err := t.members[i].proc.Children(t.kids[:0])
		t.kids = kids
		if err != nil {
			continue // it ended just now; the next scan forgets it
		}
		for _, pid := range kids {
			t.adopt(pid)
		}
	}
}

// readClocks reads the CPU time of the members that have not ended, as far as is
// known. It is theirs unless one has ended by now, which settle must know.
func (t *tree) readClocks() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.members {
		if m.stat.State != 'Z' {
			m.clock = processCPU(m.proc.PID())
		}
	}
}

// settle takes in what readClocks has read, no watched member having ended
// since. It is false when scan must look at a member more closely.
func (t *tree) settle(scratch *kernel.PIDStatm) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	settled := true
	for _, m := range t.members {
		switch {
		case m.stat.State == 'Z', !m.watched && m.noMemory(scratch):
			settled = false
		default:
			m.cpu = max(m.cpu, m.clock)
		}
	}
	return settled
}

// noMemory tells that a process has ended, or is about to.
func (m *member) noMemory(scratch *kernel.PIDStatm) bool {
	return m.proc.Statm(scratch) != nil || scratch.ResidentPages.Value == 0
}

// change counts the members' comings and goings.
func (t *tree) change() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changes
}

// read updates the member and tells whether it still exists.
func (m *member) read() bool {
	cpu := processCPU(m.proc.PID())
	if err := m.proc.Stat(&m.stat); err != nil {
		return false
	}
	if cpu < 0 {
		cpu = int64(m.stat.UserTicks+m.stat.SysTicks) * nanosPerTick
	}
	m.cpu = max(m.cpu, cpu)
	return true
}

// processCPU returns the CPU time of a process in ns, of all its threads, dead
// ones included, or -1. /proc/PID/stat has the same in ticks of 10 ms.
// The clock's number is made as clock_getcpuclockid(3) makes it. The kernel only
// adds up, so that Go's scheduler need not be told of the call.
func processCPU(pid int) int64 {
	const cpuclockSched = 2
	var ts unix.Timespec
	id := int32(^pid)<<3 | cpuclockSched
	if _, _, errno := unix.RawSyscall(unix.SYS_CLOCK_GETTIME, uintptr(id), uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		return -1
	}
	return ts.Nano()
}

// usage returns the CPU time since start, dead members included, the resident
// bytes and the number of the processes.
func (t *tree) usage(pageSize int64) (cpu, rss, procs int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	cpu = t.ended
	for _, m := range t.members {
		cpu += m.cpu
		if m.stat.State != 'Z' {
			rss += m.stat.RSSPages * pageSize
			procs++
		}
	}
	return cpu, rss, procs
}

// workers appends the living children of the first process that matters to dst.
func (t *tree) workers(dst []int) []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	parent := t.main
	if t.wrapped {
		if parent = t.childOf(t.main); parent > 0 {
			t.inner = parent
		}
	}
	for _, m := range t.members {
		if m.stat.PPID == parent && m.stat.State != 'Z' {
			dst = append(dst, m.proc.PID())
		}
	}
	return dst
}

// first returns the first process that matters, which may have ended.
func (t *tree) first() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.wrapped && t.inner > 0 {
		return t.inner
	}
	return t.main
}

// childOf returns a child of a process, -1 if it has none.
func (t *tree) childOf(pid int) int {
	for _, m := range t.members {
		if m.stat.PPID == pid {
			return m.proc.PID()
		}
	}
	return -1
}

// orphans appends the ended members that wait for the agent to reap them.
func (t *tree) orphans(agent int, dst []int) []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.members {
		if m.stat.State == 'Z' && m.stat.PPID == agent {
			dst = append(dst, m.proc.PID())
		}
	}
	return dst
}

func (t *tree) has(pid int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known[pid]
}

// claim adopts an orphan of unknown origin when it is in the session of one of
// the app's processes.
func (t *tree) claim(pid int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known[pid] {
		return true
	}
	if sid, err := unix.Getsid(pid); err != nil || sid != t.main && !t.known[sid] {
		return false
	}
	t.adopt(pid)
	return t.known[pid]
}

func (t *tree) empty() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.members) == 0
}

// identities returns pid and start of every member.
func (t *tree) identities() []identity {
	t.mu.Lock()
	defer t.mu.Unlock()
	ids := make([]identity, 0, len(t.members))
	for _, m := range t.members {
		ids = append(ids, identity{m.proc.PID(), m.proc.StartTicks()})
	}
	return ids
}

// living returns the pids of the members that have not ended.
func (t *tree) living() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	var pids []int
	for _, m := range t.members {
		if m.stat.State != 'Z' {
			pids = append(pids, m.proc.PID())
		}
	}
	return pids
}

// terminate sends SIGTERM to the app's process group, as a platform does.
func (t *tree) terminate() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.members {
		// While a member is in it, the group's number cannot be another's.
		if pgid, err := unix.Getpgid(m.proc.PID()); err == nil && pgid == t.main {
			_ = unix.Kill(-t.main, unix.SIGTERM)
			return
		}
	}
}

// kill sends SIGKILL to every member.
func (t *tree) kill() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.members {
		// A fresh reading makes sure that the pid is still the same process.
		if m.read() {
			_ = unix.Kill(m.proc.PID(), unix.SIGKILL)
		}
	}
}

// identity names a process for as long as the machine runs.
type identity struct {
	Pid   int    `json:"pid"`
	Start uint64 `json:"start_ticks"`
}

// same tells whether the process still lives; a zombie does not.
func (id identity) same(fs *kernel.FS) bool {
	p, err := fs.OpenProcess(id.Pid)
	if err != nil {
		return false
	}
	defer p.Close()
	var s kernel.PIDStat
	return p.StartTicks() == id.Start && p.Stat(&s) == nil && s.State != 'Z'
}

func (id identity) String() string { return fmt.Sprintf("pid %d", id.Pid) }

// name returns what a process calls itself, for messages.
func name(fs *kernel.FS, pid int) string {
	p, err := fs.OpenProcess(pid)
	if err != nil {
		return "unknown"
	}
	defer p.Close()
	var s kernel.PIDStat
	if err := p.Stat(&s); err != nil {
		return "unknown"
	}
	return s.Comm
}
