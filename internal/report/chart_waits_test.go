package report

import (
	"math"
	"strings"
	"testing"

	"brink/internal/queue"
)

// The curves are the formulas': M/D/4 and M/M/4 at a utilisation of 0.8 with a
// service of 100 ms. Erlang C for 4 workers and 3.2 erlangs is 0.5964, so M/M/4
// waits 0.5964 × 100 / (4 - 3.2) = 74.6 ms; M/D/4 waits 38.5 ms, by a
// simulation of two million requests in another language.
func TestWaitsDrawTheFormulas(t *testing.T) {
	c := must(t)(Waits(WaitsInput{ID: "w", Workers: 4, ServiceS: 0.1, Points: []WaitPoint{
		{Step: "p80", Number: 1, UtilisationPct: 80, MeasuredMs: 40, SimulatedMs: ptr(39)}, {Step: "p98", Number: 1, UtilisationPct: 98, MeasuredMs: 400}}}))
	s := specOf(t, c)
	at := map[string]float64{}
	for _, p := range s.Layer[0].Data.Values {
		// 70 to 100 in 80 pieces of 0.375: the 27th is nearest to 80.
		if x := p["x"].(float64); math.Abs(x-80) < 0.2 {
			at[p["k"].(string)] = p["y"].(float64)
		}
	}
	if math.Abs(at[waitMMC]-74.6) > 3 || math.Abs(at[waitMDC]-38.5) > 2 {
		t.Errorf("near 80 %% the curves stand at %v, want 74.6 (M/M/4) and 38.5 ms (M/D/4)", at)
	}
	if ties := s.Layer[1].Data.Values; len(ties) != 1 || ties[0]["y"] != 40.0 || ties[0]["y2"] != 39.0 {
		t.Errorf("the simulation is tied to its repetition by %v", ties)
	}
	if !strings.Contains(c.Alt, "p80: at 80\u00a0% a request waited 40.00\u00a0ms on average, the farthest repetition +2.6\u00a0% from the simulation") {
		t.Errorf("40 ms is 2.6 %% more than 39: %s", c.Alt)
	}
	if row := c.Table.Rows[1]; row[4] != "–" {
		t.Errorf("a repetition without a simulation has %q", row[4])
	}
}

func TestWaitsAddWhatEveryRequestTakesOnItsWay(t *testing.T) {
	in := waitsInput()
	in.OverheadMs = 0
	bare := in.theoryAt(queue.MDC, 80)
	in.OverheadMs = 2
	if got := in.theoryAt(queue.MDC, 80); math.Abs(got-bare-2) > 1e-9 {
		t.Errorf("with 2 ms on the way theory gives %v ms, without %v", got, bare)
	}
}

func TestWaitsNeedAPool(t *testing.T) {
	for name, in := range map[string]WaitsInput{
		"no points":  {ID: "w", Workers: 4, ServiceS: 0.1},
		"no workers": {ID: "w", ServiceS: 0.1, Points: []WaitPoint{{MeasuredMs: 1}}},
		"no service": {ID: "w", Workers: 4, Points: []WaitPoint{{MeasuredMs: 1}}},
		"no number":  {ID: "w", Workers: 4, ServiceS: 0.1, Points: []WaitPoint{{MeasuredMs: math.NaN()}}},
	} {
		if _, err := Waits(in); err == nil {
			t.Errorf("%s: a picture was drawn", name)
		}
	}
	if _, err := Waits(WaitsInput{ID: "w", Workers: 4, ServiceS: 0.1, Points: []WaitPoint{{UtilisationPct: 3}}}); err != nil {
		t.Errorf("nobody waited: %v", err)
	}
}
