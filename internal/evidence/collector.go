//go:build linux

package evidence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"brink/internal/kernel"
)

// Collect writes a bundle with the evidence of this machine to w: the files of
// the kernel that [Live] reads, as they stand there, at each reading, and what
// was seen of the servers. There is nothing of any process's environment in it,
// no command line but the names of servers, and no more of the kernel's log
// than its reports of killed and hung tasks. When ctx ends the bundle is
// finished with what there is.
func Collect(ctx context.Context, w io.Writer, o CollectOptions) (CollectSummary, error) {
	o.complete()
	var t *trigger
	if o.Trigger != "" {
		var err error
		if t, err = parseTrigger(o.Trigger); err != nil {
			return CollectSummary{}, err
		}
	}
	l, err := openLive(o.Clock)
	if err != nil {
		return CollectSummary{}, err
	}
	defer l.close()
	c := &collector{live: l, o: o, trigger: t, read: map[string]bool{}}
	if err := c.collect(ctx); err != nil {
		return CollectSummary{}, err
	}
	return c.write(w)
}

type collector struct {
	*live
	o         CollectOptions
	trigger   *trigger
	ring      ring
	before    *Reading // the latest, for the trigger
	triggered time.Time
	cut       bool
	names     []string // of the kernel's files to copy
	kswapds   []int
	read      map[string]bool // of the files to copy, those with contents
}

// collect takes readings until the time is up; with a trigger, the time begins
// when it holds.
func (c *collector) collect(ctx context.Context) error {
	c.look()
	c.findCgroups()
	c.listFiles()
	// A collector runs for long and goes on looking for new servers.
	end := c.clock.Now().Add(c.o.For)
	for i := 0; ; i++ {
		now := c.clock.Now()
		least := time.Time{}
		if c.trigger != nil && c.triggered.IsZero() {
			least = now.Add(-c.o.Before)
		}
		if err := c.reading(now, least); err != nil {
			return err
		}
		if err := c.judge(i == 0); err != nil {
			return err
		}
		if c.trigger != nil && c.triggered.IsZero() {
			end = now.Add(c.o.For + c.o.Every)
		} else if c.triggered.Equal(now) {
			end = now.Add(c.o.For)
		}
		if !now.Before(end) {
			return nil
		}
		wait := min(c.o.Every, max(end.Sub(c.clock.Now()), 0))
		if err := c.lookUntil(ctx, c.clock.Now().Add(wait), end); err != nil {
			c.cut = true
			return c.lastReading(now, least)
		}
	}
}

// lookUntil looks at the servers until the next reading is due, as often as
// [Live] does. The looks before the end ask what the workers wait on.
func (c *collector) lookUntil(ctx context.Context, next, end time.Time) error {
	_, every := (&Options{For: c.o.For}).looks()
	for {
		left := next.Sub(c.clock.Now())
		if left <= 0 {
			return ctx.Err()
		}
		if err := c.clock.Sleep(ctx, min(every, left)); err != nil {
			return err
		}
		if c.gauge != nil && !c.clock.Now().Add(every).Before(end) {
			c.gauge.AskWaits()
		}
		c.look()
	}
}

// lastReading takes a reading where the time was cut short, for rates need two.
func (c *collector) lastReading(before, least time.Time) error {
	now := c.clock.Now()
	if now.Sub(before) < leastEvery {
		return nil
	}
	if c.gauge != nil {
		c.gauge.AskWaits()
	}
	c.look()
	return c.reading(now, least)
}

// judge looks whether the trigger's condition holds.
func (c *collector) judge(first bool) error {
	if c.trigger == nil || !c.triggered.IsZero() {
		return nil
	}
	r := &Reading{At: c.clock.Now(), AtFrom: Source{File: "this machine's clock"}, View: ViewMachine}
	c.tree.readMachine(r, c.before)
	if first {
		if err := c.trigger.blind(r); err != nil {
			return err
		}
	}
	yes, err := c.trigger.holds(c.before, r)
	c.before = r
	if err != nil || !yes {
		return err
	}
	c.triggered = c.ring.readings[len(c.ring.readings)-1].at
	c.pools.restart()
	if c.o.Triggered != nil {
		c.o.Triggered(c.triggered)
	}
	return nil
}

// machineFiles are the kernel's files that are copied in each reading.
var machineFiles = []string{
	"proc/uptime", "proc/meminfo", "proc/vmstat", "proc/stat", "proc/loadavg", "proc/swaps", "proc/diskstats", "proc/cgroups",
	"proc/pressure/cpu", "proc/pressure/memory", "proc/pressure/io", "proc/pressure/irq", "proc/net/netstat", "proc/net/snmp",
	arcstatsFile, "proc/sys/vm/overcommit_memory", "proc/sys/vm/swappiness", "proc/sys/vm/watermark_scale_factor",
	"proc/sys/net/core/somaxconn", "proc/sys/kernel/osrelease", "proc/sys/kernel/hostname", "sys/fs/cgroup/cgroup.controllers",
}

var cgroupFiles = strings.Fields(`memory.current memory.peak memory.max memory.high memory.swap.current memory.swap.max memory.events
	memory.events.local memory.stat memory.usage_in_bytes memory.limit_in_bytes memory.max_usage_in_bytes memory.failcnt
	memory.oom_control cpu.stat cpu.max cpu.cfs_quota_us cpu.cfs_period_us cpuacct.usage cpuacct.stat
	memory.pressure cpu.pressure io.pressure`)

// listFiles finds out which of the files are there, once.
func (c *collector) listFiles() {
	seen := map[string]bool{}
	add := func(name string) {
		if _, err := os.Stat("/" + name); err == nil && !seen[name] {
			seen[name] = true
			c.names = append(c.names, name)
		}
	}
	for _, name := range machineFiles {
		add(name)
	}
	for _, g := range c.cgroups {
		for _, dir := range g.c.Dirs() {
			for _, name := range cgroupFiles {
				add(dir + "/" + name)
			}
		}
	}
	c.findKswapds()
}

// unreadFiles lists what every kernel has and was never read: /proc may be
// masked.
func (c *collector) unreadFiles() {
	for _, f := range []struct {
		what Signal
		name string
	}{{HasMeminfo, "proc/meminfo"}, {HasVmstat, "proc/vmstat"}, {HasCPURate, "proc/stat"}, {HasLoad, "proc/loadavg"}} {
		if c.read[f.name] {
			continue
		}
		from := Source{File: "/" + f.name}
		if _, err := smallFile(f.name); err != nil {
			c.b.gap(f.what, reasonFor(err), err.Error(), from)
		} else {
			c.b.gap(f.what, Unreadable, "it is empty", from)
		}
	}
}

// findKswapds lists the kernel's reclaim threads and their parent.
func (c *collector) findKswapds() {
	const kthreadd = 2
	p, err := c.tree.fs.OpenProcess(kthreadd)
	if err != nil {
		return
	}
	defer p.Close()
	kids, err := p.Children(nil)
	if err != nil {
		return
	}
	for _, pid := range kids {
		text, err := smallFile("proc/" + strconv.Itoa(pid) + "/comm")
		if err == nil && strings.HasPrefix(text, "kswapd") {
			c.kswapds = append(c.kswapds, pid)
		}
	}
	if len(c.kswapds) > 0 {
		c.kswapds = append(c.kswapds, kthreadd)
	}
}

// reading copies the files into the ring.
func (c *collector) reading(at, least time.Time) error {
	var files []rawFile
	var denied []string
	add := func(name string) {
		text, err := smallFile(name)
		switch {
		case err == nil && text != "":
			files = append(files, rawFile{name, []byte(c.redact(name, text))})
			c.read[name] = true
		case errors.Is(err, os.ErrPermission):
			denied = append(denied, name)
		}
	}
	for _, name := range c.names {
		add(name)
	}
	for _, pid := range c.kswapds {
		add("proc/" + strconv.Itoa(pid) + "/stat")
	}
	for _, pid := range c.pools.pids() {
		add("proc/" + strconv.Itoa(pid) + "/schedstat")
		add("proc/" + strconv.Itoa(pid) + "/stat")
	}
	if sockets, ok := c.listening(); ok {
		files = append(files, rawFile{"ss.txt", ssText(sockets, c.pools.unixSockets())})
	}
	meta, err := json.Marshal(c.meta(at, denied))
	if err != nil {
		return fmt.Errorf("describing a reading: %w", err)
	}
	files = append(files, rawFile{metaFile, append(meta, '\n')})
	return c.ring.add(at, files, least)
}

// redact takes the machine's name out. Process names in stat files stay: they
// are at most 15 characters that the program chose.
func (c *collector) redact(name, text string) string {
	if name == "proc/sys/kernel/hostname" && !c.o.KeepHost {
		return c.o.Host + "\n"
	}
	return text
}

func (c *collector) meta(at time.Time, denied []string) readingMeta {
	m := readingMeta{Kind: metaMagic, At: at.UTC(), Root: os.Geteuid() == 0, Container: c.container == Yes, View: ViewMachine, PageBytes: os.Getpagesize(), Denied: denied}
	if m.Container {
		m.View = ViewHost
	}
	if c.lxcfs {
		m.View = ViewMixed
	}
	for _, g := range c.cgroups {
		if g.own {
			m.Own = g.path
		}
	}
	return m
}

// ssText writes listeners as "ss -ltn" and "ss -lxn" do. The path of a unix socket
// that would be more than one column is left to case.json.
func ssText(sockets []kernel.ListenSocket, unix []Listener) []byte {
	var out strings.Builder
	out.WriteString("State  Recv-Q Send-Q Local Address:Port Peer Address:Port\n")
	for _, s := range sockets {
		fmt.Fprintf(&out, "LISTEN %d %s %s *:*\n", s.Queue, strings.Replace(s.Backlog.String(), "unknown", "-", 1), s.Local)
	}
	for i := range unix {
		if u := &unix[i]; u.Backlog.Known && strings.HasPrefix(u.Address, "/") && !strings.ContainsAny(u.Address, " \t\r\n\v\f") {
			fmt.Fprintf(&out, "LISTEN %.0f %.0f %s *\n", u.Queue.Number, u.Backlog.Number, u.Address)
		}
	}
	return []byte(out.String())
}

// write writes the bundle.
func (c *collector) write(w io.Writer) (CollectSummary, error) {
	s := CollectSummary{Readings: len(c.ring.readings), Dropped: c.ring.dropped, Triggered: c.triggered, Interrupted: c.cut}
	s.From, s.To = c.ring.readings[0].at, c.ring.readings[s.Readings-1].at
	out := newBundleWriter(w)
	pools := c.seenPools()
	s.Servers = len(pools)
	if log, _, err := kernelMessages(); err != nil {
		c.b.gap(HasKernelLog, reasonFor(err), err.Error(), Source{File: "/dev/kmsg"})
	} else if err := out.file("kernel.log", s.To, kernelLog(log)); err != nil {
		return s, err
	}
	c.unreadFiles()
	s.Gaps = c.b.c.Gaps
	about := bundleCase{Bundle: bundleVersion, Brink: c.o.Brink, Began: s.From.UTC(), Ended: s.To.UTC(), Trigger: c.o.Trigger,
		Triggered: c.triggered, Dropped: c.ring.dropped, Pools: pools, Gaps: s.Gaps}
	if err := out.json(bundleFile, s.To, about); err != nil {
		return s, err
	}
	if err := out.readings(&c.ring); err != nil {
		return s, err
	}
	return s, out.close()
}

// kernelLog keeps the lines about killed and hung tasks. A log without any
// still says that the kernel's log was read. The machine's name has no place in
// such a line, and a word of it that reads the same is the kernel's own, or the
// name of a program or cgroup.
func kernelLog(events []kernelMessage) []byte {
	var out strings.Builder
	out.WriteString("[    0.000000] the kernel's log was read; its lines about killed and hung tasks follow\n")
	for i := range events {
		out.WriteString(redactText(events[i].stamped()))
		out.WriteByte('\n')
	}
	return []byte(out.String())
}
