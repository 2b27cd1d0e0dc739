package report

import (
	"fmt"
	"strings"
	"testing"
)

// overflowed is what a full backlog does, after a measured run of holds of 0.2 s:
// the fifth and those after it found it full, and their SYN was sent again after
// a second; the ninth, whose handshake the queue dropped, is served long after the
// workers have become idle.
func overflowed() RequestsInput {
	in := RequestsInput{ID: "r", Workers: 2, Processes: 2}
	add := func(connected, start float64, pid int32) {
		in.Requests = append(in.Requests, Request{Connected: connected, Start: start, End: start + 0.2, Pid: pid, Outcome: "ok"})
	}
	add(0.001, 0.004, 1)
	add(0.001, 0.006, 2)
	add(0.001, 0.205, 1)
	add(0.001, 0.209, 2)
	add(1.018, 1.020, 1)
	add(1.018, 1.020, 2)
	add(1.018, 1.221, 1)
	add(1.018, 1.222, 2)
	add(1.018, 1.852, 1)
	return in
}

// By hand: requests 3 and 4 wait 0.2 s for a worker, and 7 to 9 after their
// connection; 5 to 9 have none for 1.018 s; 9 waits from 1.422 to 1.852 s while
// both are idle.
func TestRequestBarsTellWaitsApart(t *testing.T) {
	c := must(t)(RequestBars(overflowed()))
	want := "9 requests at 2 workers: 5 waited for one to become free, request 9 the longest (0.403\u00a0s); 5 waited for their connections, request 5 the longest (1.018\u00a0s); request 9 waited 0.431\u00a0s beside an idle worker. The last outcome was known after 2.052\u00a0s."
	if c.Alt != want {
		t.Errorf("the text alternative is\n%q, want\n%q", c.Alt, want)
	}
	found := bars(t, c)
	for bar, x := range map[string][2]float64{
		"waiting for a worker 3": {0, 0.205}, "connecting 5": {0, 1.018}, "connecting 9": {0, 1.018},
		"waiting for a worker 9": {1.018, 1.421}, "waiting beside an idle worker 9": {1.421, 1.852},
	} {
		if b := found[bar]; b == nil || b["x"] != x[0] || b["x2"] != x[1] {
			t.Errorf("%s is drawn as %v, want from %v to %v", bar, b, x[0], x[1])
		}
	}
	if found["waiting for a worker 5"] != nil {
		t.Error("request 5 was served as soon as it had a connection, and waited for no worker")
	}
	if !strings.Contains(c.Note, "after 1, 3 and 7 seconds") || !strings.Contains(c.Note, "Who waits beside an idle worker") {
		t.Errorf("note: %s", c.Note)
	}
	if row := c.Table.Rows[8]; row[3] != "1.852" || row[4] != "0.403" {
		t.Errorf("request 9 waited 1.852 s, 0.403 s of it for a worker: %v", row)
	}
}

// On an event loop five requests are in service at once, so none waits for
// another's end, however late the loop takes them up. One of four processes
// answered.
func TestRequestBarsKnowEventLoops(t *testing.T) {
	in := RequestsInput{ID: "r", Processes: 4}
	for range 5 {
		in.Requests = append(in.Requests, Request{Connected: 0.001, Start: 0.07, End: 0.67, Pid: 9, Outcome: "ok"})
	}
	c := must(t)(RequestBars(in))
	if want := "5 requests at 4 processes that serve any number at once (1 of them answered): none of them has to wait for another's end; 5 were taken up late, request 1 the latest (0.07\u00a0s)."; !strings.HasPrefix(c.Alt, want) {
		t.Errorf("%q, want %q", c.Alt, want)
	}
	if found := bars(t, c); len(found) != 10 || found["not taken up yet 3"]["x2"] != 0.07 {
		t.Errorf("drawn are %v", found)
	}
	if !strings.Contains(string(c.Spec), "process 1 (pid 9)") {
		t.Error("the row of a process is called a worker")
	}
}

// Threads are those of their process: what process 1 took waits for its two
// threads although process 2 has nothing to do.
func TestRequestBarsCountThreadsByTheirProcess(t *testing.T) {
	in := RequestsInput{ID: "r", Workers: 4, Processes: 2, Requests: []Request{
		{Start: 0, End: 1, Pid: 1, Outcome: "ok"}, {Start: 0, End: 1, Pid: 1, Outcome: "ok"}, {Start: 1, End: 2, Pid: 1, Outcome: "ok"}, {Start: 0, End: 1, Pid: 2, Outcome: "ok"}}}
	c := must(t)(RequestBars(in))
	if want := "4 requests at 4 workers in 2 processes: request 3 waited 1.00\u00a0s for one to become free."; !strings.HasPrefix(c.Alt, want) {
		t.Errorf("%q, want %q", c.Alt, want)
	}
	in.Processes = 4 // and any of four processes would have taken it
	if c = must(t)(RequestBars(in)); !strings.Contains(c.Alt, "none had to wait for one to become free; request 3 waited 1.00\u00a0s beside an idle worker") {
		t.Errorf("%q", c.Alt)
	}
}

// A request that timed out may have kept a worker all the time: none is called
// idle on its account.
func TestRequestBarsCallNoWorkerIdleThatMayBeBusy(t *testing.T) {
	in := RequestsInput{ID: "r", Workers: 2, Processes: 2, Requests: []Request{
		{Start: 0, End: 1, Pid: 1, Outcome: "ok"}, {End: 2, Outcome: "timeout"}, {Start: 1, End: 2, Pid: 1, Outcome: "ok"}}}
	if c := must(t)(RequestBars(in)); strings.Contains(c.Alt, "idle") {
		t.Errorf("%q", c.Alt)
	}
	in.Requests[1].Outcome = "refused" // it never had a worker
	if c := must(t)(RequestBars(in)); !strings.Contains(c.Alt, "request 3 waited 1.00\u00a0s beside an idle worker") {
		t.Errorf("%q", c.Alt)
	}
}

// The failed keep the colour of failure, whoever else waits.
func TestRequestBarsKeepTheirColours(t *testing.T) {
	in := overflowed()
	domain := func() string {
		return fmt.Sprint(specOf(t, must(t)(RequestBars(in))).Layer[1].Encoding["color"].(map[string]any)["scale"].(map[string]any)["domain"])
	}
	if got := domain(); got != "[in service waiting for a worker  connecting waiting beside an idle worker]" {
		t.Errorf("colours go to %s", got)
	}
	in.Requests[0].Outcome = "http_5xx"
	if got := domain(); got != "[in service waiting for a worker 5xx answer connecting waiting beside an idle worker]" {
		t.Errorf("colours go to %s", got)
	}
}
