package lab

import (
	"math/rand/v2"

	"brink/internal/experiment"
)

// unit is what is executed on one freshly set-up plan: a single step, a
// ladder whose rungs follow each other, or the four phases of an intervention.
type unit struct {
	parts []part
}

// part is one execution of one step within a unit.
type part struct {
	step   *experiment.Step
	number int
	twin   bool
	// phase counts the phases of an intervention from 1, 0 outside one.
	phase int
}

// order lists all units of a run. Each round executes every unit once, and
// the baseline a second time as its own twin; steps of fewer repetitions are in
// the first rounds only. Within a round the order is drawn from the seed, so that
// a drift of the machine meets all steps alike.
func order(d *experiment.Design, seed int64) []unit {
	rng := rand.New(rand.NewPCG(uint64(seed), 0x6272696e6b))
	var all []unit
	for number := 1; number <= d.Repetitions; number++ {
		round := roundOf(d, number, rng)
		rng.Shuffle(len(round), func(i, j int) { round[i], round[j] = round[j], round[i] })
		all = append(all, round...)
	}
	return all
}

func roundOf(d *experiment.Design, number int, rng *rand.Rand) []unit {
	var round []unit
	pairs := interventions(d)
	ladders := map[string]int{}
	for i := range d.Steps {
		s := &d.Steps[i]
		if number > d.RepetitionsOf(*s) {
			continue
		}
		if on, paired := pairs[s.Name]; paired {
			if on != nil {
				round = append(round, intervention(on, s, number, rng))
			}
			continue
		}
		p := part{step: s, number: number}
		if s.Ladder == "" {
			round = append(round, unit{parts: []part{p}})
		} else if at, ok := ladders[s.Ladder]; ok {
			round[at].parts = append(round[at].parts, p)
		} else {
			ladders[s.Ladder] = len(round)
			round = append(round, unit{parts: []part{p}})
		}
		if s.Name == d.Experiment.Baseline {
			p.twin = true
			round = append(round, unit{parts: []part{p}})
		}
	}
	return round
}

// interventions maps the off step of each caused_by hypothesis to its on step,
// and the on step to nil: the pair is executed together.
func interventions(d *experiment.Design) map[string]*experiment.Step {
	pairs := map[string]*experiment.Step{}
	for _, h := range d.Experiment.Hypotheses {
		if h.Form != experiment.CausedBy {
			continue
		}
		for i := range d.Steps {
			if d.Steps[i].Name == h.On {
				pairs[h.On] = nil
				pairs[h.Off] = &d.Steps[i]
			}
		}
	}
	return pairs
}

// intervention draws ABBA or BAAB: either order cancels a linear drift.
func intervention(on, off *experiment.Step, number int, rng *rand.Rand) unit {
	a, b := on, off
	if rng.IntN(2) == 1 {
		a, b = b, a
	}
	var u unit
	for i, s := range []*experiment.Step{a, b, b, a} {
		u.parts = append(u.parts, part{step: s, number: number, phase: i + 1})
	}
	return u
}
