package report

import (
	"encoding/json"
	"testing"
	"time"
)

// hostile is what an app might write to break out of a report.
var hostile = []string{
	`</script><script>document.title="taken"</script>`,
	`"><img src=x onerror="document.title='taken'">`,
	"<!--<script>", "]]>", "{{.}}",
	"\x1b[31mred\x1b[0m\x00", "a|b\\|c", "```", "`", "**bold** _it_ [l](http://h/) ![i](http://h/)", "\n# heading\n- item\n> quote", "$x$ &amp; &lt;",
	"'-alert(1)-'", `\"+alert(1)+\"`, `\`, "javascript:alert(1)", "\u202egnp.exe", "\u2028\u2029",
}

// enumerated fields hold words of our own or are read by their type.
var enumerated = map[string]bool{"spec": true, "started": true, "at": true, "url": true, "id": true, "lead": true, "form": true, "Form": true}

// tainted is the fixture with the payload behind every string that is not one
// of our own words, charts included.
func tainted(t testing.TB, payload string) *Model {
	t.Helper()
	raw, err := json.Marshal(fixture(t))
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	if raw, err = json.Marshal(taint(tree, payload)); err != nil {
		t.Fatal(err)
	}
	m := &Model{}
	if err := json.Unmarshal(raw, m); err != nil {
		t.Fatal(err)
	}
	m.Run.Started = time.Date(2026, 5, 4, 10, 15, 0, 0, time.UTC)
	m.Charts = taintedCharts(t, payload)
	return m
}

func taint(v any, payload string) any {
	switch v := v.(type) {
	case string:
		return v + payload
	case []any:
		for i := range v {
			v[i] = taint(v[i], payload)
		}
	case map[string]any:
		for k := range v {
			if !enumerated[k] {
				v[k] = taint(v[k], payload)
			}
		}
	}
	return v
}

// taintedCharts is one chart of each kind with the payload in every name.
func taintedCharts(t testing.TB, payload string) []Chart {
	draw := must(t)
	m := lookup(t, "last_answer_s")
	m.Title, m.Unit = m.Title+payload, m.Unit+payload
	series := seriesInput()
	series.Title += payload
	for i := range series.Panels {
		series.Panels[i].Title += payload
		series.Panels[i].Unit += payload
		series.Panels[i].Series[0].Name += payload
	}
	series.Marks[0].Text += payload
	requests := fifo(atOnce(5), 4, 5)
	requests[2].Outcome = "odd" + payload
	series.Panels[0].Limit, series.Panels[0].LimitText, series.Note = 2, "two"+payload, payload
	waits := waitsInput()
	waits.Points[0].Step += payload
	timeline := timelineInput()
	timeline.Marks[0].App += payload
	figures := phaseA(t)[:6]
	figures[0].Table, figures[0].Step, figures[0].Metric.Title = "T"+payload, "s"+payload, "M"+payload
	reference, err := ReferenceCharts(figures[:1])
	if err != nil {
		t.Fatal(err)
	}
	return append([]Chart{
		draw(Waits(waits)),
		draw(Timeline(timeline)),
		draw(RequestBars(RequestsInput{ID: "requests-s4", Title: "Bars" + payload, Requests: requests})),
		draw(Staircase(StaircaseInput{ID: "staircase", Title: "Stairs" + payload, Workers: 4, HoldS: 5, Points: []StaircasePoint{{Concurrency: 4, LastS: 5, Series: "a" + payload}, {Concurrency: 5, LastS: 10, Series: "b" + payload}}})),
		draw(Predicted(PredictedInput{ID: "predicted", Title: "Law" + payload, Unit: "s" + payload, Points: []PredictedPoint{{Step: "S" + payload, Predicted: 1, Measured: 2}}})),
		draw(Boxes(BoxesInput{ID: "boxes", Title: "Boxes" + payload, Metric: m, Groups: []BoxGroup{boxGroup("S"+payload, 1, 2, 3, 1, 2, 3)}})),
		draw(TimeSeries(series)),
		draw(Effects(EffectsInput{ID: "effects", Title: "Effects" + payload, Unit: "s" + payload, Rows: []EffectRow{{Label: "A" + payload, Estimate: 1}}})),
		draw(Ladder(LadderInput{ID: "ladder", Title: "Ladder" + payload, Metric: m, Change: 1, Steps: []LadderStep{{Step: "K" + payload, Median: ptr(1)}, {Step: "L" + payload, Median: ptr(2)}}})),
	}, reference...)
}
