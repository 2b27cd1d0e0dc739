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
		return
	}
	last := out[len(out)-1]
	f := &Finding{}
	f.What = "A node was short of memory and put pods off: " + f.count("evictions", countOf(out), "eviction") + ", the last of " + last.App + " (" + strings.TrimRight(last.Reason, ". ") + ")."
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
