package record

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestAzureMinutesByHand works three minutes out by hand: of a machine with one
// CPU and 1000 bytes of memory, two apps, and a swap disk.
func TestAzureMinutesByHand(t *testing.T) {
	run := fixtureRun
	run.Host, run.Accelerator = "vm", "tcg"
	dir := t.TempDir()
	w, err := Create(dir, run)
	if err != nil {
		t.Fatal(err)
	}
	begin(t, w) // step 1, repetition 1, app "site", stream 1
	if err := w.AddFacts(Fact{"cpus", "1"}); err != nil {
		t.Fatal(err)
	}
	other := must(w.AddApp(App{RepetitionID: 1, Name: "other"}))(t)
	stream := must(w.AddStream(Stream{RepetitionID: 1, AppID: other, Ordinal: 2, Method: "GET", Path: "/"}))(t)
	s := time.Second
	var idle, iowait int64 = -1, -1
	tick := func(at time.Duration, busy, disk time.Duration, available, free, site, other int64) {
		t.Helper()
		for _, x := range []*Sample{
			reading("", at, func(x *Sample) {
				x.BusyNs, x.DiskQueueNs = int64(busy), int64(disk)
				x.IdleNs, x.IOWaitNs = idle, iowait
				x.CPUNs = 0 // the apps': not what counts on a machine
				x.MemTotal, x.MemAvailable, x.MemFree = 1000, available, free
			}),
			reading("site", at, func(x *Sample) { x.QueueDepth, x.RSS = site, 100+site }),
			reading("other", at, func(x *Sample) { x.QueueDepth, x.RSS = other, 50 }),
		} {
			if err := w.Sample(1, x); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Minute 0: the CPU is busy 5 of 20 s and then 15 of 20, half of 40 s in
	// all; 4 and 12 requests at the disk in the mean, 8 in all; the queues hold
	// 3, 5 and 10.
	tick(0, 0, 0, 400, 200, 1, 2)
	tick(20*s, 5*s, 80*s, 300, 100, 3, 2)
	idle, iowait = int64(10*s), int64(5*s)
	tick(40*s, 20*s, 320*s, 200, 0, 8, 2)
	// Minute 1: from 40 to 60 s the machine was idle for 4 s and waited for 2 of
	// 20, whatever the ticks say; nothing is at the disk; nothing listens.
	idle, iowait = int64(14*s), int64(7*s)
	tick(60*s, 40*s, 320*s, 250, 50, -1, -1)
	// Minute 2: a gap of 80 s, of which the CPU was busy 20 and the disk's queue
	// is not known.
	idle, iowait = -1, -1
	tick(140*s, 60*s, -1, 500, 450, 0, -1)
	for _, p := range []Probe{
		{Seq: 1, Sent: at(10 * s), Done: at(12 * s), Status: 200, Outcome: "ok"},
		{Seq: 2, Sent: at(20 * s), Done: at(24 * s), Status: 502, Outcome: "http_5xx"},
		{Seq: 3, Sent: at(59 * s), Done: at(65 * s), Status: 503, Outcome: "http_5xx"},
		{Seq: 4, Sent: at(61 * s), Done: at(71 * s), Outcome: "timeout"},
	} {
		if err := w.Probe(stream, &p); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{ // minute, metric, resource, average, minimum, maximum
		"03:05 AverageResponseTime other 3.0 2.0 4.0",
		"03:05 CpuPercentage vm 50.0 25.0 75.0",
		"03:05 DiskQueueLength vm 8.0 4.0 12.0",
		"03:05 Http5xx other 1.0 1.0 1.0",
		"03:05 HttpQueueLength vm 6.0 3.0 10.0",
		"03:05 MemoryPercentage vm 70.0 60.0 80.0",
		"03:05 MemoryWorkingSet other 50.0 50.0 50.0",
		"03:05 MemoryWorkingSet site 104.0 101.0 108.0",
		"03:05 PhysicalMemoryPercentage vm 90.0 80.0 100.0",
		"03:05 Requests other 2.0 2.0 2.0",
		"03:06 AverageResponseTime other 6.0 6.0 6.0",
		"03:06 CpuPercentage vm 70.0 70.0 70.0",
		"03:06 DiskQueueLength vm 0.0 0.0 0.0",
		"03:06 Http5xx other 1.0 1.0 1.0",
		"03:06 MemoryPercentage vm 75.0 75.0 75.0",
		"03:06 MemoryWorkingSet other 50.0 50.0 50.0",
		"03:06 MemoryWorkingSet site 99.0 99.0 99.0",
		"03:06 PhysicalMemoryPercentage vm 95.0 95.0 95.0",
		"03:06 Requests other 2.0 2.0 2.0",
		"03:07 CpuPercentage vm 25.0 25.0 25.0",
		"03:07 HttpQueueLength vm 0.0 0.0 0.0",
		"03:07 MemoryPercentage vm 50.0 50.0 50.0",
		"03:07 MemoryWorkingSet other 50.0 50.0 50.0",
		"03:07 MemoryWorkingSet site 100.0 100.0 100.0",
		"03:07 PhysicalMemoryPercentage vm 55.0 55.0 55.0",
	}
	got := ask(t, open(t, dir), `SELECT substr(TimeGenerated, 12, 5) || ' ' || MetricName || ' ' || Resource || ' '
		|| round(Average, 6) || ' ' || round(Minimum, 6) || ' ' || round(Maximum, 6) FROM AzureMetrics ORDER BY 1`)
	if !slices.Equal(got, want) {
		t.Errorf("\n got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}
