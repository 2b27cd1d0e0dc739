package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"brink/internal/evidence"
)

// cliffSlower is how many times slower the newest apps must answer than those
// before them.
const cliffSlower = 2

var capacityCliff = Rule{
	Mode:  CapacityCliff,
	Needs: anyOf(evidence.HasMetrics, evidence.HasRequests),
	Judge: func(l *look, a *answer) {
		for _, b := range l.ladders() {
			if f := tableCliff(b); f != nil {
				a.found(f)
			}
		}
		if f := requestsCliff(l); f != nil {
			a.found(f)
		}
	},
}

// tableCliff looks for the step from which on errors stay: none before it, some
// in every step from it to the end. A lone spike is none.
func tableCliff(b ladder) *Finding {
	at := -1
	for i, s := range b.steps {
		if !s.errors.Known {
			return nil
		}
		switch {
		case s.errors.Above(0) && at < 0:
			at = i
		case s.errors.AtMost(0) && at >= 0:
			return nil
		}
	}
	if at < 1 {
		return nil
	}
	before, after := b.steps[at-1], b.steps[at]
	if !(after.demand() > before.demand()) {
		return nil
	}
	f := &Finding{}
	f.What = "Between " + before.label + " and " + after.label + " the plan stops coping: " + f.count("Http5xx", after.errors, "failed request") + ", none before"
	f.see("Http5xx before", before.errors)
	if before.cpu.Known && after.cpu.Known {
		f.What += "; CPU went from " + f.n("CpuPercentage before", before.cpu) + " to " + f.n("CpuPercentage", after.cpu)
	}
	flat := before.memory.Known && after.memory.Known && after.memory.Number-before.memory.Number <= plateauWidth
	if flat {
		f.What += ", while memory reads " + f.n("MemoryPercentage before", before.memory) + " and then " + f.n("MemoryPercentage", after.memory)
	}
	f.What += "." + newestText(b, before, after, f)
	if flat {
		f.not("room, since memory did not rise", "it cannot rise any further: what is new is paid by what is swapped out")
	}
	cliffText(f)
	f.level(Observed, "the failures and the step stand in the table; one repetition carries no more")
	return f
}

var appsColumn = expression(`^apps?_(\d+)(?:_(\d+))?$`)

// newestText compares groups of apps where the table has them apart: columns
// such as apps_1_6_ms and apps_7_8_ms.
func newestText(b ladder, before, after step, f *Finding) string {
	type group struct {
		first, last int
		value       evidence.Value
		earlier     evidence.Value
	}
	var groups []group
	for i, c := range b.table.Columns {
		m := appsColumn().FindStringSubmatch(c.Metric)
		if m == nil {
			continue
		}
		g := group{}
		g.first, _ = strconv.Atoi(m[1])
		g.last = g.first
		if m[2] != "" {
			g.last, _ = strconv.Atoi(m[2])
		}
		cell := func(s step) evidence.Value {
			if cells := b.table.Rows[s.row].Cells; i < len(cells) {
				return cells[i].Number
			}
			return evidence.Missing(evidence.NotSeen, "the row is short")
		}
		g.value, g.earlier = cell(after), cell(before)
		if g.value.Known {
			groups = append(groups, g)
		}
	}
	if len(groups) < 2 {
		return ""
	}
	slices.SortFunc(groups, func(x, y group) int { return x.first - y.first })
	old, newest := groups[0], groups[len(groups)-1]
	if !grew(old.value, newest.value, cliffSlower) || newest.earlier.Known {
		return ""
	}
	f.not("a fault in apps "+span(newest.first, newest.last), "they are only the last to come; the same app serves as number "+strconv.Itoa(old.first))
	return fmt.Sprintf(" Only the newest suffer: apps %s answer in %s, apps %s in %s.", span(newest.first, newest.last),
		f.n("newest apps", newest.value), span(old.first, old.last), f.n("older apps", old.value))
}

func span(first, last int) string {
	if first == last {
		return strconv.Itoa(first)
	}
	return fmt.Sprintf("%d–%d", first, last)
}

const (
	// cliffApps is how many apps there must be to tell new from old, and
	// cliffRequests how many requests of each.
	cliffApps     = 3
	cliffRequests = 5
	// cliffFails and cliffServes are shares of an app's requests that fail, in
	// percent.
	cliffFails  = 50
	cliffServes = 5
)

// appRequests counts the requests of one app.
type appRequests struct {
	name, file string
	total, bad int
	first      time.Time
	line       int // of the first
}

// requestsByApp counts requests by app, in the order in which apps came.
func (l *look) requestsByApp() []*appRequests {
	var list []*appRequests
	apps := map[string]*appRequests{}
	for i := range l.Requests {
		r := &l.Requests[i]
		for j := range r.List {
			q := &r.List[j]
			if q.App == "" || q.At.IsZero() {
				continue
			}
			s := apps[q.App]
			if s == nil {
				s = &appRequests{name: q.App, file: r.File, first: q.At, line: q.Line}
				apps[q.App] = s
				list = append(list, s)
			}
			s.total++
			if q.Status >= 500 || q.Status == 0 {
				s.bad++
			}
		}
	}
	if came := l.arrivals(list); came != nil {
		slices.SortStableFunc(list, func(a, b *appRequests) int { return came[a.name].Compare(came[b.name]) })
	} else {
		slices.SortStableFunc(list, func(a, b *appRequests) int { return a.first.Compare(b.first) })
	}
	return list
}

// arrivals tells when each app came, where the platform tells it of all: apps
// may be asked all at once long after.
func (l *look) arrivals(list []*appRequests) map[string]time.Time {
	came := map[string]time.Time{}
	for _, e := range l.EventsOf(evidence.ContainerCreated, evidence.ContainerStarted) {
		app := siteName(e.App)
		if at, known := came[app]; !e.At.IsZero() && (!known || e.At.Before(at)) {
			came[app] = e.At
		}
	}
	if slices.ContainsFunc(list, func(s *appRequests) bool { return came[s.name].IsZero() }) {
		return nil
	}
	return came
}

// newestFail returns the place of the first app that fails when all after it
// fail and none before it does, and otherwise -1.
func newestFail(list []*appRequests) int {
	if len(list) < cliffApps {
		return -1
	}
	at := -1
	for i, s := range list {
		bad := 100 * s.bad / max(s.total, 1)
		switch {
		case s.total < cliffRequests:
			return -1
		case bad >= cliffFails:
			if at < 0 {
				at = i
			}
		case bad >= cliffServes || at >= 0:
			return -1
		}
	}
	return at
}

// requestsCliff looks at requests by app: those that came last fail and the
// others serve.
func requestsCliff(l *look) *Finding {
	list := l.requestsByApp()
	failing := newestFail(list)
	said := l.EventsOf(evidence.AppLoadFailed, evidence.WorkerBootFailed, evidence.AddressInUse, evidence.PullFailed)
	if failing < 1 || len(said) > 0 { // an app that says why it fails is not the plan's fault
		return nil
	}
	f := &Finding{}
	from := evidence.Source{File: list[failing].file, Line: list[failing].line}
	var names []string
	bad, total := 0, 0
	for _, s := range list[failing:] {
		names = append(names, s.name)
		bad, total = bad+s.bad, total+s.total
	}
	f.What = fmt.Sprintf("Only the newest apps fail (%s): %s of their %s requests, while the %s that were there before serve.", strings.Join(names, ", "),
		f.n("failed requests", evidence.Known(float64(bad), evidence.Events, from)), f.n("requests of the newest", evidence.Known(float64(total), evidence.Events, from)),
		f.n("apps that serve", evidence.Known(float64(failing), evidence.Events, evidence.Source{File: list[0].file, Line: list[0].line})))
	f.not("a fault in the apps that fail", "cannot be ruled out by this alone; that all of the newest fail and none of the others does speaks for the plan")
	cliffText(f)
	f.level(Correlated, "who came last and who fails are the same; that the plan is full was not seen")
	return f
}

func cliffText(f *Finding) {
	f.Cause = "The plan is full. Apps that run keep their memory; a newcomer needs much at once for its start and does not get it."
	f.Now = []string{"Take the last apps off the plan again, or move them."}
	f.Properly = []string{"A larger size, or fewer apps; leave room for a start, not only for running.", "Start newcomers one by one and watch their start time: it doubles before they fail."}
	f.Settle = []string{"Swap, reclaim and /proc/pressure/memory while a newcomer starts.", "The same app alone on an empty plan."}
}
