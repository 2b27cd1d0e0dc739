package doctor

import (
	"slices"
	"strings"
	"time"

	"brink/internal/evidence"
)

// loopPace is the mean time between restarts up to which they are a loop where
// the last was a moment ago: longer than the longest back-off and the run that
// resets it together (15 min). Twice that is a guess.
const loopPace = 30 * time.Minute

// pace is the mean time between a container's restarts over its life, missing
// where its age is not told.
func pace(c *evidence.Container) evidence.Value {
	v := c.Age.Over(c.Restarts)
	v.Unit = evidence.Seconds
	return v
}

// pacedLoop judges a container that runs at this moment, by how often it did not.
func pacedLoop(l *look, c *evidence.Container) *Finding {
	f := containerLoop(l, c)
	f.What = strings.TrimSuffix(f.What, ".") + ", once in " + f.n("mean time between restarts", pace(c)) + " over its life of " + f.n("age", c.Age) + ", the last time " +
		f.n("since the last restart", c.SinceRestart) + " ago: that it runs is of this moment."
	f.Span = "over its life; how evenly, the table does not tell"
	f.level(Inferred, "the platform counts the restarts and tells the last; that they go on follows from their pace")
	return f
}

// lastRestart says what is told of when a container was last restarted.
func lastRestart(c *evidence.Container, w *words) string {
	if !c.SinceRestart.Known {
		return "; when and why is not told."
	}
	return ", " + w.n("since the last restart", c.SinceRestart) + " ago; why is not told."
}

// hasEnded reports whether a container stands still after an end whose exit code
// is told, and that was no failure to run it at all.
func hasEnded(c *evidence.Container) bool {
	return slices.Contains([]string{"exited", "dead", "terminated"}, strings.ToLower(c.State)) && c.ExitCode.Known &&
		c.OOMKilled != evidence.Yes && !dockerRefused(c)
}

// endOnly says of a container that ended and was not started again what its exit
// code tells: a number above 128 is the signal that ended it (137 is SIGKILL, 143
// SIGTERM).
//
// https://docs.docker.com/engine/containers/run/#exit-status
func endOnly(a *answer, c *evidence.Container) {
	var w words
	text := called(c) + " ended with exit code " + w.n("exit code", c.ExitCode)
	if !c.Finished.IsZero() {
		text += " at " + c.Finished.UTC().Format("2006-01-02 15:04:05")
	}
	switch code := int(c.ExitCode.Number); {
	case code == 0:
		a.note(Starts, text+": it was done, or was told to end.", &w)
	case code == 143:
		a.note(Starts, text+": SIGTERM, it was told to end.", &w)
	case code == 137:
		text += " (SIGKILL): somebody killed it, it did not end in time when it was told to (docker stop waits 10 s), or the kernel did for want of memory"
		if c.OOMKilled == evidence.No {
			text += "; that OOMKilled is false is no proof against that"
		}
		a.suspect(Starts, text+".", "The kernel log of the time of its end, and who stopped it (docker events).", &w)
	case code > 128 && code < 160:
		a.suspect(Starts, text+", which is signal "+w.n("signal", evidence.Known(float64(code-128), evidence.NoUnit, c.ExitCode.From...))+"; why is not told.", "The last lines of its own log (docker logs), and the kernel log.", &w)
	default:
		a.suspect(Starts, text+"; why is not told.", "The last lines of its own log (docker logs, kubectl logs --previous).", &w)
	}
}
