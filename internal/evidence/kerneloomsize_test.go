package evidence

import "testing"

// dump_oom_summary in mm/oom_kill.c writes the nodes of a memory policy as nodemask, and
// those of a cpuset by cpuset_print_current_mems_allowed, each as a list with commas of
// its own. The line of the kill is the same as for all of the machine.
func TestKillsForWantOfMemoryOfSomeNodes(t *testing.T) {
	const killed = "[ 812.000002] Out of memory: Killed process 31 (etl) total-vm:9kB, anon-rss:4kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:4kB oom_score_adj:0\n"
	for summary, want := range map[string]string{
		"constraint=CONSTRAINT_MEMORY_POLICY,nodemask=0-1,3,cpuset=/,mems_allowed=0-3,global_oom":  " reason=CONSTRAINT_MEMORY_POLICY, nodes 0-1,3 global=no",
		"constraint=CONSTRAINT_CPUSET,nodemask=(null),cpuset=render,mems_allowed=2,3,global_oom":   " reason=CONSTRAINT_CPUSET, nodes 2,3 global=no",
		"constraint=CONSTRAINT_MEMORY_POLICY,nodemask=(null),cpuset=/,mems_allowed=0-3,global_oom": " reason=CONSTRAINT_MEMORY_POLICY global=no",
		"constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-3,global_oom":          " global=yes",
	} {
		line := "[ 812.000001] oom-kill:" + summary + ",task_memcg=/s,task=etl,pid=31,uid=0\n"
		wantEvents(t, readFile(t, "dmesg", line+killed), "oom kill pid=31 comm=etl cgroup=/s anon=4096"+want)
	}
	bound := "[ 812.000001] oom-kill:constraint=CONSTRAINT_CPUSET,nodemask=(null),cpuset=x,mems_allowed=1,global_oom,task_memcg=/s,task=etl,pid=31,uid=0\n" + killed
	c := readFile(t, "dmesg", bound+"[ 900.000001] cron invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n"+
		"[ 900.000002] Out of memory: Killed process 32 (cron) total-vm:9kB, anon-rss:4kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:4kB oom_score_adj:0\n")
	wantEvents(t, c, "oom kill pid=31 comm=etl cgroup=/s anon=4096 reason=CONSTRAINT_CPUSET, nodes 1 global=no",
		"oom invoked comm=cron", "oom kill pid=32 comm=cron anon=4096 global=yes")
}
