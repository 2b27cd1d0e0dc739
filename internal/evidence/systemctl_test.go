package evidence

import "testing"

// Properties and lines as systemctl(1) of systemd 252 to 255 prints them. Result,
// ExecMainCode and ExecMainStatus are those of org.freedesktop.systemd1(5); code 2 is
// CLD_KILLED (sigaction(2)).
const (
	unitShowText = `Type=simple
Restart=always
NRestarts=12
ExecMainCode=2
ExecMainStatus=9
Id=api.service
Result=oom-kill
ActiveState=activating
SubState=auto-restart
ControlGroup=/system.slice/api.service
MemoryCurrent=529530880
MemoryHigh=infinity
MemoryMax=536870912
MemorySwapMax=18446744073709551615
CPUUsageNSec=192345678000
CPUQuotaPerSecUSec=1s 500ms

Id=db.service
ActiveState=active
SubState=running
NRestarts=0
ControlGroup=/system.slice/db.service
MemoryCurrent=[not set]
MemoryMax=infinity
CPUQuotaPerSecUSec=infinity
`
	unitFailedText = `× api.service - API
     Loaded: loaded (/etc/systemd/system/api.service; enabled; preset: enabled)
     Active: failed (Result: oom-kill) since Thu 2026-01-15 10:00:02 UTC; 5min ago
   Duration: 2h 3min 4.567s
   Main PID: 4411 (code=killed, signal=KILL)
        CPU: 3min 12.345s

Jan 15 10:00:02 web1 systemd[1]: api.service: A process of this unit has been killed by the OOM killer.
Jan 15 10:00:02 web1 systemd[1]: api.service: Failed with result 'oom-kill'.
`
	unitRunningText = `● api.service - API
     Loaded: loaded (/etc/systemd/system/api.service; enabled; preset: enabled)
     Active: active (running) since Thu 2026-01-15 10:00:02 UTC; 5min ago
   Main PID: 4411 (node)
      Tasks: 11 (limit: 2293)
     Memory: 505.0M (high: 500.0M max: 512.0M available: 7.0M peak: 512.0M swap: 1.0M swap peak: 3.0M)
        CPU: 3min 12.345s
     CGroup: /system.slice/api.service
             └─4411 /usr/bin/node server.js

Jan 15 10:00:02 web1 systemd[1]: Started api.service - API.
`
)

func TestSystemctlShow(t *testing.T) {
	c := readFile(t, "show.txt", unitShowText)
	wantWhole(t, c)
	if len(c.Containers) != 2 || len(c.Last().Cgroups) != 1 {
		t.Fatalf("%+v, %+v", c.Containers, c.Last().Cgroups)
	}
	u := &c.Containers[0]
	if u.Name != "api.service" || u.Platform != FromSystem || u.State != "restarting" || u.OOMKilled != Yes || u.LastReason != "oom-kill" {
		t.Errorf("%+v", u)
	}
	wantValue(t, "restarts", u.Restarts, 12, Events, "show.txt:3 NRestarts")
	wantValue(t, "signal", u.LastSignal, 9, NoUnit, "show.txt:5 ExecMainStatus")
	wantValue(t, "limit", u.MemoryLimit, 512<<20, Bytes, "")
	g := c.Last().Cgroup("system.slice/api.service")
	wantValue(t, "memory", g.Memory.Current, 529530880, Bytes, "show.txt:11 MemoryCurrent")
	wantValue(t, "limit", g.Memory.Max.Value, 512<<20, Bytes, "")
	wantMissing(t, "swap limit", g.Memory.SwapMax.Value, Absent)
	wantValue(t, "CPUs", g.CPU.QuotaCPUs(), 1.5, NoUnit, "")
	wantValue(t, "CPU time", g.CPU.UsageMicros, 192345678, Micros, "")
	if !g.Memory.High.Unlimited {
		t.Errorf("memory.high is %+v", g.Memory.High)
	}
	if d := &c.Containers[1]; d.State != "running" || d.OOMKilled != Unsure || !d.Restarts.AtMost(0) {
		t.Errorf("%+v", d)
	}
}

func TestSystemctlShowOfWhatWasAskedFor(t *testing.T) {
	c := readFile(t, "x", "MemoryCurrent=100\nMemoryMax=infinity\nControlGroup=/system.slice/api.service\n")
	wantValue(t, "memory", c.Last().Cgroup("system.slice/api.service").Memory.Current, 100, Bytes, "x:1 MemoryCurrent")
	if c = readFiles(t, map[string]string{"x": "PATH=/bin\nHome=/root\nId=5\n"}); len(c.Strangers) != 1 {
		t.Errorf("a file of settings is %+v", c.Inputs)
	}
}

func TestSystemctlStatus(t *testing.T) {
	c := readFile(t, "status.txt", unitFailedText)
	wantWhole(t, c)
	wantEvents(t, c, "container oom killed app=api.service reason=systemd")
	if u := &c.Containers[0]; u.Name != "api.service" || u.State != "failed" || u.OOMKilled != Yes {
		t.Errorf("%+v", u)
	}
	wantValue(t, "signal", c.Containers[0].LastSignal, 9, NoUnit, "status.txt:5 Main PID")
	c = readFile(t, "status.txt", unitRunningText)
	g := c.Last().Cgroup("system.slice/api.service")
	wantValue(t, "memory", g.Memory.Current, 505<<20, Bytes, "status.txt:6 MemoryCurrent")
	wantValue(t, "limit", g.Memory.Max.Value, 512<<20, Bytes, "")
	wantValue(t, "high", g.Memory.High.Value, 500<<20, Bytes, "")
	wantValue(t, "peak", g.Memory.Peak, 512<<20, Bytes, "")
	if u := &c.Containers[0]; u.State != "running" || u.OOMKilled != Unsure {
		t.Errorf("%+v", u)
	}
}

func FuzzSystemctl(f *testing.F) { fuzzFile(f, "x", unitShowText, unitFailedText, unitRunningText) }
