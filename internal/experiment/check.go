package experiment

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// given are the variables that brink sets for every app.
var given = []string{"ALLOC_MB", "BIND", "PORT"}

// checkApp checks what the fields of an app say together, and fills in the
// default that depends on the runtime.
func (d decoder) checkApp(n *node, a *App) {
	if a.Runtime == "command" && a.Command == nil && n.get("command") == nil {
		d.about(n, "command", "is missing; runtime command needs the program and its arguments")
	}
	if a.Runtime != "command" && a.Runtime != "" && n.get("command") != nil {
		d.about(n, "command", "belongs to runtime command, not to %s", a.Runtime)
	}
	if a.Runtime == "flask" && a.WorkerClass == "" && n.get("worker_class") == nil {
		a.WorkerClass = "sync"
	}
	if a.Runtime != "flask" && a.Runtime != "" && n.get("worker_class") != nil {
		d.about(n, "worker_class", "belongs to runtime flask, not to %s", a.Runtime)
	}
	if a.Threads > 1 && a.WorkerClass != "gthread" && a.Runtime != "" {
		d.about(n, "threads", "more than 1 needs runtime flask with worker class gthread")
	}
	d.checkServer(n, a)
	d.checkWhole(n, a)
	d.checkDeploy(n, a)
	d.checkEnv(n.get("env"))
}

// checkServer refuses what the app's server does not have.
func (d decoder) checkServer(n *node, a *App) {
	if a.Runtime == "node" && a.Workers > 1 {
		d.about(n, "workers", "more than 1 needs runtime flask, asgi, go or command; the node app is one process")
	}
	if (a.Runtime == "node" || a.Runtime == "asgi") && n.get("timeout") != nil {
		d.about(n, "timeout", "belongs to runtimes flask and go; %s has no watchdog that kills a worker", a.Server())
	}
}

// checkWhole refuses fractions of a second where a server counts seconds.
func (d decoder) checkWhole(n *node, a *App) {
	refuse := func(field string, span Duration) {
		if span%Duration(time.Second) != 0 {
			d.about(n, field, "%s is no whole number of seconds, which is what %s counts", span, a.Server())
		}
	}
	switch a.Runtime {
	case "flask":
		refuse("timeout", a.Timeout)
		refuse("keep_alive", a.KeepAlive)
	case "asgi", "node":
		refuse("keep_alive", a.KeepAlive)
	}
}

// checkDeploy checks what belongs to one deploy mode only.
func (d decoder) checkDeploy(n *node, a *App) {
	python := a.Runtime == "flask" || a.Runtime == "asgi"
	switch {
	case a.MemoryLimitMB > 0 && a.Deploy != "container" && a.Deploy != "":
		d.about(n, "memory_limit_mb", "belongs to deploy: container; a zip has no limit of its own")
	case a.Build && a.Deploy == "container":
		d.about(n, "build", "belongs to deploy: zip; a container comes built")
	case a.Build && !python && a.Runtime != "":
		d.about(n, "build", "belongs to runtimes flask and asgi, not to %s", a.Runtime)
	}
}

func (d decoder) checkEnv(n *node) {
	if n == nil {
		return
	}
	for _, e := range n.entries {
		switch {
		case !envPattern.match(e.key):
			p := n.keyProblem(e, quote(e.key)+" cannot name an environment variable")
			p.Allowed = envPattern.allowed
			d.add(p)
		case secret(e.key):
			d.add(n.keyProblem(e, fmt.Sprintf("%s looks like a secret, and what stands here is recorded; let the app read it from a file, or rename the variable", quote(e.key))))
		case slices.Contains(given, e.key):
			d.add(n.keyProblem(e, quote(e.key)+" is set by brink itself"))
		}
	}
}

// uses says which fields a kind of traffic uses beside the common ones, and
// needs which it cannot do without.
var (
	uses = map[string][]string{
		"batch":      {"count", "stagger"},
		"sequential": {"count"},
		"steady":     {"every", "duration", "count"},
		"rate":       {"rate", "arrivals", "duration", "count"},
	}
	needs = map[string][]string{"batch": {"count"}, "sequential": {"count"}, "steady": {"every"}, "rate": {"rate"}}
)

// traffic checks a step's streams and gives each its target. A stream at an
// app with copies becomes one stream per copy; steady ones take turns, since
// copies that were always asked at the same instant would wait for each other.
func (x *expander) traffic(s *Step, n *node, copies map[string][]string) {
	streams := s.Traffic
	s.Traffic = nil
	for i, tn := range n.elements() {
		if tn.kind != mapping || i >= len(streams) {
			continue
		}
		t := streams[i]
		x.checkTraffic(tn, &t)
		targets, start, pace := x.targets(s, tn, t.App, copies), t.Start, t.pace()
		for k, app := range targets {
			t.App, t.Start = app, start+pace*Duration(k)/Duration(len(targets))
			s.Traffic = append(s.Traffic, t)
		}
	}
}

// pace is the time from one request to the next, 0 where it is not always the
// same.
func (t Traffic) pace() Duration {
	switch {
	case t.Kind == "steady":
		return t.Every
	case t.Kind == "rate" && t.Arrivals == "constant" && t.Rate > 0:
		return Duration(float64(time.Second) / t.Rate)
	}
	return 0
}

func (x *expander) checkTraffic(n *node, t *Traffic) {
	if t.Kind == "" {
		return
	}
	for _, name := range needs[t.Kind] {
		if n.get(name) == nil {
			x.about(n, name, "is missing; %s traffic needs it", t.Kind)
		}
	}
	for _, e := range n.entries {
		for _, other := range uses {
			if slices.Contains(other, e.key) && !slices.Contains(uses[t.Kind], e.key) {
				x.add(n.keyProblem(e, "does not belong to "+t.Kind+" traffic"))
				break
			}
		}
	}
	endless := t.Kind == "steady" || t.Kind == "rate"
	if endless && n.get("duration") == nil && n.get("count") == nil {
		x.about(n, "duration", "is missing; %s traffic without duration or count never ends", t.Kind)
	}
	if t.Kind == "rate" && t.Arrivals == "" && n.get("arrivals") == nil {
		t.Arrivals = "constant"
	}
}

// targets returns the apps that a stream is sent to.
func (x *expander) targets(s *Step, n *node, app string, copies map[string][]string) []string {
	if app == "" {
		if n.get("app") != nil || len(s.Apps) == 0 {
			return nil
		}
		if len(s.Apps) > 1 {
			names := slices.Collect(maps.Keys(copies))
			p := n.fieldProblem("app", fmt.Sprintf("is missing; the step has %d apps", len(s.Apps)))
			p.Allowed = list(names)
			x.add(p)
			return nil
		}
		return []string{s.Apps[0].Name}
	}
	if names := copies[app]; names != nil {
		return names
	}
	known := slices.Collect(maps.Keys(copies))
	for _, a := range s.Apps {
		if a.Name == app {
			return []string{app}
		}
		known = append(known, a.Name)
	}
	slices.Sort(known)
	x.word(n.get("app"), quote(app)+" is not an app of the step", app, slices.Compact(known))
	return nil
}

// Vars are the numbers that a formula about the step can use: its factors,
// durations in seconds, and what follows from the step itself: requests, the
// count of its only stream; workers, threads and alloc_mb where all its apps
// have the same; cpus where the plan limits them; apps, their number.
func (s Step) Vars() map[string]float64 {
	vars := s.derived()
	for name, l := range s.Factors {
		if l.Numeric {
			vars[name] = l.Number
		}
	}
	return vars
}

func (s Step) derived() map[string]float64 {
	vars := map[string]float64{"apps": float64(len(s.Apps))}
	if len(s.Traffic) == 1 && s.Traffic[0].Count > 0 {
		vars["requests"] = float64(s.Traffic[0].Count)
	}
	if s.Plan.CPUs > 0 {
		vars["cpus"] = float64(s.Plan.CPUs)
	}
	common := func(name string, of func(App) int) {
		for _, a := range s.Apps {
			if of(a) != of(s.Apps[0]) {
				return
			}
		}
		if len(s.Apps) > 0 {
			vars[name] = float64(of(s.Apps[0]))
		}
	}
	common("workers", func(a App) int { return a.Workers })
	common("threads", func(a App) int { return a.Threads })
	common("alloc_mb", func(a App) int { return a.AllocMB })
	return vars
}

// agree checks that a factor with the name of a derived variable has its
// value, so that a name in a formula means one thing.
func (x *expander) agree(s *Step, authored *node) {
	derived := s.derived()
	for name, l := range s.Factors {
		if v, ok := derived[name]; ok && (!l.Numeric || l.Number != v) {
			x.add(authored.get("factors").fieldProblem(name,
				fmt.Sprintf("is %s, but the step has %s %v; rename the factor or let the step use it", l.Text, name, v)))
		}
	}
}
