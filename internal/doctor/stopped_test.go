package doctor

import (
	"slices"
	"strings"
	"testing"

	"brink/internal/evidence"
)

// A process in state T (proc_pid_stat(5): stopped on a signal) runs nothing: what
// waits in front of it is no blocked loop and no exhausted pool, and nothing about
// it is in order.
func TestAStoppedProcessIsCalledStopped(t *testing.T) {
	of := func(p evidence.Pool, states ...string) *evidence.Case {
		for i, s := range states {
			state, run, _ := strings.Cut(s, " ")
			p.Members = append(p.Members, evidence.Member{PID: 70 + i, State: state, RunState: run, RSS: p.RSS, From: p.From})
		}
		return &evidence.Case{Pools: []evidence.Pool{p}, Readings: apart(10, p.Sockets...)}
	}
	spinning := loop("", 20, -1).Sockets
	spinning[0].PID, spinning[0].Process = 9, "node"
	listed := &evidence.Case{Readings: apart(10, spinning...), Processes: []evidence.Process{
		{PID: 9, Name: "node", State: "T", CPU: evidence.Known(99, evidence.Percent, evidence.Source{File: "ps", Line: 2})}}}
	for name, c := range map[string]struct {
		c       *evidence.Case
		stopped bool
		want    Mode
	}{
		"a stopped loop with a queue":         {of(loop("Node.js", 3, 13), "T T"), true, ""},
		"a stopped loop and nothing waits":    {of(loop("Node.js", 0, -1), "T T"), true, ""},
		"a traced loop":                       {of(loop("uvicorn", 3, 13), "t t"), true, ""},
		"a loop that stands, in its sleep":    {of(loop("Node.js", 3, 13), "S S"), false, EventLoopBlocked},
		"all workers of a pool stopped":       {of(live("gunicorn sync", 2, 100, 8, 100, 9, 5), "busy T", "busy T"), true, ""},
		"one of two, the other busy":          {of(live("gunicorn sync", 2, 100, 8, 100, 9, 5), "busy T", "busy S"), true, WorkerExhaustion},
		"none of two":                         {of(live("gunicorn sync", 2, 100, 8, 100, 9, 5), "busy S", "busy R"), false, WorkerExhaustion},
		"a stopped idle pool":                 {of(live("gunicorn sync", 1, 0, 0, 0, -1, -1), "idle T"), true, ""},
		"one that ps lists, busy in its life": {listed, true, ""},
	} {
		r := Diagnose(c.c)
		stopped := slices.ContainsFunc(r.Unsure, func(k Check) bool { return k.suspicious && strings.Contains(k.Text, "stopped") })
		got := Mode("")
		if len(r.Findings) > 0 {
			got = r.Findings[0].Mode
		}
		if stopped != c.stopped || got != c.want || c.stopped && r.Verdict == Healthy {
			t.Errorf("%s: %q, stopped %v, %s; want %q, %v", name, got, stopped, r.Verdict, c.want, c.stopped)
		}
	}
}
