package doctor

import (
	"slices"

	"brink/internal/evidence"
)

// loopServers serve all requests by one loop in each process.
var loopServers = []string{"node", "npm", "pm2", "uvicorn", "hypercorn", "daphne"}

// phaseTimes is how many times as long a health check must take in one phase as
// in another. A loop that turns answers within milliseconds under any load.
const phaseTimes = 20

// phaseStalls looks at health checks that were timed in phases, in front of a
// server that is one loop.
func phaseStalls(l *look, a *answer) {
	s := l.start()
	if s == nil || !slices.Contains(loopServers, s.Server) {
		return
	}
	for i := range l.Tables {
		t := &l.Tables[i]
		for j, c := range t.Columns {
			if !answerColumn().MatchString(c.Metric) || c.Unit != "s" && c.Unit != "ms" {
				continue
			}
			fast, slow, label := extremes(t, j)
			if !slow.AtLeast(loopOldest) || !fast.AtMost(fastMost) || !(slow.Number >= phaseTimes*fast.Number) {
				continue
			}
			f := &Finding{}
			f.What = "A health check takes " + f.n("slowest health check", slow) + " (" + label + ") where it takes " + f.n("fastest health check", fast) + " otherwise, and the server (" + s.Server + ") is one loop."
			f.level(Inferred, "a check that does nothing waits for its turn; what held the loop was not seen")
			f.Cause = "Something in that phase computes or waits on the loop without giving the turn away."
			f.not("too few workers", "a loop takes in every request at once, unless it stands still")
			loopAdvice(f)
			a.found(f)
			return
		}
	}
}

// extremes are the smallest and the largest time of a column, in s, and the
// label of the row with the largest.
func extremes(t *evidence.Table, column int) (least, most evidence.Value, label string) {
	least = evidence.Missing(evidence.NotSeen, "no time is told")
	most = least
	for _, row := range t.Rows {
		if column >= len(row.Cells) {
			continue
		}
		v := inSeconds(row.Cells[column].Number)
		if v.Known && (!least.Known || v.Number < least.Number) {
			least = v
		}
		if v.Known && (!most.Known || v.Number > most.Number) {
			most, label = v, row.Label
		}
	}
	return least, most, label
}
