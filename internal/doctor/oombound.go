package doctor

import (
	"strings"

	"brink/internal/evidence"
)

// boundNodes is what bound a process that was killed to some NUMA nodes, empty if
// nothing did: a memory policy or a cpuset. What is free on other nodes was not for
// it.
//
// constrained_alloc in mm/oom_kill.c,
// https://docs.kernel.org/admin-guide/mm/numa_memory_policy.html
func boundNodes(e *evidence.Event) string {
	switch {
	case strings.HasPrefix(e.Reason, "CONSTRAINT_MEMORY_POLICY"):
		return "a memory policy (numactl --membind, mbind, NUMAPolicy= of the unit)"
	case strings.HasPrefix(e.Reason, "CONSTRAINT_CPUSET"):
		return "a cpuset (cpuset.mems, AllowedMemoryNodes= of the unit, --cpuset-mems)"
	}
	return ""
}

// boundKill tells about a kill for want of memory on some nodes only.
func boundKill(l *look, f *Finding, last *evidence.Event) {
	f.Cause = "Its memory may come from these nodes only, by " + boundNodes(last) + ". They were full; that other nodes have memory left does not help it."
	f.not("a machine that is out of memory", "the kernel names what bound the process to some of its nodes")
	f.not("a memory limit of a cgroup", "the kernel would call that CONSTRAINT_MEMCG")
	f.Now = []string{"See what is free on each node (numastat -m, numactl -H) and who fills those that it is bound to."}
	f.Properly = []string{"Let it take memory of more nodes (numactl --preferred or --interleave in place of --membind, a wider cpuset.mems), or give it less to do than its nodes hold."}
	if workers := l.poolWorkers(); workers.Above(1) {
		f.Now = append(f.Now, "It runs "+f.count("workers", workers, "worker")+": spread them over the nodes, or run fewer.")
	}
}
