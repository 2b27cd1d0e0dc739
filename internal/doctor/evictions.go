package doctor

import (
	"strings"

	"brink/internal/evidence"
)

// evictions judges pods that the kubelet put off a node that was short of
// memory. It acts by MemAvailable, before the kernel has to.
//
// https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/
func evictions(l *look, a *answer) {
	var out []*evidence.Event
	for _, e := range l.EventsOf(evidence.Evicted) {
		if text := strings.ToLower(e.Reason); strings.Contains(text, "low on resource: memory") || strings.Contains(text, "memorypressure") {
			out = append(out, e)
		}
	}
	if len(out) == 0 {
		shortNode(l, a)
		return
	}
	last := out[len(out)-1]
	f := &Finding{}
	f.What = "A node was short of memory and put pods off: " + f.count("evictions", countOf(out), "eviction") + ", the last of " + last.App + " (" + strings.TrimRight(last.Reason, ". ") + ")."
	f.see("available on the node", last.Available)
	f.between(stretch(out))
	f.level(Observed, "the kubelet's own account of the eviction")
	f.Cause = "The pods of the node use more than it has. Those that use most beyond what they request go first."
	f.not("a crash of the program", "the kubelet ended it, and says why")
	f.not("its own memory limit", "an eviction is about the node; a container at its limit is killed by the kernel and named OOMKilled")
	f.Now = []string{"Do not start more on this node; see which pods use more than they request (kubectl top pod)."}
	f.Properly = []string{"Request what is used at the peak, so that the scheduler counts it, and give every pod a limit."}
	f.Settle = []string{"MemAvailable and the pods' memory on the node at that time."}
	a.found(f)
}

// shortNode judges what a node says of its own memory, where no pod was put off
// yet: below the kubelet's threshold (100 MiB unless it is set) it takes in no
// more pods and ends some.
func shortNode(l *look, a *answer) {
	short, enough := l.EventsOf(evidence.NodeShort), l.EventsOf(evidence.NodeEnough)
	var w words
	switch {
	case len(short) == 0 && len(enough) > 0:
		a.fine(Memory, "The node says that it has memory enough ("+w.count("reports of enough", countOf(enough), "line")+").", &w)
		return
	case len(short) == 0:
		return
	case len(enough) > 0:
		a.cannotTell(Memory, "A node said "+w.count("reports of a shortage", countOf(short), "time")+" that it is short of memory, and also that it is not; which came last is not told.",
			"kubectl describe node: its conditions now.", &w)
		return
	}
	f := &Finding{Subject: short[len(short)-1].App}
	f.What = "A node is short of memory by its own account (MemoryPressure), in " + f.count("reports of a shortage", countOf(short), "report") + "."
	f.between(stretch(short))
	f.level(Observed, "the kubelet's own account")
	f.Cause = "The pods of the node use more than it has. Next it ends those that use most beyond what they request."
	f.not("a limit of one pod", "the condition is of the node as a whole")
	f.Now = []string{"See which pods use more than they request (kubectl top pod), and move or stop them before the kubelet does."}
	f.Properly = []string{"Request what is used at the peak, so that the scheduler counts it, and give every pod a limit."}
	f.Settle = []string{"MemAvailable and /proc/pressure/memory of the node."}
	a.found(f)
}
