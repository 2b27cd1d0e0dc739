package cli

import (
	"context"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"brink/internal/experiment"
)

// b1 is a search on a plan of 1,855 MB, on which a megabyte of ballast is
// 100 / 1855 points of memory.
var b1 = search{start: 650, least: 300, most: 1554, target: 76, within: 0.5, slope: 100.0 / 1855, rounds: 6}

// A plan whose memory follows the ballast is found in two rounds, whatever else
// is on it.
func TestSearchOfAStraightLineTakesTwoRounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rest := rapid.Float64Range(20, 55).Draw(t, "rest")
		rounds := 0
		ballast, reading, err := b1.run(context.Background(), func(_ context.Context, mb int) (float64, error) {
			rounds++
			return rest + float64(mb)*100/1855, nil
		})
		if err != nil || rounds > 2 || reading < 75.5 || reading > 76.5 || ballast < 300 || ballast > 1554 {
			t.Fatalf("%d MB reads %v after %d rounds, %v", ballast, reading, rounds, err)
		}
	})
}

// Reclaim bends the line: above the limit further ballast raises the reading by a
// tenth of what it should.
func TestSearchOfABentLineStaysInItsBracket(t *testing.T) {
	for _, start := range []int{300, 650, 1554} {
		s := b1
		s.start, s.within = start, 0.2
		bent := func(_ context.Context, mb int) (float64, error) {
			x := 45 + float64(mb)*100/1855
			if x > 75 {
				x = 75 + (x-75)/10
			}
			return x, nil
		}
		ballast, reading, err := s.run(t.Context(), bent)
		if err != nil || reading < 75.8 || reading > 76.2 {
			t.Errorf("from %d MB: %d MB reads %v, %v", start, ballast, reading, err)
		}
	}
}

func TestSearchThatCannotSucceedEndsAndSaysHowNearItCame(t *testing.T) {
	rounds := 0
	_, _, err := b1.run(t.Context(), func(context.Context, int) (float64, error) {
		rounds++
		return 90, nil
	})
	if err == nil || !strings.Contains(err.Error(), "90.00") || rounds > b1.rounds {
		t.Errorf("%d rounds, %v", rounds, err)
	}
	broken := errors.New("no machine")
	if _, _, err := b1.run(t.Context(), func(context.Context, int) (float64, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
}

// The plan that is printed is a field of an experiment file as it stands.
func TestThePrintedPlanIsThePlan(t *testing.T) {
	_, data, err := read("memory-pressure")
	if err != nil {
		t.Fatal(err)
	}
	d, err := experiment.LoadDesign("x.yaml", data, experiment.Options{Set: []string{"plan.share.ballast_mb=611"}})
	if err != nil {
		t.Fatal(err)
	}
	want := d.Steps[0].Plan
	text, err := planYAML(want)
	if err != nil {
		t.Fatal(err)
	}
	file := "name: x\ntitle: x\ntype: config\nquestion: x\nrepetitions: 1\nsteps:\n  - name: s\n    apps: [{name: a, runtime: go}]\n    traffic: {kind: batch, count: 1, path: /ping}\n" + string(text)
	e, err := experiment.Parse("y.yaml", []byte(file), experiment.Options{})
	if err != nil {
		t.Fatalf("%v in\n%s", err, file)
	}
	if e.Steps[0].Plan != want || want.Share.BallastMB != 611 {
		t.Errorf("%+v, want %+v", e.Steps[0].Plan, want)
	}
}
