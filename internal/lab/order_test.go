package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"brink/internal/experiment"
)

// mixed is a design with two plain steps, of which the first is the baseline,
// a ladder of three rungs among them, and one intervention.
func mixed(repetitions int) *experiment.Design {
	return &experiment.Design{
		Experiment: &experiment.Experiment{
			Baseline:   "base",
			Hypotheses: []experiment.Hypothesis{{Form: experiment.CausedBy, On: "on", Off: "off"}},
		},
		Repetitions: repetitions,
		Steps: []experiment.Step{
			{Name: "base"}, {Name: "r0", Ladder: "up"}, {Name: "off"}, {Name: "r1", Ladder: "up", Rung: 1},
			{Name: "plain"}, {Name: "on"}, {Name: "r2", Ladder: "up", Rung: 2},
		},
	}
}

// text writes an order as "base base' r0+r1+r2 plain on+off+off+on".
func text(units []unit) string {
	var all []string
	for _, u := range units {
		var parts []string
		for _, p := range u.parts {
			name := p.step.Name
			if p.twin {
				name += "'"
			}
			parts = append(parts, name)
		}
		all = append(all, strings.Join(parts, "+"))
	}
	return strings.Join(all, " ")
}

func TestTheSeedGivesTheOrder(t *testing.T) {
	d := mixed(3)
	seen := map[string]int64{}
	for seed := range int64(200) {
		once, again := text(order(d, seed)), text(order(d, seed))
		if once != again {
			t.Fatalf("seed %d gives\n%s\nand then\n%s", seed, once, again)
		}
		if other, twice := seen[once]; twice {
			t.Errorf("seeds %d and %d give the same order of 15 units: %s", other, seed, once)
		}
		seen[once] = seed
	}
}

// Each round has every unit once, whatever the seed: the baseline and its twin,
// the plain step, the rungs of the ladder one after the other, and one block of
// four phases.
func TestEachRoundHasEveryUnitOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		repetitions := rapid.IntRange(1, 8).Draw(t, "repetitions")
		units := order(mixed(repetitions), rapid.Int64().Draw(t, "seed"))
		const each = 5
		if len(units) != each*repetitions {
			t.Fatalf("%d units, want %d in each of %d rounds", len(units), each, repetitions)
		}
		for round := range repetitions {
			here := units[round*each : (round+1)*each]
			names := strings.Fields(text(here))
			slices.Sort(names)
			if got := strings.Join(names, " "); got != "base base' off+on+on+off plain r0+r1+r2" && got != "base base' on+off+off+on plain r0+r1+r2" {
				t.Fatalf("round %d has %s", round+1, got)
			}
			for _, u := range here {
				for i, p := range u.parts {
					phase := 0
					if p.step.Name == "on" || p.step.Name == "off" {
						phase = i + 1
					}
					if p.number != round+1 || p.phase != phase {
						t.Fatalf("%s in round %d has number %d and phase %d, want phase %d", p.step.Name, round+1, p.number, p.phase, phase)
					}
				}
			}
		}
	})
}

// within tells whether k of n lies within five standard deviations of a
// binomial with probability p: one chance in about two million of being wrong.
func within(k, n int, p float64) bool {
	return math.Abs(float64(k)-float64(n)*p) <= 5*math.Sqrt(float64(n)*p*(1-p))
}

func TestABBAAndBAABAreEquallyLikely(t *testing.T) {
	const seeds = 2000
	first := 0
	for seed := range int64(seeds) {
		for _, u := range order(mixed(1), seed) {
			if u.parts[0].phase > 0 && u.parts[0].step.Name == "on" {
				first++
			}
		}
	}
	if !within(first, seeds, 0.5) {
		t.Errorf("%d of %d blocks begin with the intervention", first, seeds)
	}
}

// Blocks of one run are drawn independently: all four pairs are equally likely.
func TestBlocksOfOneRunDoNotFollowEachOther(t *testing.T) {
	const seeds = 2000
	pairs := map[string]int{}
	for seed := range int64(seeds) {
		pair := ""
		for _, u := range order(mixed(2), seed) {
			if u.parts[0].phase > 0 {
				pair += u.parts[0].step.Name + " "
			}
		}
		pairs[pair]++
	}
	for _, pair := range []string{"on on ", "on off ", "off on ", "off off "} {
		if !within(pairs[pair], seeds, 0.25) {
			t.Errorf("%q stands %d times in %d runs", pair, pairs[pair], seeds)
		}
	}
}

// All orders of a round are equally likely, in the first and in later ones.
func TestAllOrdersOfARoundAreEquallyLikely(t *testing.T) {
	const seeds = 6000
	d := &experiment.Design{
		Experiment: &experiment.Experiment{}, Repetitions: 2,
		Steps: []experiment.Step{{Name: "a"}, {Name: "b"}, {Name: "c"}},
	}
	rounds := [2]map[string]int{{}, {}}
	for seed := range int64(seeds) {
		units := order(d, seed)
		for round := range rounds {
			rounds[round][text(units[3*round:3*round+3])]++
		}
	}
	for round, counts := range rounds {
		if len(counts) != 6 {
			t.Errorf("round %d: %d orders of three steps", round+1, len(counts))
		}
		for o, k := range counts {
			if !within(k, seeds, 1.0/6) {
				t.Errorf("round %d: %q came %d times in %d", round+1, o, k, seeds)
			}
		}
	}
}

// The baseline may be the first rung of a ladder: its twin is that rung alone.
func TestTheTwinOfARungStandsAlone(t *testing.T) {
	d := mixed(1)
	d.Experiment.Baseline = "r0"
	names := strings.Fields(text(order(d, 1)))
	if !slices.Contains(names, "r0'") || !slices.Contains(names, "r0+r1+r2") {
		t.Errorf("the order is %v, want r0' and r0+r1+r2 in it", names)
	}
}

// The arrivals of each stream of each repetition are drawn from a seed of
// their own; streams that draw nothing have none, which traffic would refuse.
func TestEachStreamDrawsItsOwnArrivals(t *testing.T) {
	l := &lab{Options: Options{Seed: 5}}
	seen := map[int64]string{}
	for rep := range int64(20) {
		for ordinal := range 4 {
			s := l.spec(experiment.Traffic{Kind: "rate", Arrivals: "poisson"}, ordinal, repetition(rep+1))
			here := fmt.Sprintf("repetition %d, stream %d", rep+1, ordinal)
			if other := seen[s.Seed]; other != "" || s.Seed == 0 {
				t.Errorf("%s has the seed %d of %q", here, s.Seed, other)
			}
			seen[s.Seed] = here
			if again := l.spec(experiment.Traffic{Kind: "rate", Arrivals: "poisson"}, ordinal, repetition(rep+1)); again != s {
				t.Errorf("%s is %+v and then %+v", here, s, again)
			}
		}
	}
	for _, traffic := range []experiment.Traffic{{Kind: "rate", Arrivals: "constant"}, {Kind: "rate"}, {Kind: "steady"}, {Kind: "batch"}} {
		if s := l.spec(traffic, 0, repetition(1)); s.Seed != 0 {
			t.Errorf("%+v has the seed %d", traffic, s.Seed)
		}
	}
}

// A step of two repetitions is in the first two of three rounds, and so is a
// whole ladder.
func TestStepsOfFewerRepetitionsLeaveTheLaterRounds(t *testing.T) {
	d := mixed(3)
	for i, s := range d.Steps {
		if s.Name == "plain" || s.Ladder != "" {
			d.Steps[i].Repetitions = 2
		}
	}
	rounds := map[string][]int{}
	for _, u := range order(d, 5) {
		for _, p := range u.parts {
			if !p.twin && p.phase <= 1 {
				rounds[p.step.Name] = append(rounds[p.step.Name], p.number)
			}
		}
	}
	for name, want := range map[string]string{"base": "[1 2 3]", "plain": "[1 2]", "r0": "[1 2]", "r1": "[1 2]", "r2": "[1 2]"} {
		if got := fmt.Sprint(rounds[name]); got != want {
			t.Errorf("%s is in rounds %s, want %s", name, got, want)
		}
	}
}
