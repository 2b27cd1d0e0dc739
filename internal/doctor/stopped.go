package doctor

import (
	"fmt"
	"strings"

	"brink/internal/evidence"
)

// A process that a signal (SIGSTOP, SIGTSTP) or a tracer holds runs nothing until
// it is let go: nothing that it fails to do is its loop's or its pool's fault.
//
// https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html (T, t)
func isStopped(state string) bool { return strings.HasPrefix(strings.ToUpper(state), "T") }

// stoppedPool says that processes of a pool are stopped, and reports whether no
// other of it is left to serve, or to hold what is said to be busy.
func stoppedPool(a *answer, p *evidence.Pool) (all bool) {
	stopped, working, pids := 0, 0, []string{}
	for i := range p.Members {
		switch m := &p.Members[i]; {
		case isStopped(m.RunState) || isStopped(m.State):
			stopped++
			pids = append(pids, fmt.Sprint(m.PID))
		case m.State == "busy":
			working++
		}
	}
	if stopped == 0 {
		return false
	}
	var w words
	n := evidence.Known(float64(stopped), evidence.Events, p.From)
	text := poolName(p) + " has " + w.count("stopped", n, "stopped process") + " (state T, pid " + strings.Join(pids[:min(len(pids), mostPIDs)], ", ") +
		"): a signal (SIGSTOP, ctrl-Z) or a debugger holds it, and it serves nothing until it is let go."
	a.suspect(Workers, text, "Who stopped it: its terminal, a debugger (TracerPid in /proc/PID/status), a script. kill -CONT lets it go.", &w)
	return stopped == len(p.Members) || working == 0
}

// mostPIDs bounds how many are named.
const mostPIDs = 4
