package report

import (
	"strings"
	"testing"
)

// ceil(K / W) × D by hand: W = 4, D = 5.
func TestStaircaseHasItsCorners(t *testing.T) {
	c := must(t)(Staircase(StaircaseInput{ID: "s", Workers: 4, HoldS: 5, Points: []StaircasePoint{{Concurrency: 10, LastS: 15.15}, {Concurrency: 5, LastS: 30, AtLeast: true}}}))
	s := specOf(t, c)
	want := [][2]float64{{0.5, 5}, {4.5, 10}, {8.5, 15}, {10.5, 15}}
	for i, w := range want {
		got := s.Layer[0].Data.Values[i]
		if got["k"] != w[0] || got["y"] != w[1] {
			t.Errorf("corner %d is (%v, %v), want %v", i, got["k"], got["y"], w)
		}
	}
	if s.Layer[0].Mark["interpolate"] != "step-after" {
		t.Errorf("the law is drawn as %v", s.Layer[0].Mark)
	}
	if got := s.Layer[1].Data.Values[1]["b"]; got != "at least" {
		t.Errorf("a bound is drawn as %q", got)
	}
	if !strings.Contains(c.Alt, "the farthest lies 1 % from it") {
		t.Errorf("15.15 against 15 is 1 %% off: %s", c.Alt)
	}
	if c.Table.Rows[0][2] != "≥ 30.00" || c.Table.Rows[1][1] != "15.00" {
		t.Errorf("table %v", c.Table.Rows)
	}
}

// An event loop is not on the staircase: what it measures is drawn beside it and
// no distance from it. Where it stands alone at its K, each is drawn at that K.
func TestStaircaseIsNotForEventLoops(t *testing.T) {
	c := must(t)(Staircase(StaircaseInput{ID: "s", Workers: 4, HoldS: 5, Points: []StaircasePoint{
		{Concurrency: 5, LastS: 10.1, Series: "gunicorn sync"}, {Concurrency: 5, LastS: 5.01, Series: "uvicorn", Loop: true}}}))
	if want := "Last answers of 1 repetition at 5 concurrent requests against the staircase ceil(K / 4) × D; the farthest lies 1 % from it. Beside it: 1 repetition of event loops."; c.Alt != want {
		t.Errorf("%q, want %q", c.Alt, want)
	}
	if !strings.Contains(c.Note, "It is not for uvicorn") {
		t.Errorf("%q", c.Note)
	}
	for _, p := range specOf(t, c).Layer[1].Data.Values {
		if p["k"] != 5.0 {
			t.Errorf("%v stands beside its 5 requests", p)
		}
	}
}

func TestStaircaseCountsHoldsWhereTheyDiffer(t *testing.T) {
	c := must(t)(Staircase(StaircaseInput{ID: "s", Workers: 4, Points: []StaircasePoint{{Concurrency: 4, LastS: 3, HoldS: 3}, {Concurrency: 5, LastS: 10, HoldS: 5}}}))
	points := specOf(t, c).Layer[1].Data.Values
	if points[0]["y"] != 1.0 || points[1]["y"] != 2.0 {
		t.Errorf("3 s of 3 s holds and 10 s of 5 s holds are 1 and 2 holds, got %v and %v", points[0]["y"], points[1]["y"])
	}
	if _, err := Staircase(StaircaseInput{ID: "s", Workers: 4, Points: []StaircasePoint{{Concurrency: 4, LastS: 3}}}); err == nil {
		t.Error("a point without a hold was drawn in holds")
	}
}
