package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"brink/internal/metric"
)

// spec is a chart's specification, read back.
type spec struct {
	Layer []struct {
		Data struct {
			Values []map[string]any `json:"values"`
		} `json:"data"`
		Mark     map[string]any `json:"mark"`
		Encoding map[string]any `json:"encoding"`
	} `json:"layer"`
	VConcat []struct {
		Data struct {
			Values []map[string]any `json:"values"`
		} `json:"data"`
		Layer []struct {
			Encoding map[string]any `json:"encoding"`
		} `json:"layer"`
	} `json:"vconcat"`
	Height float64 `json:"height"`
}

func specOf(t testing.TB, c Chart) spec {
	t.Helper()
	var s spec
	if err := json.Unmarshal(c.Spec, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// bars returns the rectangles of a request picture by kind and request.
func bars(t testing.TB, c Chart) map[string]map[string]any {
	found := map[string]map[string]any{}
	for _, v := range specOf(t, c).Layer[1].Data.Values {
		found[fmt.Sprintf("%v %v", v["k"], v["n"])] = v
	}
	return found
}

// Four workers, five requests at once, holds of 5 s: by first come first
// served the fifth is served from 5 to 10 s by the worker that is free first.
func TestRequestBarsShowWhyTheFifthWaits(t *testing.T) {
	c := must(t)(RequestBars(RequestsInput{ID: "r", Title: "S4", Workers: 4, Processes: 4, Requests: fifo(atOnce(5), 4, 5)}))
	found := bars(t, c)
	if len(found) != 6 {
		t.Fatalf("%d bars, want 5 in service and 1 waiting: %v", len(found), found)
	}
	first, fifth, wait := found["in service 1"], found["in service 5"], found["waiting for a worker 5"]
	if fifth["x"] != 5.0 || fifth["x2"] != 10.0 || wait["x"] != 0.0 || wait["x2"] != 5.0 {
		t.Errorf("the fifth waits from %v to %v and is served from %v to %v; want 0 to 5 and 5 to 10", wait["x"], wait["x2"], fifth["x"], fifth["x2"])
	}
	if first["y"] != fifth["y"] {
		t.Errorf("the fifth is not on the row of the first's worker: %v and %v", fifth["y"], first["y"])
	}
	if wait["y"].(float64) < first["y2"].(float64) {
		t.Errorf("the wait (from %v) covers the bar (to %v)", wait["y"], first["y2"])
	}
	labels := fmt.Sprint(specOf(t, c).Layer[1].Encoding["y"])
	if !strings.Contains(labels, `"worker 1 (pid 1892)"`) || strings.Contains(labels, "no worker") {
		t.Errorf("labels: %s", labels)
	}
	if want := "5 requests at 4 workers: request 5 waited 5.00\u00a0s for one to become free. The last outcome was known after 10.00\u00a0s."; c.Alt != want {
		t.Errorf("the text alternative is %q, want %q", c.Alt, want)
	}
	if len(c.Table.Rows) != 5 || c.Table.Rows[4][3] != "5.00" {
		t.Errorf("table: %v", c.Table.Rows)
	}
}

func TestRequestBarsGiveUnansweredRequestsARow(t *testing.T) {
	c := must(t)(RequestBars(RequestsInput{ID: "r", Workers: 1, Processes: 1, Requests: []Request{
		{Due: 0, Start: 0, End: 1, Pid: 7, Outcome: "ok"}, {Due: 0, Start: 2, End: 3, Outcome: "timeout"}, {Due: 0, Start: 1, End: 2, Pid: 7, Outcome: "http_5xx"}}}))
	found := bars(t, c)
	if b := found["timed out 2"]; b == nil || b["x"] != 0.0 || b["x2"] != 3.0 {
		t.Errorf("the timed out request is drawn as %v", b)
	}
	if found["5xx answer 3"] == nil {
		t.Errorf("the failed answer has no colour of its own: %v", found)
	}
	labels := fmt.Sprint(specOf(t, c).Layer[1].Encoding["y"])
	if !strings.Contains(labels, `"no worker"`) {
		t.Errorf("labels: %s", labels)
	}
	if row := c.Table.Rows[1]; row[3] != "–" || row[5] != "–" || row[6] != "3.00" {
		t.Errorf("nobody knows whether a worker had the request that timed out: %v", row)
	}
	if !strings.Contains(c.Alt, "2 failed") {
		t.Errorf("text alternative: %s", c.Alt)
	}
}

func TestRequestBarsSayWhatWasCut(t *testing.T) {
	c := must(t)(RequestBars(RequestsInput{ID: "r", Workers: 80, Processes: 80, Requests: fifo(atOnce(700), 80, 0.1), Total: 1_000_000}))
	if want := "Drawn are the 500 requests that were due first, of 1,000,000. Of 80 workers the first 60 are drawn."; c.Note != want {
		t.Errorf("note %q, want %q", c.Note, want)
	}
	if h := specOf(t, c).Height; h > maxHeight {
		t.Errorf("the picture is %v px tall, more than %v", h, maxHeight)
	}
}

// Requests that one worker serves one after another never cover each other.
func TestLanesKeepIntervalsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type interval struct {
			from, to float64
			lane     int
		}
		l := lanes{limit: 1000}
		var placed []interval
		at := 0.0
		for range rapid.IntRange(1, 40).Draw(t, "n") {
			at += rapid.Float64Range(0, 2).Draw(t, "gap")
			to := at + rapid.Float64Range(0.02, 5).Draw(t, "length")
			placed = append(placed, interval{at, to, l.place(at, to)})
		}
		for i, a := range placed {
			for _, b := range placed[i+1:] {
				if a.lane == b.lane && b.from+0.01 < a.to {
					t.Fatalf("%v and %v share lane %d", a, b, a.lane)
				}
			}
		}
	})
}

func TestPredictedDrawsTheToleranceBand(t *testing.T) {
	c := must(t)(Predicted(PredictedInput{ID: "p", Unit: "s", Tolerance: 0.1, Relative: true, Points: []PredictedPoint{{Step: "S3", Predicted: 5, Measured: 5.1, Holds: true}, {Step: "S4", Predicted: 10, Measured: 20}}}))
	s := specOf(t, c)
	end := s.Layer[0].Data.Values[2]
	if end["x"] != 21.0 || end["lo"] != 18.9 || end["hi"] != 23.1 {
		t.Errorf("at 21 the band of 10 %% goes from 18.9 to 23.1, got %v", end)
	}
	identity := s.Layer[1].Data.Values[1]
	if identity["x"] != identity["y"] {
		t.Errorf("the line of identity ends at %v", identity)
	}
	if !strings.Contains(c.Alt, "1 within the tolerance of 10 %, 1 outside") {
		t.Errorf("text alternative: %s", c.Alt)
	}
}

func TestBoxesDrawEveryRepetition(t *testing.T) {
	m := metric.Metric{Name: "last_answer_s", Title: "Last answer", Unit: "s", Kind: metric.Ratio}
	c := must(t)(Boxes(BoxesInput{ID: "b", Metric: m, Groups: []BoxGroup{{Step: "a", Q1: 2, Median: 3, Q3: 4, Values: []BoxValue{{X: 1}, {X: 3}, {X: 5, AtLeast: true}}}}}))
	s := specOf(t, c)
	box := s.Layer[0].Data.Values[0]
	if box["lo"] != 1.0 || box["q1"] != 2.0 || box["m"] != 3.0 || box["q3"] != 4.0 || box["hi"] != 5.0 {
		t.Errorf("box %v", box)
	}
	points := s.Layer[3].Data.Values
	if len(points) != 3 || points[2]["b"] != "at least" || points[0]["o"] == points[1]["o"] {
		t.Errorf("points %v", points)
	}
	if c.Table.Rows[0][5] != "1.00; 3.00; ≥ 5.00" {
		t.Errorf("table %v", c.Table.Rows)
	}
}

func TestTimeSeriesShareOneAxis(t *testing.T) {
	c := must(t)(TimeSeries(seriesInput()))
	if n := len(specOf(t, c).VConcat); n != 3 {
		t.Fatalf("%d panels, want 3", n)
	}
	if n := strings.Count(string(c.Spec), `"domain":[0,14.75]`); n < 3 {
		t.Errorf("the time axis from 0 to 14.75 s stands %d times, want it in all panels", n)
	}
	if !strings.Contains(string(c.Spec), "first batch answered") {
		t.Error("the mark is lost")
	}
}

// Several steps in one panel: their numbers stand with their names.
func TestTimeSeriesNameWhatTheyDescribe(t *testing.T) {
	flat := func(name string, x float64) Series {
		return Series{Name: name, Repetitions: 3, Points: []BandPoint{{0, x, x, x}, {1, x, x, x + 1}}}
	}
	c := must(t)(TimeSeries(TimeSeriesInput{ID: "t", Panels: []Panel{{Title: "CPU of the plan", Unit: "%", Series: []Series{flat("idle", 2), flat("s4", 5)}}, {Title: "Queue", Whole: true, Series: []Series{flat("s4", 0)}}}}))
	if want := "Over 1.00 s. CPU of the plan: 2.00 to 3.00 % in idle, 5.00 to 6.00 % in s4; Queue: 0 to 1 in s4."; c.Alt != want {
		t.Errorf("%q, want %q", c.Alt, want)
	}
}

func TestBinsKeepTheExtremesOfTheBand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3000).Draw(t, "n")
		points := make([]BandPoint, n)
		lo, hi := math.Inf(1), math.Inf(-1)
		for i := range points {
			mid := math.Sin(float64(i) * rapid.Float64Range(0.1, 3).Draw(t, "w"))
			points[i] = BandPoint{T: float64(i), P5: mid - 1, P50: mid, P95: mid + 1}
			lo, hi = min(lo, mid-1), max(hi, mid+1)
			if i > 50 {
				break
			}
		}
		gotLo, gotHi := math.Inf(1), math.Inf(-1)
		out := binned(points)
		for _, p := range out {
			gotLo, gotHi = min(gotLo, p.P5), max(gotHi, p.P95)
		}
		if len(out) > maxPoints || gotLo > lo || gotHi < hi {
			t.Fatalf("%d points become %d, band [%v, %v] becomes [%v, %v]", n, len(out), lo, hi, gotLo, gotHi)
		}
	})
}

func TestEffectsDrawMarginsOnBothSides(t *testing.T) {
	c := must(t)(Effects(EffectsInput{ID: "e", Unit: "s", Relative: true, Rows: []EffectRow{
		{Label: "A → B", Estimate: 0.3, Lo: ptr(0.2), Hi: ptr(0.4), Noise: ptr(0.02), Margin: ptr(0.1), Holds: true}, {Label: "A → C", Estimate: 0.05, Lo: ptr(-0.1)}}}))
	s := specOf(t, c)
	if m := s.Layer[2].Data.Values; len(m) != 2 || m[0]["x"] != 10.0 || m[1]["x"] != -10.0 {
		t.Errorf("margins %v, want 10 and -10 %%", m)
	}
	rows := s.Layer[4].Data.Values
	if rows[0]["e"] != 30.0 || rows[0]["lo"] != 20.0 || rows[0]["hi"] != 40.0 || rows[0]["n2"] != 2.0 || rows[0]["h"] != "agrees" {
		t.Errorf("row %v", rows[0])
	}
	if _, ok := rows[1]["hi"]; ok || rows[1]["to"] != 5.0 {
		t.Errorf("an interval without an end on one side is drawn as %v", rows[1])
	}
	if c.Table.Rows[1][3] != "–" {
		t.Errorf("table %v", c.Table.Rows)
	}
}

// A claim of at least so much more has its margin on one side only.
func TestEffectsDrawAClaimedDirectionOnItsSide(t *testing.T) {
	for side, wanted := range map[int]float64{1: 50, -1: -50} {
		c := must(t)(Effects(EffectsInput{ID: "e", Unit: "%", Rows: []EffectRow{{Label: "A → B", Estimate: 90, Margin: ptr(50), Side: side}}}))
		s := specOf(t, c)
		if m := s.Layer[1].Data.Values; len(m) != 1 || m[0]["x"] != wanted {
			t.Errorf("side %d: margins %v, want only %v", side, m, wanted)
		}
	}
}

func TestLadderMarksTheChangeAndKeepsGaps(t *testing.T) {
	m := metric.Metric{Title: "Cold start", Unit: "s", Kind: metric.Ratio}
	c := must(t)(Ladder(LadderInput{ID: "l", Metric: m, Change: 2, Steps: []LadderStep{{Step: "2x50", Median: ptr(19), Values: []float64{19}}, {Step: "4x50"}, {Step: "6x50", Median: ptr(49), AtLeast: true}}}))
	s := specOf(t, c)
	medians := s.Layer[1].Data.Values
	if len(medians) != 3 || medians[1]["v"] != nil {
		t.Errorf("a step that could not be measured must leave a gap: %v", medians)
	}
	if got := s.Layer[3].Data.Values[0]["s"]; got != "6x50" {
		t.Errorf("the change stands before %v, want 6x50", got)
	}
	if want := "Cold start over 3 steps; it changes between 4x50 and 6x50. The first median is 19.00\u00a0s, the last 49.00\u00a0s."; c.Alt != want {
		t.Errorf("text alternative %q, want %q", c.Alt, want)
	}
}

// An axis over zeros alone has no size of its own, and such a ladder tells
// nothing that a report could begin with.
func TestALadderOfZerosHasAnAxis(t *testing.T) {
	m := metric.Metric{Title: "Apps failing", Kind: metric.Points}
	zeros := LadderInput{ID: "l", Metric: m, Steps: []LadderStep{{Step: "a", Median: ptr(0), Values: []float64{0}}, {Step: "b"}, {Step: "c", Median: ptr(0)}}}
	if c := must(t)(Ladder(zeros)); !strings.Contains(string(c.Spec), `"domain":[0,1]`) {
		t.Errorf("spec %s", c.Spec)
	}
	some := zeros
	some.Steps = append(slices.Clone(zeros.Steps), LadderStep{Step: "d", Median: ptr(2)})
	if c := must(t)(Ladder(some)); strings.Contains(string(c.Spec), `"domain":[0,1]`) {
		t.Errorf("spec %s", c.Spec)
	}
	if zeros.varies() || !some.varies() {
		t.Errorf("zeros vary: %t, others: %t", zeros.varies(), some.varies())
	}
}

func TestBuildersRefuseWhatCannotBeDrawn(t *testing.T) {
	nan := math.NaN()
	for name, build := range map[string]func() (Chart, error){
		"requests":  func() (Chart, error) { return RequestBars(RequestsInput{}) },
		"staircase": func() (Chart, error) { return Staircase(StaircaseInput{Workers: 4}) },
		"predicted": func() (Chart, error) { return Predicted(PredictedInput{}) },
		"boxes":     func() (Chart, error) { return Boxes(BoxesInput{Groups: []BoxGroup{{Step: "a"}}}) },
		"series":    func() (Chart, error) { return TimeSeries(TimeSeriesInput{Panels: []Panel{{Title: "CPU"}}}) },
		"effects":   func() (Chart, error) { return Effects(EffectsInput{}) },
		"ladder":    func() (Chart, error) { return Ladder(LadderInput{Steps: []LadderStep{{Step: "a"}}}) },
	} {
		if _, err := build(); !errors.Is(err, errNothingToDraw) {
			t.Errorf("%s without data: %v", name, err)
		}
	}
	for name, build := range map[string]func() (Chart, error){
		"requests": func() (Chart, error) { return RequestBars(RequestsInput{Requests: []Request{{End: nan}}}) },
		"predicted": func() (Chart, error) {
			return Predicted(PredictedInput{Points: []PredictedPoint{{Predicted: math.Inf(1)}}})
		},
		"effects": func() (Chart, error) { return Effects(EffectsInput{Rows: []EffectRow{{Estimate: 1, Lo: &nan}}}) },
		"ladder":  func() (Chart, error) { return Ladder(LadderInput{Steps: []LadderStep{{Median: &nan}}}) },
		"workers": func() (Chart, error) { return Staircase(StaircaseInput{Points: []StaircasePoint{{Concurrency: 1}}}) },
	} {
		if _, err := build(); err == nil {
			t.Errorf("%s was drawn from what is no number", name)
		}
	}
}

// A report's size must not follow the size of a run.
func TestSpecificationsAreBounded(t *testing.T) {
	const many = 200_000
	draw := must(t)
	m := metric.Metric{Title: "Last answer", Unit: "s"}
	points := make([]BandPoint, many)
	predicted := make([]PredictedPoint, many)
	stair := make([]StaircasePoint, many)
	values := make([]BoxValue, many)
	floats := make([]float64, many)
	for i := range many {
		points[i] = BandPoint{T: float64(i), P5: 1, P50: 2, P95: 3}
		predicted[i] = PredictedPoint{Step: "S", Predicted: float64(i), Measured: 1}
		stair[i] = StaircasePoint{Concurrency: i + 1, LastS: 1}
	}
	groups := make([]BoxGroup, 300)
	rows := make([]EffectRow, 300)
	steps := make([]LadderStep, 300)
	panels := make([]Panel, 30)
	for i := range groups {
		groups[i] = BoxGroup{Step: fmt.Sprint("step ", i), Values: values}
		rows[i] = EffectRow{Label: fmt.Sprint("row ", i)}
		steps[i] = LadderStep{Step: fmt.Sprint("step ", i), Median: ptr(1), Values: floats}
	}
	for i := range panels {
		for j := range 30 {
			panels[i].Series = append(panels[i].Series, Series{Name: fmt.Sprint(j), Points: points})
		}
	}
	const limit = 800_000
	for _, c := range []Chart{
		draw(RequestBars(RequestsInput{ID: "requests", Workers: 4, Processes: 4, Requests: fifo(atOnce(many), 4, 0.01)})),
		draw(Staircase(StaircaseInput{ID: "staircase", Workers: 4, HoldS: 1, Points: stair})),
		draw(Predicted(PredictedInput{ID: "predicted", Points: predicted})),
		draw(Boxes(BoxesInput{ID: "boxes", Metric: m, Groups: groups})),
		draw(TimeSeries(TimeSeriesInput{ID: "series", Panels: panels})),
		draw(Effects(EffectsInput{ID: "effects", Rows: rows})),
		draw(Ladder(LadderInput{ID: "ladder", Metric: m, Steps: steps})),
	} {
		table, err := json.Marshal(c.Table)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Spec) > limit || len(c.Alt) > 4000 || len(table) > 40_000 {
			t.Errorf("%s: specification %d bytes, text alternative %d, table %d", c.ID, len(c.Spec), len(c.Alt), len(table))
		}
	}
}

// WCAG 1.4.11: graphics stand out by 3:1. The dark theme is checked in the
// browser, where its style sheet is.
func TestLightChartColoursStandOut(t *testing.T) {
	for i, c := range lightPalette.series {
		if got := contrast(t, c, lightPalette.paper); got < 3 {
			t.Errorf("series %d (%s) has a contrast of %.2f", i+1, c, got)
		}
	}
	for name, c := range map[string]string{"ink": lightPalette.ink, "muted": lightPalette.muted} {
		if got := contrast(t, c, lightPalette.paper); got < 4.5 {
			t.Errorf("%s (%s) has a contrast of %.2f", name, c, got)
		}
	}
}

// contrast is WCAG 2's ratio of two colours written as #rrggbb.
func contrast(t *testing.T, a, b string) float64 {
	luminance := func(hex string) float64 {
		var rgb [3]int
		if _, err := fmt.Sscanf(hex, "#%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2]); err != nil {
			t.Fatalf("colour %q: %v", hex, err)
		}
		var l float64
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			c := float64(rgb[i]) / 255
			if c <= 0.03928 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			l += weight * c
		}
		return l
	}
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}
