package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/verdict"
	"brink/internal/wire"
)

// proven are the levels whose statements stand in section 12.
var proven = map[verdict.Level]bool{
	verdict.Observed: true, verdict.Measured: true, verdict.StronglySuggested: true,
}

// ownOverheads are the metrics that hold a measured wait against a prediction
// that takes its overheads from the very requests.
var ownOverheads = []string{"wait_over_simulated", "wait_over_theory"}

// interpretation writes sections 7 and 11 to 13 from the verdicts and the record.
func (b *builder) interpretation() error {
	for _, v := range b.Verdicts {
		if len(b.m.Extent.lacks(v)) > 0 {
			continue // said of all of them at once
		}
		h := v.Hypothesis
		b.m.Interpretation = append(b.m.Interpretation, b.interpret(v))
		if proven[v.Level] && v.Outcome != verdict.Inconclusive {
			b.m.Proves = append(b.m.Proves, Statement{Level: v.Level, Hypothesis: h.ID, Text: claimed(v) + ": " + trimDot(v.Sentence) + "."})
			b.notes(v)
			continue
		}
		text := fmt.Sprintf("%s: %s.", claimed(v), trimDot(v.Sentence))
		if v.Raise != "" {
			text += " What would raise it: " + trimDot(v.Raise) + "."
		}
		b.m.DoesNotProve = append(b.m.DoesNotProve, Statement{Level: v.Level, Hypothesis: h.ID, Text: text})
		b.notes(v)
	}
	b.signals()
	b.openEnds()
	return nil
}

// claimed is a claim with what became of it, where that is anything but
// support: a claim alone reads as true.
func claimed(v verdict.Verdict) string {
	if v.Outcome == verdict.Supported {
		return trimDot(v.Hypothesis.Claim)
	}
	return fmt.Sprintf("%s (%s)", trimDot(v.Hypothesis.Claim), v.Outcome)
}

func (b *builder) notes(v verdict.Verdict) {
	if slices.Contains(ownOverheads, v.Hypothesis.Metric) {
		b.open(v.Hypothesis.ID, "the predicted wait holds what a request needs beside its time in the app, and that was estimated from the same requests: the agreement is of the queue's part, and no independent test of the rest")
	}
	for _, n := range v.Notes {
		b.open(v.Hypothesis.ID, n)
	}
	for _, p := range v.Parts {
		for i, bound := range p.AtLeast {
			if bound && i < len(p.Steps) {
				b.open(v.Hypothesis.ID, fmt.Sprintf("the median of %s is a lower bound: %s", p.Steps[i], p.Note))
			}
		}
	}
}

// open adds a line to section 13 that is no claim.
func (b *builder) open(hypothesis, text string) {
	s := Statement{Hypothesis: hypothesis, Text: capital(trimDot(text)) + "."}
	for _, x := range b.m.DoesNotProve {
		if x == s {
			return
		}
	}
	b.m.DoesNotProve = append(b.m.DoesNotProve, s)
}

// openEnds says what was missed, not limited, not executed, invalid or too little.
func (b *builder) openEnds() {
	if x := b.m.Extent; x.unfinished() {
		b.open("", "the run is not finished: "+x.says())
	}
	if ids := b.m.waitingFor(); len(ids) > 0 {
		b.open("", waitingWords(len(ids))+" for steps that were not executed: "+strings.Join(ids, ", "))
	}
	for _, l := range b.m.LeftOut {
		b.open(l.ID, fmt.Sprintf("%s: not tested by this profile, since %s", trimDot(l.Claim), l.Why))
	}
	for _, m := range b.m.Missed {
		b.open("", m.Consequence)
	}
	for _, l := range b.m.Limits {
		if !l.Applied {
			b.open("", fmt.Sprintf("%s (%s) was not applied: %s", l.Name, l.Wanted, l.How))
		}
	}
	for _, s := range b.m.Signals {
		if !s.Read {
			b.open("", s.Name+" could not be read: "+s.Reason)
		}
	}
	b.fewer()
}

// fewer says of which steps fewer repetitions can be used than were planned, of
// many of them in one line.
func (b *builder) fewer() {
	const each = 3
	var short []string
	for _, r := range b.m.Results {
		if r.Valid < r.Planned {
			short = append(short, fmt.Sprintf("%s (%d of %d)", r.Step, r.Valid, r.Planned))
		}
	}
	if len(short) > each {
		b.open("", fmt.Sprintf("of %d steps fewer repetitions can be used than were planned: %s", len(short), strings.Join(short, ", ")))
		return
	}
	for _, r := range b.m.Results {
		if r.Valid < r.Planned {
			b.open("", fmt.Sprintf("%s: %d of %d repetitions could be used", r.Step, r.Valid, r.Planned))
		}
	}
}

// signals lists what was read while the steps ran, from what the samples hold.
func (b *builder) signals() {
	every := time.Duration(b.Design.Sampling)
	read := func(name, source, metricName string, interval time.Duration) {
		s := Signal{Name: name, Source: source, Every: interval}
		for _, step := range b.Table.Steps {
			for _, v := range b.Table.Cell(step.Name, metricName).Values {
				if v.Missing == "" {
					s.Read = true
				} else {
					s.Reason = v.Missing
				}
			}
		}
		if s.Read {
			s.Reason = ""
		}
		b.m.Signals = append(b.m.Signals, s)
	}
	read("Requests: due, sent, connected, first byte, done, status, worker", "open-loop probes from outside the app", "requests", 0)
	read("Time in the app", "the app's own answer header", "served_s", 0)
	read("CPU of the apps", "/proc/PID/stat and schedstat of every app process", "cpu_pct", every)
	read("Memory of the apps", "/proc/PID/stat", "memory_mb", every)
	read("Memory of the machine", "/proc/meminfo", "memory_pct", every)
	read("Accept queue", "inet_diag, listening sockets only", "accept_queue_max", every)
	read("Accept queue overflows", "/proc/net/netstat", "overflows", every)
	read("Workers: busy, idle, requests that wait", "sockets and processes of each server, from outside", "busy_pct", every)
	read("Memory pressure", "/proc/pressure/memory", "psi_memory_some_pct", every)
	read("CPU pressure", "/proc/pressure/cpu", "psi_cpu_some_pct", every)
	if slices.ContainsFunc(b.Table.Steps, func(s measure.StepInfo) bool { return aboutMemory(s.Step) }) {
		read("I/O pressure", "/proc/pressure/io", "psi_io_some_pct", every)
		read("Swap in use", "/proc/meminfo", "swap_used_mb", every)
		read("Reclaim: pages scanned, freed, swapped, refaulted; stalls", "/proc/vmstat", "pgscan_kswapd", every)
		read("CPU of kswapd", "/proc/PID/stat", "kswapd_cpu_pct", every)
		read("Time in direct reclaim", "tracefs, mm_vmscan_direct_reclaim_begin and _end", "direct_reclaim_s", every)
		read("Waits of each app for reclaim, swap-in, thrashing, I/O", "delay accounting (taskstats)", "delay_swapin_s", every)
		read("Memory and swap of each app", "memory.current, memory.stat and memory.swap.current of its cgroup", "cgroup_memory_mb", every)
		read("Swap disk: busy, queue", "/proc/diskstats", "swap_disk_busy_pct", every)
		read("CPU of the machine and of the platform's share", "/proc/stat, and cpu.stat of its cgroups", "machine_cpu_pct", every)
		read("The agent's own memory and CPU", "/proc/self/stat", "agent_rss_mb", every)
	}
	read("Starts, exits, restarts", "the supervisor", "exits", 0)
}

// reference sets the published claims beside ours, their arithmetic redone.
func (b *builder) reference() error {
	ref := b.Design.Experiment.Reference
	if ref == nil {
		return nil
	}
	out := &Reference{Title: ref.Title, Date: ref.Date}
	for _, c := range ref.Claims {
		rc := ReferenceClaim{
			ID: c.ID, Says: c.Says, Published: c.Observed, Unit: c.Unit,
			Hypothesis: c.Hypothesis, Note: c.Note, Level: verdict.Observed,
		}
		if c.Formula != "" {
			x, err := experiment.EvalFormula(c.Formula, c.Values)
			if err != nil {
				return fmt.Errorf("reference claim %s: %w", c.ID, err)
			}
			rc.Formula, rc.Computed = c.FormulaText(), &x
			if c.Observed != nil && x != 0 {
				d := (*c.Observed - x) / x
				rc.Deviation = &d
			}
		}
		out.Claims = append(out.Claims, rc)
	}
	out.Figures = b.figures()
	b.m.Reference = out
	return nil
}

func eventDetail(e wire.Event) string {
	switch {
	case e.Detail != "":
		return e.Detail
	case e.Signal > 0:
		return fmt.Sprintf("signal %d", e.Signal)
	case e.Code != nil:
		return fmt.Sprintf("exit code %d", *e.Code)
	}
	return ""
}

func capital(s string) string {
	if s == "" {
		return s
	}
	if c := s[0]; c >= 'a' && c <= 'z' {
		return string(c-'a'+'A') + s[1:]
	}
	return s
}

func trimDot(s string) string {
	for len(s) > 0 && (s[len(s)-1] == '.' || s[len(s)-1] == ' ' || s[len(s)-1] == '\n') {
		s = s[:len(s)-1]
	}
	return s
}
