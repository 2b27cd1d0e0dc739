package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// kthreadd is the parent of all threads of the kernel itself. A process that
// only calls itself kswapd0 has another.
const kthreadd = 2

// kernelThreads lists the threads of the kernel itself. There are none to be
// seen in a pid namespace of one's own, whose second process is like any other.
func (f *FS) kernelThreads() ([]int, error) {
	parent, err := f.OpenProcess(kthreadd)
	if err != nil {
		return nil, fmt.Errorf("%w: no threads of the kernel can be seen: %w", ErrUnavailable, err)
	}
	defer parent.Close()
	if !parent.last.Kernel {
		return nil, fmt.Errorf("%w: no threads of the kernel can be seen", ErrUnavailable)
	}
	return parent.Children(nil)
}

// Kswapd follows the kernel's reclaim threads, one for each memory node. Their
// files are opened once and looked for again when one of them has gone, as with
// a memory node that was taken out.
type Kswapd struct {
	fs      *FS
	threads []kswapdThread
	gone    uint64 // ticks of threads that have gone
}

type kswapdThread struct {
	process *Process
	stat    PIDStat // the last reading
}

func (t *kswapdThread) ticks() uint64 { return t.stat.UserTicks + t.stat.SysTicks }

// Kswapd finds the reclaim threads. The error is [ErrUnavailable] where they
// cannot be seen, as in a pid namespace of one's own.
func (f *FS) Kswapd() (*Kswapd, error) {
	k := &Kswapd{fs: f}
	if err := k.find(); err != nil {
		return nil, err
	}
	return k, nil
}

// Ticks returns the CPU time that the threads have used since boot, in ticks
// of 1/[UserHz] s. Of a thread that has gone it is what was last read. The
// error is [ErrUnavailable] when there is none left.
func (k *Kswapd) Ticks() (uint64, error) {
	total, here := k.gone, 0
	for i := range k.threads {
		t := &k.threads[i]
		ticks := t.ticks()
		if err := t.process.Stat(&t.stat); err != nil {
			k.gone += ticks
			_ = t.process.Close()
			continue
		}
		total += t.ticks()
		k.threads[here], here = *t, here+1
	}
	if here > 0 && here == len(k.threads) {
		return total, nil
	}
	k.threads = k.threads[:here]
	return k.afterLoss()
}

// afterLoss looks for threads that have come since.
func (k *Kswapd) afterLoss() (uint64, error) {
	if err := k.find(); err != nil {
		return 0, err
	}
	total := k.gone
	for i := range k.threads {
		total += k.threads[i].ticks()
	}
	return total, nil
}

func (k *Kswapd) find() error {
	pids, err := k.fs.kernelThreads()
	if err != nil {
		return fmt.Errorf("kswapd: %w", err)
	}
	nodes := k.fs.memoryNodes()
	var buf [processBuffer]byte // the threads are many
	for _, pid := range pids {
		if nodes > 0 && len(k.threads) == nodes {
			break
		}
		if slices.ContainsFunc(k.threads, func(t kswapdThread) bool { return t.process.PID() == pid }) {
			continue
		}
		if name, err := k.fs.threadName(pid, buf[:]); err != nil || !isKswapd(name) {
			continue
		}
		p, err := k.fs.OpenProcess(pid)
		if err != nil {
			continue // it has ended meanwhile
		}
		t := kswapdThread{process: p}
		if err := p.Stat(&t.stat); err != nil {
			p.Close()
			continue
		}
		k.threads = append(k.threads, t)
	}
	if len(k.threads) == 0 {
		return fmt.Errorf("kswapd: %w: the kernel has no such thread", ErrUnavailable)
	}
	return nil
}

// threadName reads the name of a thread: from comm, which costs the kernel half of
// what stat does, or in a captured tree from between the parentheses of stat.
func (f *FS) threadName(pid int, buf []byte) ([]byte, error) {
	file, before, after := "/comm", "", "\n"
	if !f.live {
		file, before, after = "/stat", "(", ")"
	}
	h, err := f.at.open("proc/" + strconv.Itoa(pid) + file)
	if err != nil {
		return nil, err
	}
	n, err := unix.Pread(h.fd, buf, 0)
	_, rest, _ := bytes.Cut(buf[:max(n, 0)], []byte(before))
	name, _, _ := bytes.Cut(rest, []byte(after))
	return name, errors.Join(err, h.close())
}

// memoryNodes is how many nodes with memory there are, each of which has a
// thread; 0 if that is not told. The file holds numbers and ranges: "0-1,4".
//
// https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-devices-node
func (f *FS) memoryNodes() int {
	h, err := f.at.open("sys/devices/system/node/has_memory")
	if err != nil {
		return 0
	}
	defer h.close()
	var buf [processBuffer]byte
	n, err := unix.Pread(h.fd, buf[:], 0)
	if err != nil || n == len(buf) {
		return 0
	}
	nodes := 0
	for part := range strings.SplitSeq(strings.TrimSpace(string(buf[:n])), ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		from, err1 := strconv.Atoi(low)
		to, err2 := strconv.Atoi(high)
		if err1 != nil || err2 != nil || to < from {
			return 0
		}
		nodes += to - from + 1
	}
	return nodes
}

// isKswapd knows the name of the thread of a memory node: kswapd0 and so on.
func isKswapd(comm []byte) bool {
	node, ok := bytes.CutPrefix(comm, []byte("kswapd"))
	return ok && isNumber(node)
}

// Close closes the threads' files. A nil Kswapd has none.
func (k *Kswapd) Close() error {
	if k == nil {
		return nil
	}
	var err error
	for _, t := range k.threads {
		err = errors.Join(err, t.process.Close())
	}
	k.threads = k.threads[:0]
	return err
}
