package doctor

import (
	"strings"

	"brink/internal/evidence"
)

// commitNear is in percent of CommitLimit. In mode 2 the kernel refuses what
// would exceed the limit, so a process that wants a few percent at once fails
// before 100 is reached.
//
// https://docs.kernel.org/mm/overcommit-accounting.html
const commitNear = 95

// forkCommit is in percent of CommitLimit: fork promises the whole of a process
// again, which is no more than all that is promised, so that from half of the limit on
// one can be refused.
const forkCommit = 50

var strictOvercommit = Rule{
	Mode:  StrictOvercommit,
	Needs: [][]evidence.Signal{{evidence.HasMeminfo}, {evidence.HasServerLog}},
	Judge: judgeStrictOvercommit,
}

func judgeStrictOvercommit(l *look, a *answer) {
	mode := l.Latest(func(r *evidence.Reading) evidence.Value { return r.Machine.Overcommit })
	committed := l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.CommittedAS })
	limit := l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.CommitLimit })
	share := committed.PercentOf(limit)
	refused := refusals(l)
	forks := only(refused, func(e *evidence.Event) bool { return strings.Contains(strings.ToLower(e.Text), "fork") })
	var w words
	switch {
	case mode.Known && mode.Number != 2:
		if share.Above(100) {
			a.note(Memory, "Committed_AS is "+w.n("committed", share)+" of CommitLimit, which means nothing here: vm.overcommit_memory is "+w.n("vm.overcommit_memory", mode)+", and the limit only holds with 2.", &w)
		}
		return
	case !mode.Known && share.Above(110):
		a.note(Memory, "Committed_AS is "+w.n("committed", share)+" of CommitLimit: the limit is not enforced here, or it could not be exceeded.", &w)
		return
	case !mode.Known && !(share.AtLeast(commitNear) && len(refused) > 0 && l.headroom.AtLeast(lowHeadroom)):
		return
	case mode.Known && !share.AtLeast(commitNear) && !(share.AtLeast(80) && len(refused) > 0) && !(share.AtLeast(forkCommit) && len(forks) > 0):
		return
	}
	f := &Finding{}
	f.What = "Memory is refused by accounting, not for want of it: " + f.n("Committed_AS", committed) + " of " + f.n("CommitLimit", limit) + " (" + f.n("committed", share) + ") are promised"
	if mode.Known {
		f.What += ", and vm.overcommit_memory is " + f.n("vm.overcommit_memory", mode) + ", which enforces the limit"
	}
	f.What += "."
	if l.headroom.Known {
		f.What += " Available is " + f.n("available", l.headroom) + "."
		f.not("memory pressure", f.n("MemAvailable", l.available)+" is available; it is the promise that is refused")
	}
	f.over(l)
	switch {
	case mode.Known && !share.AtLeast(80):
		f.What += " A fork was refused memory " + f.count("refusals", countOf(forks), "time") + " in the logs."
		f.level(StronglySuggested, "the setting, an account in which a process cannot stand twice, and the refusals were seen; how large the process is was not")
	case len(refused) > 0 && mode.Known:
		f.What += " Programs were refused memory " + f.count("refusals", countOf(refused), "time") + " in the logs."
		f.level(Observed, "the setting, the full account and the refusals were all seen")
	case mode.Known:
		f.level(Inferred, "the setting and the full account were seen; that anything was refused was not")
	default:
		f.What += " Programs were refused memory " + f.count("refusals", countOf(refused), "time") + " in the logs."
		f.level(Inferred, "the setting itself was not seen; a full account, room in memory and refusals agree")
	}
	f.Cause = "With vm.overcommit_memory=2 the kernel promises no more than CommitLimit, whatever is used. fork of a large process asks for its whole size again."
	f.not("an OOM kill", "nothing is killed in this mode; malloc and fork fail with ENOMEM")
	f.Now = []string{"Raise vm.overcommit_ratio, or add swap: both raise CommitLimit at once."}
	f.Properly = []string{"Use mode 0 unless every program on the machine copes with ENOMEM.", "Count workers by the address space that they reserve, not by what they touch."}
	f.Settle = []string{"Which process has how much of Committed_AS (VmSize of the largest)."}
	if len(refused) == 0 {
		f.Settle = append(f.Settle, "The apps' logs for ENOMEM (Cannot allocate memory).")
	}
	if !mode.Known {
		f.Settle = append(f.Settle, "/proc/sys/vm/overcommit_memory.")
	}
	a.found(f)
}

// refusals are the lines in which a program was refused memory.
func refusals(l *look) []*evidence.Event {
	var found []*evidence.Event
	for _, e := range l.EventsOf(evidence.AppError, evidence.AppLoadFailed, evidence.AppProgress, evidence.WorkerBootFailed) {
		if e.Reason == evidence.RefusedMemory || ofKernel(e.Text) || strings.Contains(e.Text, "Cannot allocate memory") || strings.Contains(e.Text, "ENOMEM") || strings.Contains(e.Text, "errno 12") || strings.Contains(e.Text, "Errno 12") {
			found = append(found, e)
		}
	}
	return found
}
