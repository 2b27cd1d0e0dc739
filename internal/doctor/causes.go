package doctor

import (
	"slices"
	"strings"
)

// explains says which modes a mode can be the cause of. It follows the
// mechanism, not how often two are seen together:
//
//   - memory that nobody sees is gone as surely as memory that is used;
//   - a machine short of memory makes every start slow, and starts that do not
//     end in time are repeated; it holds workers, loops and queues up as well;
//   - a quota or a full CPU does the same, without memory;
//   - a worker that is killed leaves requests without one;
//   - when all workers are held, their queue fills.
//
// There is no way round in a circle, so that every finding has a first cause.
var explains = map[Mode][]Mode{
	StrictOvercommit: {CrashLoop, FailedStart, RestartCascade},
	HiddenMemory:     {MemoryPressure, SwapThrash, FileThrash, OOMKill},
	CPUThrottling: {CPUContention, SlowStart, FailedStart, BootTimeoutLoop, CrashLoop, RestartCascade, EventLoopBlocked,
		WorkerExhaustion, WorkerTimeout, AcceptQueueFilled},
	SwapThrash: {FileThrash, MemoryPressure, MemoryPlateau, CapacityCliff, CPUContention, OOMKill, SlowStart, BootTimeoutLoop, FailedStart, RestartCascade,
		CrashLoop, EventLoopBlocked, WorkerExhaustion, WorkerTimeout, AcceptQueueFilled},
	FileThrash: {MemoryPressure, CapacityCliff, CPUContention, OOMKill, SlowStart, BootTimeoutLoop, FailedStart, RestartCascade,
		CrashLoop, EventLoopBlocked, WorkerExhaustion, WorkerTimeout, AcceptQueueFilled},
	MemoryPressure: {MemoryPlateau, CapacityCliff, OOMKill, SlowStart, BootTimeoutLoop, RestartCascade, WorkerTimeout},
	CapacityCliff:  {MemoryPlateau, SlowStart, FailedStart, RestartCascade},
	MemoryPlateau:  {SlowStart},
	CPUContention:  {SlowStart, BootTimeoutLoop, EventLoopBlocked, WorkerExhaustion, WorkerTimeout, AcceptQueueFilled},
	OOMKill:        {CrashLoop, RestartCascade, WorkerExhaustion, FailedStart},
	BootTimeoutLoop: {SlowStart, FailedStart, RestartCascade, CrashLoop, WorkerTimeout, WorkerExhaustion,
		AcceptQueueFilled},
	FailedStart:      {CrashLoop, SlowStart},
	SlowStart:        {},
	RestartCascade:   {CrashLoop, FailedStart, SlowStart},
	EventLoopBlocked: {CrashLoop, AcceptQueueFilled, WorkerTimeout},
	WorkerExhaustion: {CrashLoop, EventLoopBlocked, AcceptQueueFilled, WorkerTimeout},
}

// inCausalOrder puts causes before what they explain, and each cause's
// consequences behind it. Findings come in the order of the rules, which
// settles what causes do not.
func inCausalOrder(findings []Finding) []Finding {
	candidates := map[Mode][]int{} // by what they can explain
	for i := range findings {
		mode := findings[i].Mode
		list, known := candidates[mode]
		if !known {
			list = explainers(findings, mode)
			candidates[mode] = list
		}
		if c := causeOf(findings, i, list); c >= 0 {
			findings[i].follow(findings[c].Mode)
			if !slices.Contains(findings[c].Explains, mode) {
				findings[c].Explains = append(findings[c].Explains, mode)
			}
		}
	}
	ordered := make([]Finding, 0, len(findings))
	var add func(i int)
	add = func(i int) {
		f := findings[i]
		ordered = append(ordered, f)
		if i != firstOf(findings, f.Mode) {
			return
		}
		for _, j := range consequences(findings, f.Mode) {
			add(j)
		}
	}
	for i, f := range findings {
		if f.CausedBy == "" {
			add(i)
		}
	}
	return ordered
}

// consequences are the places of what a mode has caused, in the order in which
// these cause each other.
func consequences(findings []Finding, mode Mode) []int {
	var all, ordered []int
	left := map[Mode]int{}
	for i := range findings {
		if findings[i].CausedBy == mode {
			all = append(all, i)
			left[findings[i].Mode]++
		}
	}
	explained := func(m Mode) bool {
		for cause, n := range left {
			if n > 0 && slices.Contains(explains[cause], m) {
				return true
			}
		}
		return false
	}
	for len(all) > 0 {
		// There is no way round in a circle, so that one of them is first.
		next := findings[all[max(slices.IndexFunc(all, func(i int) bool { return !explained(findings[i].Mode) }), 0)]].Mode
		rest := all[:0]
		for _, i := range all {
			if findings[i].Mode == next {
				ordered = append(ordered, i)
			} else {
				rest = append(rest, i)
			}
		}
		all, left[next] = rest, 0
	}
	return ordered
}

// firstOf returns the place of the first finding of a mode, which is the one
// that explains others.
func firstOf(findings []Finding, mode Mode) int {
	return slices.IndexFunc(findings, func(f Finding) bool { return f.Mode == mode })
}

// follow says that another mode explains a finding, whose own guesses at a cause are
// then none any more.
func (f *Finding) follow(cause Mode) {
	f.CausedBy = cause
	if f.followed != "" {
		f.Cause = f.followed
		f.Now = []string{"See to " + string(cause) + " first."}
		f.Properly = []string{"Judge it again when that is mended: by itself it may be in order."}
	}
}

// explainers are the places of the findings that can explain a mode.
func explainers(findings []Finding, mode Mode) []int {
	var all []int
	for i := range findings {
		if slices.Contains(explains[findings[i].Mode], mode) {
			all = append(all, i)
		}
	}
	return all
}

// causeOf returns the place of the finding among some that explains another, -1 if
// none does. What only concerns one subject explains nothing of another's.
func causeOf(findings []Finding, of int, among []int) int {
	f := &findings[of]
	if f.ownCause {
		return -1
	}
	for _, i := range among {
		if c := &findings[i]; i != of && !slices.Contains(f.notBy, c.Mode) && related(c, f) {
			return firstOf(findings, c.Mode)
		}
	}
	return -1
}

// related reports whether two findings may be about one thing: addresses tell
// best, then names. What has no name is about the machine.
func related(a, b *Finding) bool {
	if len(a.places) > 0 && len(b.places) > 0 {
		return slices.ContainsFunc(a.places, func(p string) bool { return slices.Contains(b.places, p) })
	}
	if len(a.places)+len(b.places) > 0 || a.Subject == "" || b.Subject == "" {
		return true
	}
	return a.Subject == b.Subject || strings.Contains(a.Subject, b.Subject) || strings.Contains(b.Subject, a.Subject)
}
