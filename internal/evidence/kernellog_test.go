package evidence

import "testing"

// The words of each kernel are those of mm/oom_kill.c at its tag.
const (
	oom310 = `[  100.000001] python invoked oom-killer: gfp_mask=0xd0, order=0, oom_score_adj=0
[  100.000002] Task in /docker/abc killed as a result of limit of /docker
[  100.000003] memory: usage 524288kB, limit 524288kB, failcnt 12
[  100.000004] Memory cgroup out of memory: Kill process 4711 (my app (x)) score 0 or sacrifice child
[  100.000005] Killed process 4711 (my app (x)) total-vm:812032kB, anon-rss:498432kB, file-rss:0kB
`
	oom419 = `[ 8123.000001] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=0-2,4,cpuset=kubepods,mems_allowed=0,oom_memcg=/kubepods/pod1,task_memcg=/kubepods/pod1/c1,task=node,pid=1849,uid=1000
[ 8123.000002] Memory cgroup out of memory: Killed process 1849 (node) total-vm:900000kB, anon-rss:200kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:464kB oom_score_adj:985
`
	oomGlobal = `[ 8124.000001] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user.slice,task=tmux: server,pid=77,uid=0
[ 8124.000002] Out of memory: Killed process 77 (tmux: server) total-vm:1kB, anon-rss:1024kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:4kB oom_score_adj:0
`
)

func TestOOMKillsOfEachKernel(t *testing.T) {
	wantEvents(t, readFile(t, "dmesg", oom310),
		"oom invoked comm=python",
		"oom kill pid=4711 comm=my app (x) cgroup=/docker anon=5.10394368e+08 global=no")
	wantEvents(t, readFile(t, "dmesg", oom419),
		"oom kill pid=1849 comm=node cgroup=/kubepods/pod1 anon=204800 global=no")
	wantEvents(t, readFile(t, "dmesg", oomGlobal),
		"oom kill pid=77 comm=tmux: server cgroup=/user.slice anon=1.048576e+06 global=yes")
}

func TestASummaryWithoutItsKillIsAKill(t *testing.T) {
	c := readFile(t, "dmesg", "[ 8123.000001] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,oom_memcg=/a,task_memcg=/a,task=java,pid=9,uid=0\n")
	wantEvents(t, c, "oom kill pid=9 comm=java cgroup=/a global=no")
}

func TestSecondsSinceBootBecomeTimes(t *testing.T) {
	c := readFiles(t, map[string]string{
		"dmesg": oom419,
		// 1767225600 is 2026-01-01T00:00:00Z; 8123 s are 02:15:23.
		"proc/stat": "cpu  10 0 10 100 0 0 0 0 0 0\ncpu0 10 0 10 100 0 0 0 0 0 0\nbtime 1767225600\n",
	})
	wantEvents(t, c, "2026-01-01T02:15:23 oom kill pid=1849 comm=node cgroup=/kubepods/pod1 anon=204800 global=no")
}

func TestDmesgWithDatesInOtherLanguages(t *testing.T) {
	for _, line := range []string{
		"[Tue Sep  3 05:57:48 2024] Out of memory: Killed process 7 (a) total-vm:1kB, anon-rss:1kB, file-rss:0kB",
		"[二 9月  3 05:57:48 2024] Out of memory: Killed process 7 (a) total-vm:1kB, anon-rss:1kB, file-rss:0kB",
		"[mar. sept. 3 05:57:48 2024] Out of memory: Killed process 7 (a) total-vm:1kB, anon-rss:1kB, file-rss:0kB",
	} {
		c := readFile(t, "dmesg", line+"\n")
		wantEvents(t, c, "2024-09-03T05:57:48 oom kill pid=7 comm=a anon=1024 global=yes")
	}
	// A journal's date without a year tells no time.
	wantEvents(t, readFile(t, "journal.txt", "okt 31 05:57:48 myhost kernel: Out of memory: Killed process 7 (a) total-vm:1kB, anon-rss:1kB, file-rss:0kB\n"),
		"oom kill pid=7 comm=a anon=1024 global=yes")
}

func TestHungTasksAndSynFloods(t *testing.T) {
	wantEvents(t, readFile(t, "dmesg", "[ 1.000000] INFO: task jbd2/sda1-8:211 blocked for more than 120 seconds.\n"+
		"[ 2.000000] TCP: request_sock_TCP: Possible SYN flooding on port 0.0.0.0:8000. Sending cookies.  Check SNMP counters.\n"),
		"hung task pid=211 comm=jbd2/sda1-8 elapsed=120", "syn flood port=8000")
}

func FuzzKernelLog(f *testing.F) { fuzzFile(f, "dmesg", oom310, oom419, oomGlobal) }

// A program that quotes the kernel has killed nothing, wherever it puts the words.
func TestQuotedWordsAreNotTheKernels(t *testing.T) {
	for _, line := range []string{
		`2026-03-01 10:00:00,123 INFO ticket - body="dmesg says: Out of memory: Killed process 12 (python) total-vm:1kB, anon-rss:1kB"`,
		`level=info body="[ 8123.000002] Memory cgroup out of memory: Killed process 12 (node) total-vm:1kB"`,
		"Mar  1 10:00:00 desk tickets[712]: Out of memory: Killed process 12 (python) total-vm:1kB, anon-rss:1kB",
		"INFO:app:TCP: request_sock_TCP: Possible SYN flooding on port 8000. Sending cookies.",
		"10:00:00 INFO saw INFO: task tar:1224 blocked for more than 120 seconds.",
	} {
		for _, e := range readFile(t, "app.log", line+"\n").Events {
			if e.Origin == FromKernel {
				t.Errorf("%s: %s", line, eventLine(&e))
			}
		}
	}
}

// The same line in the forms of dmesg -x, of a shortened time, of syslog and of a
// ticket that quotes it with a mark; the first words alone tell whose memory it was.
func TestFormsOfOneKernelLine(t *testing.T) {
	const killed = "Out of memory: Killed process 77 (ingest) total-vm:1kB, anon-rss:1024kB, file-rss:0kB, shmem-rss:0kB"
	for _, before := range []string{"", "[81234.5] ", "<3>[ 8124.000002] ", "kern  :err   : [ 8124.000002] ", "Mar  1 10:00:00 n7 kernel: [ 8124.000002] ",
		"> [ 8124.000002] ", "[ 8124.000002] [ T4711] "} {
		t.Run(before, func(t *testing.T) {
			wantEvents(t, readFile(t, "dmesg", before+killed+"\n"), "oom kill pid=77 comm=ingest anon=1.048576e+06 global=yes")
		})
	}
}
