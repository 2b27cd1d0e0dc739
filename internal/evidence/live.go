//go:build linux

package evidence

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"brink/internal/clock"
	"brink/internal/gauge"
	"brink/internal/kernel"
)

// Live looks at this machine twice and at its servers in between. It starts
// nothing, sends nothing, and needs no rights: what this user may not read is
// listed in the case. Once anything waits for memory, pages that it touches stay
// there where this user may lock them, so that it answers while the machine
// thrashes.
//
// In a container it sees what the container shows: the host's /proc, its own
// cgroup.
func Live(ctx context.Context, o Options) (*Case, error) {
	o.complete()
	if o.Root != "/" {
		return Read(ctx, o.Root)
	}
	l, err := openLive(o.Clock)
	if err != nil {
		return nil, err
	}
	defer l.close()
	if err := l.watch(ctx, o); err != nil {
		return nil, err
	}
	return l.result()
}

// live is a look at this machine.
type live struct {
	b       *builder
	tree    *tree
	clock   clock.Clock
	gauge   *gauge.Gauge
	diag    *kernel.SockDiag // where the gauge has none; noDiag: nor have we
	noDiag  bool
	cgroups []liveCgroup
	// seenCgroups are the contents of /proc/PID/cgroup that were met, with the
	// path that they mean; cgroupOf are the paths by server.
	seenCgroups map[string]string
	cgroupOf    map[int]string
	kswapd      *kernel.Kswapd
	pages       pageLock
	container   Tri
	lxcfs       bool
	pools       pools
	workers     map[int]*kernel.Process // whose scheduling is read
}

type liveCgroup struct {
	c      *kernel.Cgroup
	path   string
	own    bool
	server string
}

func openLive(c clock.Clock) (*live, error) {
	l := &live{b: newBuilder(), clock: c, seenCgroups: map[string]string{}, cgroupOf: map[int]string{}, workers: map[int]*kernel.Process{}}
	fs, err := kernel.Open("/")
	if err != nil {
		return nil, fmt.Errorf("looking at this machine: %w", err)
	}
	l.tree = &tree{fs: fs, live: true, text: smallFile}
	l.pages.open(fs)
	l.b.c.Readings = make([]Reading, 0, 2)
	if l.gauge, err = gauge.New(gauge.Config{Brief: true, Unowned: true}); err != nil {
		l.b.gap(HasPools, reasonFor(err), err.Error(), Source{File: "sock_diag"})
	}
	l.kswapd, _ = fs.Kswapd() // in a container there is none to be seen
	l.container, l.lxcfs = l.inContainer(), onLxcfs()
	return l, nil
}

func (l *live) close() {
	if l.gauge != nil {
		_ = l.gauge.Close()
	}
	if l.diag != nil {
		_ = l.diag.Close()
	}
	_ = l.kswapd.Close()
	_ = l.pages.pressure.Close()
	for _, p := range l.workers {
		_ = p.Close()
	}
	_ = l.tree.fs.Close()
}

// watch takes the first reading, looks at the servers until the time is up, and
// takes the second.
func (l *live) watch(ctx context.Context, o Options) error {
	l.look()
	l.followServers()
	l.findCgroups()
	l.take("t0")
	looks, every := o.looks()
	end := l.clock.Now().Add(o.For)
	for i := 1; ; i++ {
		left := end.Sub(l.clock.Now())
		if left <= 0 {
			break
		}
		if err := l.clock.Sleep(ctx, min(every, left)); err != nil {
			return fmt.Errorf("looking at this machine: %w", err)
		}
		if l.gauge != nil && i >= looks-1 {
			l.gauge.AskWaits() // which is asked once
		}
		l.look()
	}
	l.take("t1")
	return nil
}

// followServers keeps the gauge to the servers that the first look has found:
// looking through all processes again would cost more than the readings.
func (l *live) followServers() {
	if l.gauge != nil {
		l.gauge.Follow(l.pools.apps())
	}
}

// look looks at the servers.
func (l *live) look() {
	l.pages.look()
	if l.gauge == nil {
		return
	}
	snap, err := l.gauge.Sample(l.clock.Now())
	if err != nil {
		l.b.gap(HasPools, reasonFor(err), err.Error(), Source{File: "sock_diag"})
		return
	}
	l.pools.add(snap)
}

// take takes a reading.
func (l *live) take(name string) {
	before := l.b.c.Last()
	l.b.c.Readings = l.b.c.Readings[:len(l.b.c.Readings)+1] // in its place: each is large
	r := l.b.c.Last()
	r.Name, r.At, r.AtFrom, r.View = name, l.clock.Now(), Source{File: "this machine's clock"}, ViewMachine
	l.tree.readMachine(r, before)
	l.takeListeners(r)
	r.Listeners = append(r.Listeners, l.pools.unixSockets()...)
	l.tree.readSched(r, l.pools.pids(), l.workers)
	l.takeKswapd(r)
	r.Cgroups = slices.Grow(r.Cgroups, len(l.cgroups))[:len(l.cgroups)]
	for i, g := range l.cgroups {
		one := &r.Cgroups[i]
		one.Path, one.Own, one.Server = g.path, g.own, g.server
		l.tree.readCgroup(one, g.c)
	}
	r.Machine.Root = triOf(os.Geteuid() == 0)
	r.Machine.InContainer = l.container
	if r.Machine.InContainer == Yes && r.View == ViewMachine {
		r.View = ViewHost
	}
	if l.lxcfs && r.View != ViewMixed {
		r.View = ViewMixed
	}
}

func (l *live) takeListeners(r *Reading) {
	sockets, ok := l.listening()
	if !ok {
		l.tree.readTables(r)
		return
	}
	for i := range sockets {
		r.Listeners = append(r.Listeners, listenerOf(&sockets[i]))
	}
	slices.SortStableFunc(r.Listeners, func(a, b Listener) int { return strings.Compare(a.Address, b.Address) })
}

// listening lists the listening sockets: those that the gauge has just listed, if it
// could.
func (l *live) listening() (sockets []kernel.ListenSocket, ok bool) {
	if l.gauge != nil {
		if sockets, ok = l.gauge.Listening(); ok {
			return sockets, true
		}
	}
	var err error
	if l.diag == nil && !l.noDiag {
		if l.diag, err = kernel.DialSockDiag(); err != nil {
			l.noDiag = true
			l.b.gap(HasListeners, reasonFor(err), err.Error(), Source{File: "sock_diag"})
		}
	}
	if l.diag == nil {
		return nil, false
	}
	sockets, err = l.diag.ListenSockets(nil)
	return sockets, err == nil
}

func listenerOf(s *kernel.ListenSocket) Listener {
	o := &origin{file: "sock_diag"}
	address := s.Local.String()
	return Listener{
		Address: address, Port: int(s.Local.Port()),
		Queue:   Known(float64(s.Queue), Events, Source{File: "sock_diag", Field: "idiag_rqueue " + address}),
		Backlog: o.value(s.Backlog, "idiag_wqueue "+address, Events), Drops: o.value(s.Drops, "sk_drops "+address, Events),
	}
}

func (l *live) takeKswapd(r *Reading) {
	from := Source{File: "/proc/<kswapd>/stat", Field: "utime+stime"}
	r.KswapdTime = Missing(Denied, "the kernel's threads cannot be seen from here", from)
	if l.kswapd == nil {
		return
	}
	if ticks, err := l.kswapd.Ticks(); err == nil {
		r.KswapdTime = Known(float64(ticks)/kernel.UserHz, Seconds, from)
	}
}

// inContainer tells a container by the marks that runtimes leave. The kernel's
// own threads, of which pid 2 is the parent, are not visible in a pid namespace
// of one's own.
func (l *live) inContainer() Tri {
	if l.kswapd != nil {
		return No
	}
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(mark); err == nil {
			return Yes
		}
	}
	for _, name := range []string{"KUBERNETES_SERVICE_HOST", "WEBSITE_INSTANCE_ID", "CONTAINER_APP_NAME", "container"} {
		if os.Getenv(name) != "" {
			return Yes
		}
	}
	return Unsure
}

// onLxcfs says that meminfo is a file of lxcfs. Where it is one of proc there is
// no need to look through the mounts.
func onLxcfs() bool {
	var file, proc unix.Stat_t
	if unix.Stat("/proc/meminfo", &file) == nil && unix.Stat("/proc", &proc) == nil && file.Dev == proc.Dev {
		return false
	}
	text, err := smallFile("proc/self/mountinfo")
	return err == nil && strings.Contains(text, "/proc/meminfo") && strings.Contains(text, "lxcfs")
}

// result puts the case together.
func (l *live) result() (*Case, error) {
	b := l.b
	b.c.Inputs = append(b.c.Inputs, Input{File: "/", As: "this machine, live"})
	b.c.Gaps = append(b.c.Gaps, l.tree.gaps...)
	b.c.Pools = l.seenPools()
	l.readKernelLog()
	judgeFrozen(b.c.Readings)
	return b.finish()
}

// seenPools returns the pools with the cgroups that they are in, and notes the
// sockets whose processes cannot be looked at.
func (l *live) seenPools() []Pool {
	pools, hidden := l.pools.pools(), 0
	for i := range pools {
		pools[i].Cgroup = l.cgroupOf[pools[i].PID]
		if pools[i].PID == 0 {
			hidden++
		}
	}
	if hidden > 0 {
		l.b.gap(HasPools, Denied, fmt.Sprintf("the processes behind %s may not be looked at from here", listeningSockets(hidden)), Source{File: "/proc"})
	}
	return pools
}

// readKernelLog reads what the kernel has logged since boot, as far as its
// buffer goes.
func (l *live) readKernelLog() {
	events, lines, err := kernelMessages()
	from := Source{File: "/dev/kmsg"}
	if err != nil {
		l.b.gap(HasKernelLog, reasonFor(err), "without it an OOM kill cannot be proven: "+err.Error(), from)
		return
	}
	r := l.b.newLog("/dev/kmsg")
	r.log.As, r.log.Origin, r.origin = "kernel log", FromKernel, FromKernel
	l.b.c.Events = slices.Grow(l.b.c.Events, len(events))
	for i := range events {
		r.kernelLine(&events[i])
	}
	r.log.Lines = lines
	r.close()
	l.b.c.Inputs = append(l.b.c.Inputs, Input{File: "/dev/kmsg", As: "kernel log"})
}

func reasonFor(err error) Reason {
	switch {
	case errors.Is(err, os.ErrPermission):
		return Denied
	case errors.Is(err, kernel.ErrUnavailable), errors.Is(err, os.ErrNotExist):
		return Absent
	}
	return Unreadable
}

func listeningSockets(n int) string {
	if n == 1 {
		return "1 listening socket"
	}
	return fmt.Sprintf("%d listening sockets", n)
}
