package evidence

import "testing"

const describedPod = `Name:             web-1
Namespace:        default
Containers:
  web:
    State:          Waiting
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
    Ready:          False
    Restart Count:  14
    Limits:
      cpu:     500m
      memory:  512Mi
    Requests:
      memory:  256Mi
    Liveness:       http-get http://:8080/healthz delay=0s timeout=1s period=10s #success=1 #failure=3
Events:
  Type     Reason   Age                  From     Message
  ----     ------   ----                 ----     -------
  Warning  BackOff  10s (x201 over 60m)  kubelet  Back-off restarting failed container web in pod web-1
`

func TestADescribedPodIsItsContainersProbesAndEvents(t *testing.T) {
	c := readFile(t, "describe.txt", describedPod)
	if len(c.Containers) != 1 {
		t.Fatalf("containers: %+v", c.Containers)
	}
	one := c.Containers[0]
	if one.Name != "web-1/web" || one.Reason != "CrashLoopBackOff" || one.LastReason != "OOMKilled" || one.OOMKilled != Yes || one.Ready != No {
		t.Errorf("container: %+v", one)
	}
	wantValue(t, "restarts", one.Restarts, 14, Events, "describe.txt:11 Restart Count")
	wantValue(t, "last exit code", one.LastExitCode, 137, NoUnit, "describe.txt:9 Last State Exit Code")
	wantValue(t, "memory limit", one.MemoryLimit, 512<<20, Bytes, "describe.txt:14 Limits memory")
	wantValue(t, "CPU limit", one.CPULimit, 0.5, NoUnit, "describe.txt:13 Limits cpu")
	if len(c.Config.Probes) != 1 {
		t.Fatalf("probes: %+v", c.Config.Probes)
	}
	wantValue(t, "probe time-out", c.Config.Probes[0].Timeout, 1, Seconds, "describe.txt:17 timeout")
	if len(c.Events) != 1 || c.Events[0].Kind != BackOff || c.Events[0].Times.Number != 201 {
		t.Errorf("events: %+v", c.Events)
	}
}

func FuzzDescribe(f *testing.F) { fuzzFile(f, "describe.txt", describedPod) }

const freeText = `               total        used        free      shared  buff/cache   available
Mem:            7821        7402         112          31         306         180
Swap:           2047         100        1947
`

func TestFreeIsTakenForTheUnitOfALikelyMachine(t *testing.T) {
	c := readFile(t, "free.txt", freeText)
	m := c.Last().Meminfo
	wantValue(t, "MemTotal", m.MemTotal, 7821<<20, Bytes, "free.txt:2 Mem: total")
	wantValue(t, "MemAvailable", m.MemAvailable, 180<<20, Bytes, "free.txt:2 Mem: available")
	wantValue(t, "SwapFree", m.SwapFree, 1947<<20, Bytes, "free.txt:3 Swap: free")
	if len(c.Inputs) != 1 || c.Inputs[0].Note == "" {
		t.Errorf("inputs: %+v", c.Inputs)
	}
}

func FuzzFree(f *testing.F) { fuzzFile(f, "free.txt", freeText) }

func TestTopTellsOfMemory(t *testing.T) {
	c := readFile(t, "top.txt", `%Cpu(s):  2.1 us, 31.0 sy,  0.0 ni,  0.0 id, 66.1 wa,  0.0 hi,  0.8 si,  0.0 st
MiB Mem :   2048.0 total,     58.0 free,   1880.0 used,     48.0 buff/cache
MiB Swap:   1024.0 total,      3.0 free,   1021.0 used.     22.0 avail Mem
`)
	m := c.Last().Meminfo
	wantValue(t, "MemTotal", m.MemTotal, 2048<<20, Bytes, "top.txt:2 Mem total")
	wantValue(t, "MemFree", m.MemFree, 58<<20, Bytes, "top.txt:2 Mem free")
	wantValue(t, "MemAvailable", m.MemAvailable, 22<<20, Bytes, "top.txt:3 Swap avail Mem")
	wantValue(t, "SwapFree", m.SwapFree, 3<<20, Bytes, "top.txt:3 Swap free")
}

func TestSignalsOfHalfAFile(t *testing.T) {
	quota := readFiles(t, map[string]string{"cgroup/cpu.max": "50000 100000\n"})
	if !quota.Has(HasCgroupCPU) {
		t.Error("a quota alone is something known of a cgroup's CPU")
	}
	r := emptyReading("t0")
	r.PSI.Memory.Some.Total = Known(100, Micros, Source{File: "record.db"})
	r.PSI.CPU.Some.Total = Known(100, Micros, Source{File: "record.db"})
	totals := &Case{Readings: []Reading{r}}
	if !totals.Has(HasMemoryPSI) || !totals.Has(HasCPUPSI) || totals.Has(HasIOPSI) {
		t.Error("totals alone, as a run records them, are pressure")
	}
}
