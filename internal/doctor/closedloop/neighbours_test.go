//go:build linux

package closedloop

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"brink/internal/doctor"
	"brink/internal/evidence"
)

const (
	// othersTake and leavesIdle are in percent of all CPU time. Where others took
	// as much and no more was left idle, the test's servers had to wait for a CPU:
	// they are then not at the utilisation that is asked for, and what doctor says
	// of them may be right.
	othersTake = 25
	leavesIdle = 25
	// glance is how far apart the CPUs are looked at.
	glance = 500 * time.Millisecond
	// lingers is how long such a moment still shows: four workers at 0.8 take five
	// seconds to work off what one second has left them.
	lingers = 10 * time.Second
	// pause comes before a window is taken again for such a moment, which all
	// tests together do mostReplaced times: five minutes and the windows.
	pause        = 3 * time.Second
	mostReplaced = 100
)

// neighbours are those who share the machine with the test: other programs, and
// other machines on its host. They may make a healthy server unhealthy, and have
// servers of their own that are.
type neighbours struct {
	mu       sync.Mutex
	crowded  time.Time // the latest moment that they left too little
	most     float64   // of all CPU time that they took, %
	replaced int
	own      map[int]bool // processes that are or were the test's
	fault    error
}

// theNeighbours watches them as long as tests run.
var theNeighbours = sync.OnceValue(func() *neighbours {
	n := &neighbours{own: map[int]bool{}}
	go n.watch()
	return n
})

func (n *neighbours) watch() {
	before, err := n.readCPUTime()
	for err == nil {
		time.Sleep(glance)
		var now cpuTime
		if now, err = n.readCPUTime(); err != nil {
			break
		}
		others, idle := now.since(before)
		before = now
		n.mu.Lock()
		n.most = max(n.most, others)
		if others >= othersTake && idle <= leavesIdle {
			n.crowded = time.Now()
		}
		n.mu.Unlock()
	}
	n.mu.Lock()
	n.fault = err
	n.mu.Unlock()
}

// crowd reports whether they have left the test too little a moment ago.
func (n *neighbours) crowd(t testing.TB) bool {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fault != nil {
		t.Fatal(n.fault)
	}
	return time.Since(n.crowded) < lingers
}

// look has doctor look at this machine until a window is fine, or is not though
// the neighbours left room: that one counts.
func (n *neighbours) look(t testing.TB, window time.Duration, fine func(*doctor.Report) bool) *doctor.Report {
	t.Helper()
	for {
		c := look(t, window)
		r := doctor.Diagnose(c)
		n.leaveOut(t, c, r)
		if fine(r) || !n.crowd(t) {
			return r
		}
		t.Logf("taken again, for what others do on this machine: %s", r.Summary)
		n.wait(t)
	}
}

// look takes what is to be seen of this machine.
func look(t testing.TB, window time.Duration) *evidence.Case {
	t.Helper()
	c, err := evidence.Live(t.Context(), evidence.Options{For: window})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// wait gives them time before a window is taken again.
func (n *neighbours) wait(t testing.TB) {
	t.Helper()
	n.mu.Lock()
	n.replaced++
	tooOften := n.replaced > mostReplaced
	n.mu.Unlock()
	if tooOften {
		t.Fatalf("on this machine nothing can be told now: %s", n)
	}
	time.Sleep(pause)
}

// String says what there was of them.
func (n *neighbours) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return fmt.Sprintf("others took up to %.0f %% of all CPU time; %d windows were taken again for it", n.most, n.replaced)
}

// leaveOut takes out of a report what it says of servers and processes that are
// not the test's: it may be true.
func (n *neighbours) leaveOut(t testing.TB, c *evidence.Case, r *doctor.Report) {
	t.Helper()
	own := func(pid int) bool { n.mu.Lock(); defer n.mu.Unlock(); return n.own[pid] }
	if _, err := n.readCPUTime(); err != nil { // for those that came just now
		t.Fatal(err)
	}
	var theirs []string
	for i := range c.Pools {
		for j := range c.Pools[i].Sockets {
			if p := &c.Pools[i]; p.PID != 0 && !own(p.PID) {
				theirs = append(theirs, p.Sockets[j].Address)
			}
		}
	}
	of := func(text string) bool {
		return slices.ContainsFunc(theirs, func(address string) bool { return strings.Contains(text, address) })
	}
	killed := slices.ContainsFunc(c.Events, func(e evidence.Event) bool {
		return e.Kind == evidence.OOMKill && (e.PID == 0 || own(e.PID))
	})
	before := len(r.Findings) + len(r.Unsure)
	r.Findings = slices.DeleteFunc(r.Findings, func(f doctor.Finding) bool {
		return of(f.Subject) || of(f.What) || f.Mode == doctor.OOMKill && f.Subject == "" && !killed
	})
	r.Unsure = slices.DeleteFunc(r.Unsure, func(u doctor.Check) bool { return of(u.Text) })
	if left := len(r.Findings) + len(r.Unsure); left == 0 && before > 0 && len(r.Good) > 0 {
		r.Verdict = doctor.Healthy
	}
}

// cpuTime is CPU time so far, in s: of all CPUs, idle, and of the test with all
// that it has started.
type cpuTime struct{ all, idle, own float64 }

// since is what others used since then, stolen time with it, and what was idle,
// in percent of all.
func (c cpuTime) since(before cpuTime) (others, idle float64) {
	all := c.all - before.all
	if all <= 0 || c.own < before.own { // a process of the test's has gone to another parent
		return 0, 100
	}
	left := c.idle - before.idle
	return 100 * (all - left - (c.own - before.own)) / all, 100 * left / all
}

func (n *neighbours) readCPUTime() (c cpuTime, err error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return c, err
	}
	stat, err := fs.Stat()
	if err != nil {
		return c, err
	}
	s := stat.CPUTotal
	c.idle = s.Idle + s.Iowait
	c.all = c.idle + s.User + s.Nice + s.System + s.IRQ + s.SoftIRQ + s.Steal
	ours, err := ownProcesses()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range ours {
		n.own[p.PID] = true
		c.own += float64(p.UTime+p.STime) + float64(p.CUTime+p.CSTime)
	}
	c.own /= userHZ
	return c, err
}

// userHZ is how many ticks a second has in /proc/PID/stat, on every Linux that
// Go runs on (proc_pid_stat(5)).
const userHZ = 100

// ownProcesses are the test's process and all that descend from it.
func ownProcesses() ([]procfs.ProcStat, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil, err
	}
	children := map[int][]procfs.ProcStat{}
	var own []procfs.ProcStat
	for _, p := range all {
		s, err := p.Stat()
		switch {
		case err != nil: // it has ended
		case s.PID == os.Getpid():
			own = append(own, s)
		default:
			children[s.PPID] = append(children[s.PPID], s)
		}
	}
	for i := 0; i < len(own); i++ {
		own = append(own, children[own[i].PID]...)
	}
	return own, nil
}
