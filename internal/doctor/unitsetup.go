package doctor

import (
	"slices"
	"time"

	"brink/internal/evidence"
)

// loopEnd is what is told of the last end of what is started again and again.
type loopEnd struct {
	at   time.Time
	unit bool // it is one of systemd's
	// result is systemd's name for how a unit ended, and limit the time that it had.
	result      string
	code, limit evidence.Value
}

func endOf(e *evidence.Event) loopEnd {
	return loopEnd{at: e.At, unit: e.Origin == evidence.FromSystem, result: e.Reason, code: e.Code, limit: e.Limit}
}

func lastEndOf(c *evidence.Container) loopEnd {
	return loopEnd{at: c.Finished, unit: c.Platform == evidence.FromSystem, result: c.LastReason, code: c.LastExitCode}
}

// called names a container, or a unit that came as one.
func called(c *evidence.Container) string {
	name := "The container"
	if c.Platform == evidence.FromSystem {
		name = "The unit"
	}
	if c.Name != "" {
		name += " " + c.Name
	}
	return name
}

// lastLog is the command that shows what was last said before an end.
func lastLog(c *evidence.Container) string {
	if c.Platform == evidence.FromSystem {
		return "journalctl -u " + c.Name
	}
	return "kubectl logs --previous"
}

// unitFailed says of a unit that systemd has given up how it ended.
func unitFailed(a *answer, c *evidence.Container) {
	var w words
	text := called(c) + " has failed" + lastEnd(c, &w)
	switch {
	case c.LastExitCode.AtLeast(setUpFirst) && c.LastExitCode.AtMost(setUpLast):
		text += ": the code is systemd's own, for a program that it could not run as the unit asks"
	case c.LastReason == "watchdog":
		text += ": systemd's watchdog ended it, for it did not tell that it works"
	case c.LastReason == "timeout":
		text += ": its start or its stop took longer than systemd waits"
	}
	a.suspect(Starts, text+".", "The last lines before its end ("+lastLog(c)+"), and the unit itself (systemctl cat).", &w)
}

// Of these exit codes systemd itself makes use, for a process that it could not
// set up as the unit asks: EXIT_CHDIR is the first.
//
// https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html#Process%20Exit%20Codes
const (
	setUpFirst = 200
	setUpLast  = 245
	setUpExec  = 203
)

// endedByUnit says of a unit that systemd itself ended it, or never ran its
// program, and reports whether it did.
//
// https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html#Restart= (the table of exit causes)
func endedByUnit(f *Finding, end loopEnd) bool {
	switch {
	case !end.unit:
		return false
	case end.code.AtLeast(setUpFirst) && end.code.AtMost(setUpLast):
		neverSetUp(f, end)
	case end.result == "watchdog":
		unitSilent(f, end)
	case slices.Contains([]string{"timeout", "protocol"}, end.result):
		unitNotReady(f, end)
	default:
		return false
	}
	return true
}

func neverSetUp(f *Finding, end loopEnd) {
	f.Cause = "systemd could not set the process up as the unit asks (user, folder, namespace, limits): the program itself never ran."
	if end.code.Number == setUpExec {
		f.Cause = "systemd could not execute the program (203/EXEC): the file of ExecStart= is missing, not executable, for another architecture, or its interpreter is missing. It never ran."
	}
	f.not("a crash of the program", "this exit code is systemd's own, from before the program was run")
	f.not("a start that is too slow", "it ends; it is not waited for")
	f.Now = []string{"Read the line before the end (Failed at step …), and look at the path, its rights and its first line."}
	f.Properly = []string{"Install the program before the unit that starts it; systemd-analyze verify finds a missing one."}
	f.Settle = []string{"systemctl status and systemctl cat of the unit."}
}

// unitSilent tells of a unit that did not report to systemd's watchdog.
func unitSilent(f *Finding, end loopEnd) {
	limit := "in the time of WatchdogSec="
	if end.limit.Known {
		limit = "for " + f.n("watchdog limit", end.limit) + " (WatchdogSec=)"
	}
	f.Cause = "systemd's watchdog ends it: the process lived and did not tell " + limit + " that it works, so that systemd aborted it (SIGABRT). It hung or was held up, or it never reports to the watchdog at all."
	f.not("a crash of the program", "the signal came from systemd, for its silence")
	f.not("out of memory", "systemd's result would be oom-kill")
	f.Now = []string{"Read the stack of the abort (coredumpctl gdb UNIT): it shows where the program stood.", "Raise WatchdogSec= only if it may really be silent for so long."}
	f.Properly = []string{"Report (WATCHDOG=1) from the loop that does the work, at half the limit, and find what holds that loop up.",
		"A program that does not know of the watchdog must not be given WatchdogSec=."}
	f.Settle = []string{"What the machine was short of (CPU, memory, disk) in the seconds before, and a stack while it is silent."}
}

// unitNotReady tells of a unit that did not come to be ready in the way or the time
// that systemd waits for.
func unitNotReady(f *Finding, end loopEnd) {
	f.Cause = "systemd ends it: an operation of the unit, most often its start, did not come to an end in time (TimeoutStartSec=, TimeoutStopSec=)."
	if end.result == "protocol" {
		f.Cause = "Its start did not go as the unit's Type= says: the process ended or went to the background without telling that it is ready."
	}
	f.not("out of memory", "systemd's result would be oom-kill")
	f.Now = []string{"Compare Type= with what the program does: notify needs READY=1 from it, forking a parent that ends, simple neither.", "If the start is only slow, raise TimeoutStartSec=."}
	f.Properly = []string{"Tell readiness (sd_notify) as soon as the program can serve."}
	f.Settle = []string{"systemctl cat of the unit, and its log from the start on."}
}
