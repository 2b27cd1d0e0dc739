package measure

import (
	"brink/internal/stats"
	"brink/internal/wire"
)

// maxEvents bounds the events that are kept of one repetition.
const maxEvents = 10_000

// workerTimeOut is the detail with which the agent reports a worker that its
// own master gave up.
const workerTimeOut = "worker time-out"

// startStory follows the apps of one repetition from their events.
type startStory struct {
	deployed map[string]int64
	healthy  map[string]int64
	// watched is until when each app was followed.
	watched map[string]int64
	// last is until when anybody cared for an app that was given up or stopped.
	last map[string]int64
	// order lists the apps as they were deployed.
	order    []string
	exits    int
	restarts int
	// restarted are the apps that the platform started again, and when the first
	// of them was.
	restarted map[string]bool
	oomKills  int
	// bootKills counts workers that were killed before their app ever answered.
	bootKills int
	// ownKills counts workers that were killed by their master's time-out.
	ownKills int
}

func follow(events []wire.Event) *startStory {
	s := &startStory{deployed: map[string]int64{}, healthy: map[string]int64{}, watched: map[string]int64{}, last: map[string]int64{}, restarted: map[string]bool{}}
	for _, e := range events {
		_, up := s.healthy[e.App]
		s.watched[e.App] = max(s.watched[e.App], e.AtNs)
		switch e.Kind {
		case wire.Deployed:
			s.deployed[e.App] = e.AtNs
			s.order = append(s.order, e.App)
		case wire.Healthy:
			if !up {
				s.healthy[e.App] = e.AtNs
			}
		case wire.Exited:
			s.exits++
		case wire.Restarted:
			s.restarts++
			s.restarted[e.App] = true
		case wire.OOMKilled:
			s.oomKills++
		case wire.GaveUp, wire.Stopped:
			s.last[e.App] = e.AtNs
		case wire.WorkerKilled:
			if !up {
				s.bootKills++
			}
			if e.Detail == workerTimeOut {
				s.ownKills++
			}
		}
	}
	return s
}

// values computes the metrics that n events carry, of a repetition that ended
// at ended (0 where that is not known).
func (s *startStory) values(n, ended int64) map[string]Value {
	v := map[string]Value{
		"exits":          {X: float64(s.exits), N: n},
		"restarts":       {X: float64(s.restarts), N: n},
		"restarted_apps": {X: float64(len(s.restarted)), N: n},
		"oom_kills":      {X: float64(s.oomKills), N: n},
		"boot_kills":     {X: float64(s.bootKills), N: n},
		"worker_kills":   {X: float64(s.ownKills), N: n},
	}
	if len(s.order) > 0 {
		s.coldStarts(v, n, ended)
	}
	return v
}

// coldStarts computes how long the apps took to start, by themselves and
// together.
func (s *startStory) coldStarts(v map[string]Value, n, ended int64) {
	var all stats.Sample
	slowest, down := Value{N: n}, 0
	for _, app := range s.order {
		x := s.coldStart(app, ended)
		all = append(all, x)
		slowest.X = max(slowest.X, x.X)
		if x.Censored {
			slowest.Censored = true
			down++
		}
	}
	v["never_up"] = Value{X: float64(down), N: n}
	v["first_up_s"] = s.firstUp(slowest)
	if slowest.X == 0 {
		none := Value{Missing: "no app began to start", N: n}
		for _, name := range []string{"cold_start_s", "cold_start_first_s", "cold_start_median_s", "cold_start_newest_s"} {
			v[name] = none
		}
		return
	}
	v["cold_start_s"] = slowest
	median := stats.Median(all)
	v["cold_start_median_s"] = Value{X: median.X, N: n, Censored: median.Bound != stats.Exact}
	of := func(x stats.Obs) Value { return Value{X: x.X, Censored: x.Censored, N: n} }
	v["cold_start_first_s"], v["cold_start_newest_s"] = of(all[0]), of(all[len(all)-1])
}

// firstUp is the time from the first deployment to the first app that was up; with
// none it is known to be at least as long as the slowest was waited for.
func (s *startStory) firstUp(slowest Value) Value {
	first := Value{N: slowest.N, Missing: "no app began to start"}
	for _, app := range s.order {
		if up, ok := s.healthy[app]; ok {
			x := float64(up-s.deployed[s.order[0]]) / 1e9
			if first.Missing != "" || x < first.X {
				first = Value{X: x, N: slowest.N}
			}
		}
	}
	if first.Missing != "" && slowest.X > 0 {
		return slowest
	}
	return first
}

// coldStart is the time from deployed to healthy in seconds. Of an app that
// never was, it is known to be at least as long as the app was waited for: until
// it was given up, or to the end of the repetition.
func (s *startStory) coldStart(app string, ended int64) stats.Obs {
	from := s.deployed[app]
	if up, ok := s.healthy[app]; ok {
		return stats.Obs{X: float64(up-from) / 1e9}
	}
	until := s.last[app]
	if until == 0 {
		until = s.watched[app]
		if until > from { // it began to start
			until = max(until, ended)
		}
	}
	return stats.Obs{X: float64(until-from) / 1e9, Censored: true}
}
