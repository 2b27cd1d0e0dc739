package doctor

import (
	"strings"
	"testing"
	"time"

	"brink/internal/evidence"
)

// floods are lines of the kernel's log about ports, so long before a reading.
func floods(at time.Time, ago ...time.Duration) *evidence.Case {
	c := &evidence.Case{Readings: []evidence.Reading{{At: at}}}
	c.Readings[0].Meminfo.MemTotal = evidence.Known(8e9, evidence.Bytes, evidence.Source{File: "meminfo"})
	c.Logs = []evidence.Log{{File: "kernel.log", Origin: evidence.FromKernel}}
	for i, d := range ago {
		c.Events = append(c.Events, evidence.Event{At: at.Add(-d), Kind: evidence.SynFlood, Origin: evidence.FromKernel, Port: 8001 + i,
			From: evidence.Source{File: "kernel.log", Line: i + 1}})
	}
	return c
}

// The kernel writes one line for a listener, when its queue overflows first
// (queue->synflood_warned in tcp_syn_flood_action, net/ipv4/tcp_input.c): minutes
// later it is past, and the lines of two ports are no stretch of time.
func TestFloodsOfThePastAreNotes(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	r := Diagnose(floods(at, 8*time.Minute, 3*time.Minute))
	if f := r.Finding(AcceptQueueFilled); f != nil {
		t.Errorf("found: %s (%s)", f.What, f.Span)
	}
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0].Text, "2 lines about a full accept queue, the last of port 8002 at 2026-05-01 11:57:00") {
		t.Errorf("notes: %+v", r.Notes)
	}
	f := Diagnose(floods(at, 8*time.Minute, 20*time.Second)).Finding(AcceptQueueFilled)
	if f == nil || f.Span != "since 2026-05-01 11:59:40" || !strings.Contains(f.What, "port 8002") {
		t.Errorf("a line of 20 s ago: %+v", f)
	}
	two := floods(at, 40*time.Second, 20*time.Second)
	if f := Diagnose(two).Finding(AcceptQueueFilled); f == nil || f.Span != "since 2026-05-01 11:59:40" {
		t.Errorf("lines of two ports: %+v", f)
	}
}

// dmesg without -T has the seconds since the boot alone: 75600 s are 21 h.
func TestAKillInAPlainKernelLogHasItsAge(t *testing.T) {
	const kill = "[81234.5] Out of memory: Killed process 4411 (ingest) total-vm:2210304kB, anon-rss:519204kB, file-rss:2040kB, shmem-rss:0kB\n"
	for more, want := range map[string]string{
		"":                              "",
		"[81250.0] eth0: Link is Up\n":  "",
		"[156834.5] eth0: Link is Up\n": "That was 21h before the evidence ends, and none followed.",
	} {
		c, err := evidence.FromFiles(map[string][]byte{"dmesg.txt": []byte(kill + more)})
		if err != nil {
			t.Fatal(err)
		}
		f := Diagnose(c).Finding(OOMKill)
		if f == nil || f.Span != "22h33m55s after the boot" || want != "" && !strings.Contains(f.What, want) || want == "" && strings.Contains(f.What, "before the evidence ends") {
			t.Errorf("%q: %+v", more, f)
		}
	}
}
