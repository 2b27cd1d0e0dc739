package doctor

import (
	"time"

	"brink/internal/evidence"
)

// longUp is in seconds: where the evidence does not tell when it was read, a machine
// that has run for so long had booted before its last kills. A guess.
const longUp = 86400

// noneCounted is the kernel's own count of OOM kills, of all cgroups and the machine,
// if it is 0 over a time in which all of some events lie, with that time: since the
// boot, or between two readings. Otherwise it is missing. Kernels count so from 4.13
// on; no restart of a container sets it back.
//
// count_vm_event(OOM_KILL) in mm/oom_kill.c
func (l *look) noneCounted(kills []*evidence.Event) (none evidence.Value, since string) {
	get := vmstat(func(v *evidence.Vmstat) evidence.Value { return v.OOMKill })
	missing := evidence.Missing(evidence.NotSeen, "the kernel counts some, or does not tell")
	from, to := stretch(kills)
	if s, ok := l.Span(); ok && !from.IsZero() && !s.From.At.IsZero() && !from.Before(s.From.At) && !s.To.At.Before(to) {
		if n := l.Delta(get); n.AtMost(0) {
			return n, "between the readings"
		}
	}
	r := l.Last()
	count := l.Latest(get)
	if r == nil || !count.AtMost(0) || l.view() == evidence.ViewMixed {
		return missing, ""
	}
	up := r.Machine.Uptime
	booted := r.At.Add(-time.Duration(up.Number * float64(time.Second)))
	if !up.Known || r.At.IsZero() && !up.AtLeast(longUp) || !r.At.IsZero() && !from.IsZero() && (booted.After(from) || r.At.Before(to)) {
		return missing, ""
	}
	return count, "since the machine booted"
}
