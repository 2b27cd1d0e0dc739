package evidence

import "testing"

const pastedFiles = `==> /proc/pressure/memory <==
some avg10=33.00 avg60=31.10 avg300=22.90 total=99123456
full avg10=9.00 avg60=8.10 avg300=6.90 total=48123456

==> /proc/meminfo <==
MemTotal:        4030296 kB
MemAvailable:     331000 kB
`

const pastedGreps = `/proc/pressure/memory:some avg10=33.00 avg60=31.10 avg300=22.90 total=99123456
/proc/pressure/memory:full avg10=9.00 avg60=8.10 avg300=6.90 total=48123456
/proc/meminfo:MemTotal:        4030296 kB
/proc/meminfo:MemAvailable:     331000 kB
`

const pastedSession = `user@host:~$ cat /proc/pressure/memory
some avg10=33.00 avg60=31.10 avg300=22.90 total=99123456
full avg10=9.00 avg60=8.10 avg300=6.90 total=48123456
user@host:~$ sudo cat /proc/meminfo
MemTotal:        4030296 kB
MemAvailable:     331000 kB
user@host:~$ ss -ltn
State  Recv-Q Send-Q Local Address:Port Peer Address:Port
LISTEN 3      128    0.0.0.0:8000       0.0.0.0:*
user@host:~$ whoami
`

func TestFilesThatWerePastedIntoOne(t *testing.T) {
	for name, text := range map[string]string{"head": pastedFiles, "grep": pastedGreps, "a shell": pastedSession} {
		t.Run(name, func(t *testing.T) {
			c := readFile(t, "t0/paste.txt", text)
			if len(c.Readings) != 1 || c.Readings[0].Name != "t0" {
				t.Fatalf("readings: %+v", c.Readings)
			}
			r := &c.Readings[0]
			wantValue(t, "stall", r.PSI.Memory.Full.Avg10, 9, Percent, "t0/proc/pressure/memory:2 full avg10")
			wantValue(t, "available", r.Meminfo.MemAvailable, 331000<<10, Bytes, "t0/proc/meminfo:2 MemAvailable")
			if name == "a shell" && (len(r.Listeners) != 1 || r.Listeners[0].Port != 8000) {
				t.Errorf("listeners: %+v", r.Listeners)
			}
		})
	}
}

func TestPastedNamesStayWhereTheyAre(t *testing.T) {
	c := readFiles(t, map[string]string{"x.txt": "==> /proc/../../etc/passwd <==\nroot:x:0:0\n==> /proc/meminfo <==\nMemTotal: 5 kB\n"})
	for _, in := range c.Inputs {
		if in.File != "proc/meminfo" {
			t.Errorf("taken in: %+v", in)
		}
	}
}

func TestALogWithADollarIsNoShell(t *testing.T) {
	c := readFile(t, "app.log", "INFO: total $ 12 was paid\n2026-03-01 10:00:00 ERROR no\n")
	if len(c.Logs) != 1 || c.Logs[0].Lines != 2 {
		t.Errorf("logs: %+v", c.Logs)
	}
}

func FuzzPasted(f *testing.F)        { fuzzFile(f, "paste.txt", pastedFiles) }
func FuzzPastedSession(f *testing.F) { fuzzFile(f, "paste.txt", pastedSession) }

// The forms in which people paste /proc/pressure; without names nothing tells which
// file a line is of.
func TestPastedPressure(t *testing.T) {
	const cpu, memory = "some avg10=34.68 avg60=24.85 avg300=23.41 total=15022178412", "some avg10=1.50 avg60=2.50 avg300=3.50 total=41"
	for name, text := range map[string]string{
		"grep":          "/proc/pressure/cpu:" + cpu + "\n/proc/pressure/memory:" + memory + "\n",
		"grep, inside":  "cpu:" + cpu + "\nmemory:" + memory + "\n",
		"grep -r":       "./cpu:" + cpu + "\n./memory:" + memory + "\n",
		"tail and head": "==> /proc/pressure/cpu <==\n" + cpu + "\n\n==> /proc/pressure/memory <==\n" + memory + "\n",
	} {
		c := readFile(t, "x", text)
		wantValue(t, name+" cpu", c.Last().PSI.CPU.Some.Avg10, 34.68, Percent, "")
		wantValue(t, name+" memory", c.Last().PSI.Memory.Some.Avg60, 2.5, Percent, "")
	}
	c := readFiles(t, map[string]string{"x": cpu + "\n" + memory + "\n"})
	if len(c.Strangers) != 1 || c.Strangers[0].Why != "it has lines of pressure files and not of which: give what grep . /proc/pressure/* prints" {
		t.Errorf("%+v", c.Strangers)
	}
}

// In a container one looks at the files of its cgroup from where they are
// (cgroup-v2.rst has their forms).
func TestPastedCgroup(t *testing.T) {
	for name, text := range map[string]string{
		"grep": "memory.current:529530880\nmemory.max:536870912\nmemory.events:low 0\nmemory.events:oom_kill 8\ncpu.max:50000 100000\nmemory.pressure:some avg10=1.50 avg60=2.50 avg300=3.50 total=41\n",
		"tail": "==> memory.current <==\n529530880\n\n==> memory.max <==\n536870912\n\n==> memory.events <==\nlow 0\noom_kill 8\n\n==> cpu.max <==\n50000 100000\n\n==> memory.pressure <==\nsome avg10=1.50 avg60=2.50 avg300=3.50 total=41\n",
	} {
		c := readFile(t, "x", text)
		wantWhole(t, c)
		if len(c.Last().Cgroups) != 1 {
			t.Fatalf("%s: %+v", name, c.Last().Cgroups)
		}
		g := &c.Last().Cgroups[0]
		wantValue(t, name+" memory", g.Memory.Current, 529530880, Bytes, "")
		wantValue(t, name+" limit", g.Memory.Max.Value, 512<<20, Bytes, "")
		wantValue(t, name+" kills", g.Memory.EventOOMKill, 8, Events, "")
		wantValue(t, name+" CPUs", g.CPU.QuotaCPUs(), 0.5, NoUnit, "")
		wantValue(t, name+" pressure", g.PSI.Memory.Some.Avg60, 2.5, Percent, "")
	}
	c := readFile(t, "x", "/sys/fs/cgroup/system.slice/foo@1.service/memory.current:100\n/sys/fs/cgroup/system.slice/system-serial\\x2dgetty.slice/memory.current:1\n")
	wantValue(t, "an instance", c.Last().Cgroup("/system.slice/foo@1.service").Memory.Current, 100, Bytes, "")
}
