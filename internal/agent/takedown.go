package agent

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// takeDown stops a process and everything that belongs to the app. It asks the
// first process, whose business its workers are (asked together with them, a
// master may replace them first), then what that one leaves behind, and after
// gracefulLimit it insists. It returns when no process is left.
func (a *app) takeDown(p *process) {
	a.scan()
	p.terminate()
	select {
	case <-p.exited:
	case <-a.agent.clock.After(gracefulLimit):
	}
	a.scan()
	a.tree.terminate()
	if !a.awaitEmpty(gracefulLimit / 3) {
		a.killAll()
	}
	a.finish(p)
}

// killAll kills every process of the app, and those that they start
// meanwhile, until none is left.
func (a *app) killAll() {
	deadline := a.agent.clock.Now().Add(killLimit)
	for patience := 100 * time.Millisecond; ; patience = min(2*patience, time.Second) {
		a.scan()
		a.tree.kill()
		if c := a.cgroup.Load(); c != nil {
			_ = c.Kill() // what it cannot do, the next round does
		}
		if a.awaitEmpty(patience) {
			a.leftErr = nil // whatever was left of an earlier start is gone too
			return
		}
		if a.agent.clock.Now().After(deadline) {
			var left []string
			for _, id := range a.tree.identities() {
				left = append(left, id.String())
			}
			a.leftErr = fmt.Errorf("app %s: %s cannot be ended", a.spec.Name, strings.Join(left, ", "))
			return
		}
	}
}

// awaitEmpty waits up to limit until the app has no process left. It looks less
// and less often: processes that do not end wait for memory, on a machine that
// has better things to do than being looked at.
func (a *app) awaitEmpty(limit time.Duration) bool {
	deadline := a.agent.clock.Now().Add(limit)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		a.scan()
		if a.tree.empty() {
			return true
		}
		if a.agent.clock.Now().After(deadline) {
			return false
		}
		<-a.agent.clock.After(pause)
	}
}

// scan looks for the app's processes and reaps its orphans.
func (a *app) scan() {
	a.tree.scan(true)
	a.agent.spawn.reap(a.tree.orphans(os.Getpid(), nil))
}
