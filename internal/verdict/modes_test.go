package verdict

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/metric"
	"brink/internal/record"
	"brink/internal/wire"
)

// plot is one step of a record that is made up: so many apps of so many
// megabytes, and what three repetitions of it measured.
type plot struct {
	name     string
	apps, mb int
	ladder   string
	swap     int // of the plan
	cold     float64
	memory   float64
	used     float64 // swap
	failing  float64
	cascade  bool
}

// b1Story is a plan on which everything happens that the published experiment
// saw, with cold starts and memory near its figures.
var b1Story = []plot{
	{name: "2x100", apps: 2, mb: 100, swap: 2048, cold: 6, memory: 76},
	{name: "3x50", apps: 3, mb: 50, ladder: "a", swap: 2048, cold: 6, memory: 79, used: 130},
	{name: "4x50", apps: 4, mb: 50, ladder: "a", swap: 2048, cold: 10, memory: 84.3, used: 410},
	{name: "5x50", apps: 5, mb: 50, ladder: "a", swap: 2048, cold: 13.5, memory: 85.6, used: 680},
	{name: "6x50", apps: 6, mb: 50, ladder: "a", swap: 2048, cold: 13.6, memory: 85.7, used: 860},
	{name: "8x50", apps: 8, mb: 50, ladder: "a", swap: 2048, cold: 15, memory: 85.7, used: 1270},
	{name: "tight-6x50", apps: 6, mb: 50, ladder: "b", swap: 800, cold: 6.5, memory: 85, used: 700},
	{name: "tight-8x50", apps: 8, mb: 50, ladder: "b", swap: 800, cold: 7, memory: 93, used: 799, failing: 2},
	{name: "4x175", apps: 4, mb: 175, swap: 2048, cold: 36, memory: 91.5, used: 830},
	{name: "6x75", apps: 6, mb: 75, swap: 2048, cold: 30, memory: 93, used: 900, cascade: true},
}

func (p plot) step() measure.StepInfo {
	s := measure.StepInfo{Step: experiment.Step{
		Name: p.name, Title: "as planned: " + p.name, Ladder: p.ladder,
		Plan: experiment.Plan{MemoryMB: 1855, SwapMB: p.swap, Share: experiment.Share{SidecarMB: 150}},
	}}
	for i := range p.apps {
		s.Apps = append(s.Apps, experiment.App{Name: fmt.Sprintf("site-%d", i), Runtime: "flask", Workers: 1, AllocMB: p.mb})
	}
	for n := 1; n <= 3; n++ {
		r := measure.RepetitionInfo{Repetition: record.Repetition{Number: n, Status: record.Done, EndedNs: int64(5 * time.Minute)}}
		for i, a := range s.Apps {
			if p.cascade {
				r.Events = append(r.Events, wire.Event{App: a.Name, AtNs: int64(i) * 1e9, Kind: wire.Restarted})
			}
		}
		s.Repetitions = append(s.Repetitions, r)
	}
	return s
}

func (p plot) cells() []measure.Cell {
	var all []measure.Cell
	for name, x := range map[string]float64{
		"cold_start_median_s": p.cold, "cold_start_s": p.cold, "memory_pct": p.memory, "swap_used_mb": p.used,
		"apps_failing": p.failing, "apps_serving": float64(p.apps) - p.failing,
	} {
		m, _ := metric.Lookup(name)
		c := measure.Cell{Metric: m, Step: p.name}
		for n := 1; n <= 3; n++ {
			c.Values = append(c.Values, measure.Value{Number: n, X: x, N: 1})
		}
		all = append(all, c)
	}
	return all
}

func found(plots []plot) []Mode {
	var steps []measure.StepInfo
	var cells []measure.Cell
	for _, p := range plots {
		steps = append(steps, p.step())
		cells = append(cells, p.cells()...)
	}
	return Modes(measure.Assemble(steps, cells))
}

func TestModesOfAPlanThatFillsUp(t *testing.T) {
	want := map[ModeKind][]string{
		StartupDegradation: {"5x50", "6x75", "4x175", "6x50", "8x50"}, // by load: 1000, 1350, 1300 …
		CapacityCliff:      {"tight-6x50", "tight-8x50"},
		RestartCascade:     {"6x75"},
		MemoryPlateau:      {"4x50", "5x50", "6x50", "8x50"},
	}
	got := found(b1Story)
	if len(got) != len(want) {
		t.Errorf("%d modes: %+v", len(got), got)
	}
	for _, m := range got {
		steps := slices.Clone(m.Steps)
		if m.Kind == StartupDegradation { // the order is that of load, checked below
			slices.Sort(steps)
			slices.Sort(want[m.Kind])
		}
		if !slices.Equal(steps, want[m.Kind]) {
			t.Errorf("%s in %v, want %v", m.Kind, m.Steps, want[m.Kind])
		}
		for _, p := range b1Story {
			if strings.Contains(m.Sentence, p.name) {
				t.Errorf("%q names a step", m.Sentence)
			}
		}
	}
}

// Names and order are the author's. With both gone the same is found, in the same
// words.
func TestModesDoNotDependOnNamesOrOrder(t *testing.T) {
	want := found(b1Story)
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 7))
		hidden, names := slices.Clone(b1Story), map[string]string{}
		rng.Shuffle(len(hidden), func(i, j int) { hidden[i], hidden[j] = hidden[j], hidden[i] })
		for i := range hidden {
			anonymous := fmt.Sprintf("s%d", rng.IntN(1_000_000))
			names[anonymous] = hidden[i].name
			hidden[i].name = anonymous
			if hidden[i].ladder != "" {
				hidden[i].ladder = "l" + hidden[i].ladder
			}
		}
		got := found(hidden)
		for i := range got {
			for j, name := range got[i].Steps {
				got[i].Steps[j] = names[name]
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("seed %d:\n%v\nwant\n%v", seed, got, want)
		}
	}
}

// What looks like a mode and is none.
func TestWhatIsNoMode(t *testing.T) {
	quiet := []plot{
		{name: "a", apps: 2, mb: 100, swap: 2048, cold: 6, memory: 76},
		{name: "b", apps: 4, mb: 100, swap: 2048, cold: 9, memory: 84},
		{name: "c", apps: 6, mb: 100, swap: 2048, cold: 11, memory: 92, used: 50},
	}
	for name, change := range map[string]func([]plot){
		"nothing happens":                       func([]plot) {},
		"memory stands still with nothing more": func(p []plot) { p[0].memory, p[1].memory, p[2].memory = 85, 85, 85 },
		"memory is full":                        func(p []plot) { p[0].memory, p[1].memory, p[2].memory = 99.4, 99.5, 99.6; p[2].used = 900 },
		"no app serves":                         func(p []plot) { p[2].failing = 6 },
		"a slow start with less on the plan":    func(p []plot) { p[0].cold = 60 },
	} {
		t.Run(name, func(t *testing.T) {
			plots := slices.Clone(quiet)
			change(plots)
			if got := found(plots); len(got) != 0 {
				t.Errorf("found %+v", got)
			}
		})
	}
}

// A run that was stopped in the middle of a step, and taken up again, has a
// repetition in which the cascade had no time to come. It is neither for the
// claim nor against it.
func TestARepetitionThatWasCutShortSaysNothingOfACascade(t *testing.T) {
	step := b1Story[len(b1Story)-1].step()
	for range 4 {
		step.Repetitions = append(step.Repetitions, measure.RepetitionInfo{Repetition: record.Repetition{Number: 1, Status: record.Interrupted}})
	}
	table := measure.Assemble([]measure.StepInfo{step}, nil)
	h := experiment.Hypothesis{ID: "falls", Form: experiment.Cascade, Steps: []string{"6x75"}, Restarts: 3, Within: experiment.Duration(time.Minute), Unrecovered: experiment.Duration(10 * time.Second)}
	v, err := Judge(&experiment.Design{Experiment: &experiment.Experiment{Hypotheses: []experiment.Hypothesis{h}}}, table)
	if err != nil || v[0].Outcome != Supported || v[0].Parts[0].N[0] != 3 {
		t.Errorf("%v: %+v, want it supported by the 3 that were whole", err, v)
	}
	if modes := Modes(table); len(modes) != 1 || modes[0].Kind != RestartCascade {
		t.Errorf("%+v, want the cascade", modes)
	}
}

// What a mode is told by is printed beside it.
func TestEveryModeHasARule(t *testing.T) {
	for _, k := range ModeKinds {
		if k.Rule() == "" {
			t.Errorf("%s has no rule", k)
		}
	}
}
