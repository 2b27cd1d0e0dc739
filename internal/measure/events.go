package measure

import (
	"time"

	"brink/internal/experiment"
	"brink/internal/wire"
)

// maxEvents bounds the events that are kept of one repetition.
const maxEvents = 10_000

// startStory follows the apps of one repetition from their events.
type startStory struct {
	deployed map[string]int64
	healthy  map[string]int64
	// watched is until when each app was followed.
	watched  map[string]int64
	exits    int
	restarts int
	// bootKills counts workers that were killed before their app ever answered.
	bootKills int
}

func follow(events []wire.Event) *startStory {
	s := &startStory{deployed: map[string]int64{}, healthy: map[string]int64{}, watched: map[string]int64{}}
	for _, e := range events {
		_, up := s.healthy[e.App]
		s.watched[e.App] = max(s.watched[e.App], e.AtNs)
		switch e.Kind {
		case wire.Deployed:
			s.deployed[e.App] = e.AtNs
		case wire.Healthy:
			if !up {
				s.healthy[e.App] = e.AtNs
			}
		case wire.Exited:
			s.exits++
		case wire.Restarted:
			s.restarts++
		case wire.WorkerKilled:
			if !up {
				s.bootKills++
			}
		}
	}
	return s
}

// values computes the metrics that events carry. An app that never became
// healthy makes the cold start a bound: as long as it was waited for.
func (s *startStory) values(n int64) map[string]Value {
	v := map[string]Value{
		"exits":      {X: float64(s.exits), N: n},
		"restarts":   {X: float64(s.restarts), N: n},
		"boot_kills": {X: float64(s.bootKills), N: n},
	}
	if len(s.deployed) == 0 {
		return v
	}
	slowest := Value{N: n}
	for app, at := range s.deployed {
		up, ok := s.healthy[app]
		if !ok {
			up, slowest.Censored = s.watched[app], true
		}
		slowest.X = max(slowest.X, float64(up-at)/1e9)
	}
	if slowest.X == 0 {
		slowest = Value{Missing: "no app began to start", N: n}
	}
	v["cold_start_s"] = slowest
	return v
}

// Cascade tells whether at least restarts apps restarted within the window and
// were not all healthy again for the time unrecovered after it began, or until
// the repetition ended, if that was later.
func (r RepetitionInfo) Cascade(restarts int, within, unrecovered experiment.Duration) bool {
	var starts []wire.Event
	for _, e := range r.Events {
		if e.Kind == wire.Restarted {
			starts = append(starts, e)
		}
	}
	for i, first := range starts {
		hit := map[string]bool{}
		for _, e := range starts[i:] {
			if e.AtNs-first.AtNs > int64(within) {
				break
			}
			hit[e.App] = true
		}
		if len(hit) >= restarts && r.unrecovered(first.AtNs, hit) >= time.Duration(unrecovered) {
			return true
		}
	}
	return false
}

// unrecovered is how long after from at least one of the apps was not healthy.
func (r RepetitionInfo) unrecovered(from int64, apps map[string]bool) time.Duration {
	up := map[string]bool{}
	for _, e := range r.Events {
		if e.AtNs < from || !apps[e.App] {
			continue
		}
		switch e.Kind {
		case wire.Healthy:
			up[e.App] = true
		case wire.Exited, wire.Restarted:
			delete(up, e.App)
		}
		if len(up) == len(apps) {
			return time.Duration(e.AtNs - from)
		}
	}
	return time.Duration(r.EndedNs - from)
}
