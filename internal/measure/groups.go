package measure

import (
	"math"

	"brink/internal/record"
)

// byAge tells the requests to apps that served before a step began from those to
// apps that the step deployed: on a plan that fills up they fare differently.
type byAge struct {
	// deployed are the record's ids of the apps that this repetition deployed.
	deployed map[int64]bool
	// groups are by whether an app is among them.
	groups map[bool]*requests
	// last tells of each app that was asked whether its last request was
	// answered well; front counts answers 5xx in which no app says anything.
	last     map[int64]verdictOf
	fives    int64
	frontEnd int64
}

// verdictOf is what became of the request to an app that was due last.
type verdictOf struct {
	due int64
	ok  bool
}

func newByAge(apps []record.App) *byAge {
	b := &byAge{deployed: map[int64]bool{}, groups: map[bool]*requests{}, last: map[int64]verdictOf{}}
	for _, a := range apps {
		b.deployed[a.ID] = true
	}
	return b
}

// add takes a request to an app; those due before from belong to the warm-up.
func (b *byAge) add(app int64, p *record.Probe, from int64) {
	if last := b.last[app]; p.Due >= last.due {
		b.last[app] = verdictOf{due: p.Due, ok: p.Outcome == "ok"}
	}
	if p.Due < from {
		return
	}
	b.group(b.deployed[app]).addOutcome(p)
	if p.Status >= 500 {
		b.fives++
		if p.Pid == 0 && p.ServedNs < 0 {
			b.frontEnd++
		}
	}
}

func (b *byAge) group(fresh bool) *requests {
	if b.groups[fresh] == nil {
		b.groups[fresh] = &requests{latency: histogram(), censoredFrom: math.MaxInt64}
	}
	return b.groups[fresh]
}

// addOutcome takes no more of a request than how long it took and whether it
// failed.
func (r *requests) addOutcome(p *record.Probe) {
	r.total++
	if p.Outcome != "ok" {
		r.failed++
	}
	switch took := p.Done - p.Due; {
	case p.Outcome == "timeout":
		r.timeouts++
		r.censoredFrom = min(r.censoredFrom, took)
		r.addLatency(took)
	case p.Status > 0:
		r.addLatency(took)
	}
}

func (b *byAge) values() map[string]Value {
	v := map[string]Value{}
	for fresh, names := range map[bool][2]string{
		false: {"latency_old_p50_ms", "failure_old_pct"}, true: {"latency_new_p50_ms", "failure_new_pct"},
	} {
		r := b.groups[fresh]
		if r == nil || r.total == 0 {
			none := Value{Missing: "no app had been deployed before the step, or none was asked"}
			if fresh {
				none.Missing = "the step deployed no app, or none was asked"
			}
			v[names[0]], v[names[1]] = none, none
			continue
		}
		latencies := map[string]Value{}
		r.latencies(latencies)
		v[names[0]] = latencies["latency_p50_ms"]
		v[names[1]] = Value{X: 100 * float64(r.failed) / float64(r.total), N: r.total}
	}
	serving := 0
	for _, l := range b.last {
		if l.ok {
			serving++
		}
	}
	n := int64(len(b.last))
	for name, x := range map[string]float64{
		"apps_serving": float64(serving), "apps_failing": float64(len(b.last) - serving),
		"front_end_5xx": float64(b.frontEnd), "app_5xx": float64(b.fives - b.frontEnd),
	} {
		v[name] = Value{X: x, N: n}
	}
	return v
}
