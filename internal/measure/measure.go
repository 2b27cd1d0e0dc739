package measure

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"brink/internal/experiment"
	"brink/internal/metric"
	"brink/internal/record"
	"brink/internal/wire"
)

// Options say how raw data becomes values. They act at analysis only: the
// record keeps everything, so each of them can be taken back.
type Options struct {
	// NoWarmUp counts requests and samples of the warm-up too.
	NoWarmUp bool
	// NoCensoring takes limits for values: "at least 30 s" becomes 30 s.
	NoCensoring bool
	// Exclude leaves repetitions out, each with its reason.
	Exclude []Exclusion
}

// Exclusion leaves one repetition of one step out of all values.
type Exclusion struct {
	Step   string
	Number int
	Reason string
}

// The environment's names for the machine's number of CPUs and its memory,
// which it writes as "7954 MiB".
const (
	factCPUs   = "cpus"
	factMemory = "MemTotal"
)

// maxWarmUpShare bounds the warm-up to a fifth of the step.
const maxWarmUpShare = 0.2

// Table holds every metric of every step of a run.
type Table struct {
	Steps []StepInfo
	// MachineCPUs is the number of CPUs of the machine that carried the plan, 0
	// when the record does not say.
	MachineCPUs int
	// MachineMB is its memory in units of 2^20 bytes, 0 when the record does not
	// say.
	MachineMB int
	cells     map[string]map[string]*Cell
}

// StepInfo is a step as it was recorded, with its repetitions.
type StepInfo struct {
	experiment.Step
	Repetitions []RepetitionInfo
	// P95 and P99 describe the latency in ms of all requests of the usable
	// repetitions together. They are description: no test sees them.
	P95, P99 Value
	// Requests and Failed count the same requests.
	Requests, Failed int64
}

// RepetitionInfo is one repetition with what the analysis did to it.
type RepetitionInfo struct {
	record.Repetition
	// WarmUpEndNs is where counting begins, 0 when nothing is left out.
	WarmUpEndNs int64
	// Skipped is the number of requests that fell into the warm-up.
	Skipped int64
	// Excluded is the reason for leaving the repetition out, or empty.
	Excluded string
	// Events are those that tell an app's ups and downs, in order.
	Events []wire.Event
}

// Load measures a whole record. Its memory does not grow with the number of
// probes. Leaving out a repetition that is not there is an error.
func Load(ctx context.Context, r *record.Reader, o Options) (*Table, error) {
	steps, err := r.Steps(ctx)
	if err != nil {
		return nil, err
	}
	repetitions, err := r.Repetitions(ctx)
	if err != nil {
		return nil, err
	}
	t := &Table{cells: map[string]map[string]*Cell{}}
	if err := t.machine(ctx, r); err != nil {
		return nil, err
	}
	byStep := map[int64][]record.Repetition{}
	for _, rep := range repetitions {
		byStep[rep.StepID] = append(byStep[rep.StepID], rep)
	}
	for _, s := range steps {
		var step experiment.Step
		if err := json.Unmarshal([]byte(s.JSON), &step); err != nil {
			return nil, fmt.Errorf("step %s of the record: %w", s.Name, err)
		}
		info := StepInfo{Step: step}
		all := newRequests()
		for _, rep := range byStep[s.ID] {
			ri, values, req, err := t.repetition(ctx, r, step, rep, o)
			if err != nil {
				return nil, fmt.Errorf("step %s, repetition %d: %w", s.Name, rep.Number, err)
			}
			if o.NoCensoring {
				uncensor(values)
			}
			t.put(step.Name, ri, values)
			info.Repetitions = append(info.Repetitions, ri)
			if !rep.Twin && req != nil {
				all.pool(req)
			}
		}
		pooled := map[string]Value{}
		all.latencies(pooled)
		info.P95, info.P99 = pooled["latency_p95_ms"], pooled["latency_p99_ms"]
		info.Requests, info.Failed = all.total, all.failed
		t.Steps = append(t.Steps, info)
	}
	return t, t.check(o.Exclude)
}

// check refuses an exclusion that meets no repetition: it would be ignored.
func (t *Table) check(exclusions []Exclusion) error {
	for _, x := range exclusions {
		s, _ := t.Step(x.Step)
		if !slices.ContainsFunc(s.Repetitions, func(r RepetitionInfo) bool { return r.Excluded != "" && r.Number == x.Number }) {
			return fmt.Errorf("exclude %s:%d: the record has no such repetition", x.Step, x.Number)
		}
	}
	return nil
}

// machine reads how many CPUs and how much memory the environment names.
func (t *Table) machine(ctx context.Context, r *record.Reader) error {
	facts, err := r.Facts(ctx)
	if err != nil {
		return err
	}
	for _, f := range facts {
		switch f.Name {
		case factCPUs:
			if t.MachineCPUs, err = strconv.Atoi(f.Value); err != nil {
				return fmt.Errorf("fact %s of the record: %q is no number", f.Name, f.Value)
			}
		case factMemory:
			if n, ok := strings.CutSuffix(f.Value, " MiB"); ok {
				t.MachineMB, _ = strconv.Atoi(n) // 0 says that it is not known
			}
		}
	}
	return nil
}

// Cell returns one metric of one step. A metric that was never computed has
// no values.
func (t *Table) Cell(step, name string) Cell {
	if c := t.cells[step][name]; c != nil {
		return *c
	}
	m, _ := metric.Lookup(name)
	return Cell{Metric: m, Step: step}
}

// Step returns the step of that name.
func (t *Table) Step(name string) (StepInfo, bool) {
	for _, s := range t.Steps {
		if s.Name == name {
			return s, true
		}
	}
	return StepInfo{}, false
}

func (t *Table) put(step string, rep RepetitionInfo, values map[string]Value) {
	cells := t.cells[step]
	if cells == nil {
		cells = map[string]*Cell{}
		t.cells[step] = cells
	}
	for _, m := range metric.All() {
		c := cells[m.Name]
		if c == nil {
			c = &Cell{Metric: m, Step: step}
			cells[m.Name] = c
		}
		v, ok := values[m.Name]
		if !ok {
			continue
		}
		v.Repetition, v.Number = rep.ID, rep.Number
		switch {
		case rep.Twin:
			c.Twins = append(c.Twins, v)
		case rep.Phase > 0:
			c.addPhase(v)
		default:
			c.Values = append(c.Values, v)
		}
	}
}

// unusable says why no value of a repetition may be used, or is empty.
func unusable(step experiment.Step, rep record.Repetition, o Options) (reason string, excluded bool) {
	for _, x := range o.Exclude {
		if x.Step == step.Name && x.Number == rep.Number && !rep.Twin {
			return "excluded: " + x.Reason, true
		}
	}
	switch rep.Status {
	case "done":
		return "", false
	case "":
		return "no status", false
	default:
		if rep.Reason != "" {
			return rep.Status + ": " + rep.Reason, false
		}
		return rep.Status, false
	}
}

func (t *Table) repetition(ctx context.Context, r *record.Reader, step experiment.Step, rep record.Repetition, o Options) (RepetitionInfo, map[string]Value, *requests, error) {
	info := RepetitionInfo{Repetition: rep}
	reason, excluded := unusable(step, rep, o)
	if excluded {
		info.Excluded = reason
	}
	values, err := fromEvents(ctx, r, &info)
	if err != nil {
		return info, nil, nil, err
	}
	if reason != "" {
		// That apps failed to start is data; what the traffic met is not, and of a
		// repetition that was cut short not even what happened to the apps.
		kept := rep.Status == record.Failed && !excluded
		for _, m := range metric.All() {
			if _, ok := values[m.Name]; !ok || !kept {
				values[m.Name] = Value{Missing: reason}
			}
		}
		return info, values, nil, nil
	}
	from := rep.TrafficNs
	if !o.NoWarmUp {
		if w := warmUp(step, rep); w > 0 {
			from += int64(w)
			info.WarmUpEndNs = from
		}
	}
	req := newRequests()
	shortfall := 0.0
	streams, err := r.Streams(ctx, rep.ID)
	if err != nil {
		return info, nil, nil, err
	}
	apps, err := r.Apps(ctx, rep.ID)
	if err != nil {
		return info, nil, nil, err
	}
	ages := newByAge(apps)
	for _, s := range streams {
		shortfall = max(shortfall, s.Shortfall)
		req.reuse = s.Ordinal >= 1 && s.Ordinal <= len(step.Traffic) && step.Traffic[s.Ordinal-1].Reuse
		for p, err := range r.Probes(ctx, s.ID) {
			if err != nil {
				return info, nil, nil, err
			}
			req.add(p, from)
			ages.add(s.AppID, p, from)
		}
	}
	info.Skipped = req.skipped
	merge(values, req.values(step))
	merge(values, ages.values())
	values["shortfall_pct"] = Value{X: 100 * shortfall, N: req.total + req.skipped}

	sig := newSignals(from, rep.TrafficEndNs, t.cpus(step))
	memory := newUnder(spansOf(info, from), t.cpus(step))
	for s, err := range r.Samples(ctx, rep.ID) {
		if err != nil {
			return info, nil, nil, err
		}
		sig.add(s)
		memory.add(s)
	}
	merge(values, sig.values())
	merge(values, memory.values())
	values["resident_ratio"] = residentRatio(step, values["memory_mb"])
	values["apps_kswapd_cpu_pct"] = sum(values["cpu_pct"], values["kswapd_cpu_pct"])
	values["wasted_s"] = sig.wasted(req)
	return info, values, req, nil
}

func uncensor(values map[string]Value) {
	for name, v := range values {
		v.Censored = false
		values[name] = v
	}
}

func merge(into, from map[string]Value) {
	for k, v := range from {
		into[k] = v
	}
}

// cpus is the number of CPUs over which the plan's CPU share is taken, 0 when
// it is not known.
func (t *Table) cpus(step experiment.Step) int {
	if step.Plan.CPUs > 0 {
		return step.Plan.CPUs
	}
	return t.MachineCPUs
}

// warmUp is the part of the traffic that is left out: what the step declares,
// but never more than a fifth. Batches and sequences have none.
func warmUp(step experiment.Step, rep record.Repetition) time.Duration {
	for _, t := range step.Traffic {
		if t.Kind == "batch" || t.Kind == "sequential" {
			return 0
		}
	}
	most := time.Duration(maxWarmUpShare * float64(rep.TrafficEndNs-rep.TrafficNs))
	return min(time.Duration(step.WarmUp), most)
}

// sum adds two values of one repetition; what is missing of either is missing.
func sum(a, b Value) Value {
	switch {
	case a.Missing != "":
		return a
	case b.Missing != "":
		return b
	}
	a.X += b.X
	return a
}

// fromEvents computes what the supervisor saw, and keeps what tells an app's
// ups and downs.
func fromEvents(ctx context.Context, r *record.Reader, info *RepetitionInfo) (map[string]Value, error) {
	events, err := r.Events(ctx, info.ID)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		switch e.Kind {
		case wire.Healthy, wire.Exited, wire.Restarted, wire.Deployed, wire.GaveUp, wire.Stopped, wire.WorkerKilled:
			if len(info.Events) < maxEvents {
				info.Events = append(info.Events, e)
			}
		}
	}
	values := follow(events).values(int64(len(events)), info.EndedNs)
	values["recovery_s"] = info.recovery()
	return values, nil
}
