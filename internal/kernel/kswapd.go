package kernel

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
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
	for _, pid := range pids {
		if slices.ContainsFunc(k.threads, func(t kswapdThread) bool { return t.process.PID() == pid }) {
			continue
		}
		stat := part[PIDStat]{name: "proc/" + strconv.Itoa(pid) + "/stat", parse: parsePIDStat, single: true, short: true}
		if s, err := once(newReader(k.fs.at, "", stat)); err != nil || !isKswapd(s.Comm) {
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

// isKswapd knows the name of the thread of a memory node: kswapd0 and so on.
func isKswapd(comm string) bool {
	node, ok := strings.CutPrefix(comm, "kswapd")
	return ok && isNumber([]byte(node))
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
