package measure

import (
	"time"

	"brink/internal/experiment"
	"brink/internal/wire"
)

// upDown follows which apps are up, event by event.
type upDown map[string]bool

// add takes an event and tells whether an app started over by it: the platform
// started it again, or its own server killed a worker that had not come up,
// which the platform does not see.
func (u upDown) add(e wire.Event) (startedOver bool) {
	switch e.Kind {
	case wire.Healthy:
		u[e.App] = true
	case wire.Exited, wire.Stopped, wire.GaveUp:
		delete(u, e.App)
	case wire.Restarted:
		delete(u, e.App)
		return true
	case wire.WorkerKilled:
		return !u[e.App]
	}
	return false
}

// firstDeployed is when the first app was deployed, 0 when none was.
func (r RepetitionInfo) firstDeployed() int64 {
	for _, e := range r.Events {
		if e.Kind == wire.Deployed {
			return e.AtNs
		}
	}
	return 0
}

// startsOver are the events by which apps started over.
func (r RepetitionInfo) startsOver() []wire.Event {
	var all []wire.Event
	up := upDown{}
	for _, e := range r.Events {
		if up.add(e) {
			all = append(all, e)
		}
	}
	return all
}

// Cascade tells whether at least so many apps started over within the window
// and were not all healthy again for the time unrecovered after it began, or
// until the repetition ended, if that was later. An app starts over when the
// platform restarts it, and when its own server kills a worker that was still
// booting.
func (r RepetitionInfo) Cascade(apps int, within, unrecovered experiment.Duration) bool {
	starts := r.startsOver()
	for i, first := range starts {
		hit := map[string]bool{}
		for _, e := range starts[i:] {
			if e.AtNs-first.AtNs > int64(within) {
				break
			}
			hit[e.App] = true
		}
		if len(hit) < apps {
			continue
		}
		if down, _ := r.unrecovered(first.AtNs, hit); down >= time.Duration(unrecovered) {
			return true
		}
	}
	return false
}

// unrecovered is how long after from at least one of the apps was not healthy,
// and whether all of them were in the end.
func (r RepetitionInfo) unrecovered(from int64, apps map[string]bool) (down time.Duration, recovered bool) {
	up := upDown{}
	for _, e := range r.Events {
		if e.AtNs < from || !apps[e.App] {
			continue
		}
		if up.add(e); len(up) == len(apps) {
			return time.Duration(e.AtNs - from), true
		}
	}
	return time.Duration(r.EndedNs - from), false
}

// recovery is the time from the first app that started over until all that did
// were healthy again.
func (r RepetitionInfo) recovery() Value {
	starts := r.startsOver()
	if len(starts) == 0 {
		return Value{Missing: "no app started over"}
	}
	hit := map[string]bool{}
	for _, e := range starts {
		hit[e.App] = true
	}
	down, recovered := r.unrecovered(starts[0].AtNs, hit)
	return Value{X: down.Seconds(), N: int64(len(starts)), Censored: !recovered}
}
