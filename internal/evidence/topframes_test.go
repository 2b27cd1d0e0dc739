package evidence

import (
	"strings"
	"testing"
)

// Two iterations as "top -b -n 2" prints them: the first says that the machine was
// idle since its boot, the second that it is busy now (procps-ng: the first frame
// has nothing to compare with).
const topTwice = `top - 10:00:00 up 40 days,  2:03,  1 user,  load average: 1.10, 1.20, 1.30
Tasks: 100 total,   2 running,  98 sleeping,   0 stopped,   0 zombie
%Cpu(s):  2.0 us,  1.0 sy,  0.0 ni, 96.5 id,  0.5 wa,  0.0 hi,  0.0 si,  0.0 st
MiB Mem :   2000.0 total,    500.0 free,    900.0 used,    600.0 buff/cache
MiB Swap:      0.0 total,      0.0 free,      0.0 used.    900.0 avail Mem

    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
     71 www       20   0   90000  40000   9000 S   3.0   2.0   9:00.00 node
     55 root      20   0       0      0      0 S   1.0   0.0   9:00.00 kswapd0

top - 10:00:03 up 40 days,  2:03,  1 user,  load average: 9.50, 3.20, 1.90
Tasks: 100 total,   9 running,  91 sleeping,   0 stopped,   0 zombie
%Cpu(s): 90.0 us,  8.0 sy,  0.0 ni,  0.0 id,  2.0 wa,  0.0 hi,  0.0 si,  0.0 st
MiB Mem :   2000.0 total,     90.0 free,   1500.0 used,    410.0 buff/cache
MiB Swap:      0.0 total,      0.0 free,      0.0 used.    300.0 avail Mem

    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
     71 www       20   0   90000  41000   9000 R  99.0   2.0   9:03.00 node
     55 root      20   0       0      0      0 R  40.0   0.0   9:01.20 kswapd0
`

func TestTheFirstIterationOfTopIsSinceTheBoot(t *testing.T) {
	c := readFile(t, "top.txt", topTwice)
	wantWhole(t, c)
	if len(c.Activities) != 2 || !c.Activities[0].SinceBoot || c.Activities[1].SinceBoot {
		t.Fatalf("activities: %+v", c.Activities)
	}
	wantValue(t, "user", c.Activities[1].User, 90, Percent, "top.txt:13 us")
	wantValue(t, "kswapd", c.Activities[1].Kswapd, 40, Percent, "top.txt:19 %CPU")
	if len(c.Processes) != 2 {
		t.Fatalf("processes: %+v", c.Processes)
	}
	wantValue(t, "node", c.Processes[0].CPU, 99, Percent, "top.txt:18 %CPU")
	wantValue(t, "load", c.Last().Machine.Load1, 9.5, NoUnit, "top.txt:11 load average")
	wantValue(t, "load of five minutes", c.Last().Machine.Load5, 3.2, NoUnit, "top.txt:11 load average")
	wantValue(t, "available", c.Last().Meminfo.MemAvailable, 300<<20, Bytes, "top.txt:15 Swap avail Mem")

	first, _, _ := strings.Cut(topTwice, "\n\ntop")
	c = readFile(t, "top.txt", first)
	if len(c.Activities) != 1 || c.Activities[0].SinceBoot {
		t.Errorf("one iteration alone: %+v", c.Activities)
	}
	wantValue(t, "node alone", c.Processes[0].CPU, 3, Percent, "top.txt:8 %CPU")

	cut, _, _ := strings.Cut(topTwice, "     71 www       20   0   90000  41000")
	c = readFile(t, "top.txt", cut)
	wantMissing(t, "node of the first, where the second was cut", c.Processes[0].CPU, CannotTell)

	picked := readFile(t, "cpu.txt", "%Cpu(s):  2.0 us,  1.0 sy,  0.0 ni, 96.5 id,  0.5 wa\n%Cpu(s): 90.0 us,  8.0 sy,  0.0 ni,  0.0 id,  2.0 wa\n")
	if len(picked.Activities) != 2 || !picked.Activities[0].SinceBoot || picked.Activities[1].SinceBoot {
		t.Errorf("lines that grep has picked: %+v", picked.Activities)
	}
}

// uptime(1), w(1), and the decimal comma of LC_NUMERIC=de_DE.
func TestLoadOfUptime(t *testing.T) {
	for name, text := range map[string]string{
		"uptime":      " 23:47:19 up 10:13,  0 user,  load average: 3.10, 3.07, 2.73\n",
		"of days":     " 01:02:03 up 40 days,  2:03,  1 user,  load average: 3.10, 3.07, 2.73\n",
		"of minutes":  " 01:02:03 up 5 min,  2 users,  load average: 3.10, 3.07, 2.73\n",
		"commas":      " 01:02:03 up 5 min,  2 users,  load average: 3,10, 3,07, 2,73\n",
		"busybox":     " 13:42:00 up 5 min,  load average: 3.10, 3.07, 2.73\n",
		"macOS":       "13:42  up 12 days, 17:49, 2 users, load averages: 3.10 3.07 2.73\n",
		"w":           " 23:47:19 up 10:13,  1 user,  load average: 3.10, 3.07, 2.73\nUSER     TTY      FROM             LOGIN@   IDLE   JCPU   PCPU WHAT\nroot     pts/0    -                10:00    1.00s  0.10s  0.00s w\n",
		"twice":       " 23:46:00 up 10:12,  0 user,  load average: 9.10, 9.07, 9.73\n 23:47:19 up 10:13,  0 user,  load average: 3.10, 3.07, 2.73\n",
		"at a prompt": "$ uptime\n 23:47:19 up 10:13,  0 user,  load average: 3.10, 3.07, 2.73\n",
	} {
		c := readFile(t, "up.txt", text)
		wantWhole(t, c)
		if len(c.Readings) != 1 {
			t.Fatalf("%s: %d readings", name, len(c.Readings))
		}
		wantValue(t, name, c.Last().Machine.Load1, 3.1, NoUnit, "")
		wantValue(t, name+", a quarter of an hour", c.Last().Machine.Load15, 2.73, NoUnit, "")
	}
}

func FuzzTopTwice(f *testing.F) { fuzzFile(f, "top.txt", topTwice) }

func FuzzUptime(f *testing.F) {
	fuzzFile(f, "up.txt", " 23:47:19 up 10:13,  0 user,  load average: 3.10, 3.07, 2.73\n")
}

// As BusyBox 1.36 prints it (procps/top.c); its shares are of all CPUs together.
const busyboxTop = `Mem: 1858000K used, 60000K free, 5000K shrd, 1100K buff, 68000K cached
CPU:   4% usr   6% sys   1% nic   0% idle  87% io   1% irq   1% sirq
Load average: 9.50 3.20 1.90 3/412 9123
  PID  PPID USER     STAT   VSZ %VSZ CPU %CPU COMMAND
   71     1 app      R     812m  41%   1  49% node server.js
   40     2 root     SW       0   0%   0  12% [kswapd0]
`

func TestTopOfBusyBox(t *testing.T) {
	c := readFile(t, "top.txt", busyboxTop)
	wantWhole(t, c)
	m := &c.Last().Meminfo
	wantValue(t, "total", m.MemTotal, 1918000<<10, Bytes, "top.txt:1 Mem used")
	wantValue(t, "free", m.MemFree, 60000<<10, Bytes, "top.txt:1 Mem free")
	wantValue(t, "cached", m.Cached, 68000<<10, Bytes, "")
	wantMissing(t, "available", m.MemAvailable, NotSeen)
	wantValue(t, "load", c.Last().Machine.Load1, 9.5, NoUnit, "top.txt:3 Load average")
	a := &c.Activities[0]
	wantValue(t, "user", a.User, 5, Percent, "top.txt:2 us")
	wantValue(t, "system", a.System, 8, Percent, "top.txt:2 sy")
	wantValue(t, "idle", a.Idle, 0, Percent, "")
	wantValue(t, "wait", a.IOWait, 87, Percent, "top.txt:2 io")
	if len(c.Processes) != 2 || c.Processes[0].Name != "node" || c.Processes[0].State != "R" || c.Processes[1].Name != "kswapd0" {
		t.Fatalf("%+v", c.Processes)
	}
	wantMissing(t, "the share of a process", c.Processes[0].CPU, CannotTell)
}

// A report of the kernel has a line that begins alike.
func TestAKernelsReportIsNoTop(t *testing.T) {
	c := readFile(t, "x", "CPU: 1 PID: 77 Comm: node Not tainted 6.1.0\nOut of memory: Killed process 77 (node) total-vm:100kB, anon-rss:90kB, file-rss:0kB, shmem-rss:0kB\n")
	if kills := c.EventsOf(OOMKill); len(kills) != 1 || kills[0].PID != 77 {
		t.Errorf("it was taken for %+v", c.Inputs)
	}
}

func FuzzTopOfBusyBox(f *testing.F) { fuzzFile(f, "top.txt", busyboxTop) }
