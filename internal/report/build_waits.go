package report

import (
	"fmt"

	"brink/internal/measure"
	"brink/internal/queue"
	"brink/internal/stats"
)

// waits draws the measured wait against theory for the steps whose arrivals
// have one, a picture for each number of workers and server.
func (b *builder) waits() error {
	var order []string
	groups := map[string]*waitGroup{}
	for _, s := range b.Table.Steps {
		if len(s.Traffic) != 1 || s.Traffic[0].Rate <= 0 || len(s.Apps) != 1 || s.Apps[0].Workers < 1 {
			continue
		}
		key := fmt.Sprintf("%s %d", serverWord(s.Apps[0]), slots(s))
		g := groups[key]
		if g == nil {
			g = &waitGroup{in: WaitsInput{ID: chartID("waits", key), Workers: slots(s), Apart: s.Apps[0].Workers > 1 && s.Apps[0].Threads > 1,
				Title: fmt.Sprintf("%s, %d at a time: measured wait against theory", serverWord(s.Apps[0]), slots(s))}}
			groups[key] = g
			order = append(order, key)
		}
		g.add(b.Table, s)
	}
	for _, key := range order {
		g := groups[key]
		if len(g.in.Points) == 0 {
			continue
		}
		g.in.ServiceS = stats.Median(stats.Of(g.services...)).X
		g.in.OverheadMs = max(0, stats.Median(stats.Of(g.overheads...)).X)
		g.in.BesidesMs = max(0, stats.Median(stats.Of(g.besides...)).X)
		if err := b.add(Waits(g.in)); err != nil {
			return err
		}
	}
	return nil
}

// waitGroup is the steps of one kind of pool.
type waitGroup struct {
	in WaitsInput
	// services are the times that a request keeps a worker, in seconds,
	// overheads what the predicted wait holds beside the queue's, and besides what
	// of the former is not time in the app, both in ms.
	services, overheads, besides []float64
}

// slots is how many requests the step's app serves at once.
func slots(s measure.StepInfo) int { return s.Apps[0].Workers * max(1, s.Apps[0].Threads) }

// add takes the repetitions of a step of which wait, service and rate are
// known, and the theory, which is there for random arrivals only. Workers are
// taken to be busy for as long as a request keeps them, not only for as long
// as the app serves it.
func (g *waitGroup) add(t *measure.Table, s measure.StepInfo) {
	values := func(name string) map[int]float64 { return byNumber(t.Cell(s.Name, name)) }
	services, rates := values("occupied_ms"), values("answers_per_s")
	theories, simulated := values("wait_theory_ms"), values("wait_simulated_ms")
	inApp := values("utilisation_pct")
	for _, v := range t.Cell(s.Name, "wait_mean_ms").Usable() {
		service, known := services[v.Number]
		rate, answered := rates[v.Number]
		theory, random := theories[v.Number]
		if !known || !answered || !random || service <= 0 {
			continue
		}
		p := WaitPoint{Step: s.Name, Number: v.Number, UtilisationPct: 100 * queue.Utilisation(slots(s), rate, service/1000), MeasuredMs: v.X}
		if x, ok := simulated[v.Number]; ok {
			p.SimulatedMs = &x
		}
		g.in.Points = append(g.in.Points, p)
		g.services = append(g.services, service/1000)
		if used, ok := inApp[v.Number]; ok && rate > 0 {
			// By Little's law: so many are in service at once, so many come.
			g.besides = append(g.besides, service-1000*used/100*float64(slots(s))/rate)
		}
		g.overheads = append(g.overheads, theory-1000*queue.MDC(slots(s), s.Traffic[0].Rate, service/1000).Mean)
	}
}

// byNumber is a metric's usable values by the number of their repetition.
func byNumber(c measure.Cell) map[int]float64 {
	out := map[int]float64{}
	for _, v := range c.Usable() {
		out[v.Number] = v.X
	}
	return out
}
