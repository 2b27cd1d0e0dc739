package report

import (
	"slices"

	"brink/internal/measure"
	"brink/internal/verdict"
)

// modes lists the ways in which plans broke, and those in which none did.
func (b *builder) modes() error {
	if !slices.ContainsFunc(b.Table.Steps, func(s measure.StepInfo) bool { return aboutMemory(s.Step) }) {
		return nil
	}
	found := map[verdict.ModeKind][]Sighting{}
	for _, m := range verdict.Modes(b.Table) {
		found[m.Kind] = append(found[m.Kind], Sighting{Steps: m.Steps, N: b.fewest(m.Steps), Says: m.Sentence})
	}
	for _, k := range verdict.ModeKinds {
		b.m.Modes = append(b.m.Modes, Mode{Kind: string(k), Found: k.Rule(), Seen: found[k]})
	}
	return nil
}

// fewest is how many usable repetitions each of the steps has at least.
func (b *builder) fewest(steps []string) int {
	var counts []int
	for _, name := range steps {
		if s, ok := b.Table.Step(name); ok {
			counts = append(counts, ended(s, fit))
		}
	}
	if len(counts) == 0 {
		return 0
	}
	return slices.Min(counts)
}
