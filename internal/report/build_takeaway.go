package report

import (
	"math"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/stats"
)

// takeaway computes what section 14 says beside the advice. An experiment that
// has no traffic at a rate and no burst on several kinds of worker asks
// nothing of this kind and gets nothing.
func (b *builder) takeaway() error {
	var t Takeaway
	for _, c := range b.Table.Capacities() {
		t.Pools = append(t.Pools, poolOf(c))
	}
	t.Bursts = b.bursts()
	if len(t.Pools) == 0 && len(t.Bursts) == 0 {
		return nil
	}
	if len(t.Pools) == 0 {
		t.Missing = append(t.Missing, "How many requests a second are sustainable was not computed: no step has a single app with a countable pool of workers that answered.")
	}
	if len(t.Bursts) == 0 {
		t.Missing = append(t.Missing, "What the kind of worker changes was not computed: no burst was sent to more than one kind.")
	}
	b.m.Takeaway = &t
	return nil
}

func poolOf(c measure.Capacity) Pool {
	server := c.Server
	if server == "brink" {
		server = builtIn
	}
	p := Pool{Server: server, Step: c.Step, Workers: c.Workers, Processes: c.Processes, ServiceMs: c.ServiceMs, Rate: c.Rate, ProcessMB: c.ProcessMB, PlanMB: c.PlanMB, Limited: c.Limited, Requests: c.Requests, Apart: c.Apart}
	for _, w := range c.Waits {
		p.Waits = append(p.Waits, ExpectedWait{Rate: w.Rate, UtilisationPct: 100 * w.Utilisation, Least: endless(w.LeastMs), Most: endless(w.MostMs)})
	}
	for _, n := range c.Needs {
		p.Needs = append(p.Needs, Need(n))
	}
	return p
}

// endless gives a wait that grows without end a word.
func endless(ms float64) Number {
	if math.IsInf(ms, 0) || math.IsNaN(ms) {
		return Number{None: "grows without end"}
	}
	return Number{X: ms}
}

// bursts finds the batches that were sent to several kinds of worker: steps of
// one title with the same single batch.
func (b *builder) bursts() []Burst {
	var out []Burst
	place := map[burstKey]int{}
	for _, s := range b.Table.Steps {
		if len(s.Traffic) != 1 || s.Traffic[0].Kind != "batch" || len(s.Apps) != 1 || s.Title == "" {
			continue
		}
		traffic := s.Traffic[0]
		traffic.App = "" // the app's name is what differs
		key := burstKey{s.Title, traffic}
		i, ok := place[key]
		if !ok {
			i = len(out)
			place[key] = i
			out = append(out, Burst{Title: s.Title, Requests: traffic.Count})
		}
		out[i].On = append(out[i].On, b.burstRow(s))
	}
	var several []Burst
	for _, x := range out {
		if kinds(x) > 1 {
			several = append(several, x)
		}
	}
	return several
}

type burstKey struct {
	title   string
	traffic experiment.Traffic
}

func kinds(b Burst) int {
	names := make([]string, len(b.On))
	for i, r := range b.On {
		names[i] = r.Server
	}
	return len(distinct(names))
}

func (b *builder) burstRow(s measure.StepInfo) BurstRow {
	app := s.Apps[0]
	r := BurstRow{Step: s.Name, Server: serverWord(app), LastAnswer: b.median(s.Name, "last_answer_s"), Memory: b.median(s.Name, "memory_mb")}
	r.Workers, _ = servesAtOnce(app)
	return r
}

// median is a metric's median over the repetitions, or why there is none.
func (b *builder) median(step, name string) Number {
	cell := b.Table.Cell(step, name)
	if sample := sampleOf(cell.Values); len(sample) > 0 {
		return numberOf(stats.Median(sample))
	}
	for _, v := range cell.Values {
		if v.Missing != "" {
			return Number{None: v.Missing}
		}
	}
	return Number{None: "not measured"}
}
