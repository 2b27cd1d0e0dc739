//go:build linux

package evidence

import (
	"cmp"
	"slices"

	"brink/internal/gauge"
	"brink/internal/kernel"
)

// workerLooks follows the worker processes of a server over the looks.
type workerLooks struct {
	first, last []workerProcess // by start
	looked      bool
	replaced    int
	least, most float64 // s, of those whose place another took
}

// workerProcess is one of them; a pid that is used again has another start.
type workerProcess struct {
	start uint64 // ticks since boot
	pid   int
}

// take takes in a look. Those that ended and those that began since the look
// before are matched in the order of their starts: a master fills the place of a
// worker within a second or so, so that the difference of their starts is how long
// the first lived.
func (w *workerLooks) take(processes []gauge.Process) {
	var now []workerProcess
	for i := range processes {
		if q := &processes[i]; !q.Master && q.StartTicks > 0 {
			now = append(now, workerProcess{q.StartTicks, q.PID})
		}
	}
	slices.SortFunc(now, func(a, b workerProcess) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.pid, b.pid))
	})
	if !w.looked {
		w.looked, w.first, w.last = true, now, now
		return
	}
	ended, begun := without(w.last, now), without(now, w.last)
	for i := range min(len(ended), len(begun)) {
		if begun[i].start < ended[i].start {
			continue
		}
		lived := float64(begun[i].start-ended[i].start) / kernel.UserHz
		if w.replaced == 0 {
			w.least, w.most = lived, lived
		}
		w.replaced++
		w.least, w.most = min(w.least, lived), max(w.most, lived)
	}
	w.last = now
}

// without lists those of a that are not in b.
func without(a, b []workerProcess) []workerProcess {
	var list []workerProcess
	for _, p := range a {
		if !slices.Contains(b, p) {
			list = append(list, p)
		}
	}
	return list
}

// tell gives a pool what the looks have shown.
func (w *workerLooks) tell(p *Pool) {
	none := Missing(CannotTell, "no worker's place was taken by another between the looks", p.From)
	p.LivedLeast, p.LivedMost = none, none
	if len(w.first) == 0 {
		p.Replaced, p.Stayed = none, none
		return
	}
	p.Replaced = Known(float64(w.replaced), Events, p.From)
	p.Stayed = Known(float64(len(w.first)-len(without(w.first, w.last))), Events, p.From)
	if w.replaced > 0 {
		p.LivedLeast, p.LivedMost = Known(w.least, Seconds, p.From), Known(w.most, Seconds, p.From)
	}
}
