package experiment

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"brink/internal/metric"
)

// published is a file with two steps and a reference that has the given figures.
func published(figures string) string {
	return planFile("cpus: 1", "", "") + "reference:\n  title: r\n  claims: [{id: a, says: b}]\n  figures:\n    - " + figures + "\n"
}

func TestPublishedFiguresFollowTheOrderOfSteps(t *testing.T) {
	file := planFile("cpus: 1", "", `, factors: {n: [1, 2, 3]}, plan: {cpus: "${n}"}`) + `reference:
  title: r
  claims: [{id: a, says: b}]
  figures:
    - {table: T, source: "10.1", metric: memory_pct, values: {one-n=3: 86, one-n=1: 76}}
    - {table: T, source: "10.1", metric: cpu_pct, values: {one-n=2: 12}, high: {one-n=2: 44}}
`
	d, err := LoadDesign("x.yaml", []byte(file), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range d.Published() {
		high := ""
		if p.High != nil {
			high = fmt.Sprint("-", *p.High)
		}
		got = append(got, fmt.Sprintf("%s %s %s %s=%v%s", p.Table, p.Source, p.Metric.Name, p.Step, p.X, high))
	}
	want := "T 10.1 memory_pct one-n=1=76, T 10.1 memory_pct one-n=3=86, T 10.1 cpu_pct one-n=2=12-44"
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
}

func TestBadFigures(t *testing.T) {
	for figures, want := range map[string]string{
		"{table: T, metric: memry_pct, values: {one: 1}}":                  `"memry_pct" is not a metric; did you mean "memory_pct"?`,
		"{table: T, metric: memory_pct, values: {oen: 1}}":                 `"oen" is not a step; did you mean "one"?`,
		"{table: T, metric: memory_pct, values: {one: 2}, high: {one: 1}}": `"one" has no lower value for the range that it ends`,
		"{table: T, metric: memory_pct}":                                   ".values: is missing",
	} {
		_, err := Parse("x.yaml", []byte(published(figures)), Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", figures, err, want)
		}
	}
}

func TestLongestBoundsStreams(t *testing.T) {
	file := strings.Replace(planFile("cpus: 1", "", ""), "half: {scale: 0.5}", "half: {scale: 0.5, longest: 2m}\n  whole: {}\n  kept: {longest: 2m, whole: [\"*\"]}", 1)
	file = strings.Replace(file, "traffic: {app: web, kind: batch, count: 1, path: /}",
		"traffic: [{app: web, kind: steady, every: 10s, duration: 5m, path: /}, {app: web, kind: steady, every: 10s, duration: 1m, path: /}, {app: web, kind: batch, count: 1, path: /}]", 1)
	for profile, want := range map[string][3]time.Duration{
		"half":  {2 * time.Minute, 30 * time.Second, 0}, // 2½ minutes and 30 s after scaling
		"whole": {5 * time.Minute, time.Minute, 0},
		"kept":  {5 * time.Minute, time.Minute, 0},
	} {
		d, err := LoadDesign("x.yaml", []byte(file), Options{Profile: profile})
		if err != nil {
			t.Fatal(err)
		}
		for i, tr := range d.Steps[0].Traffic {
			if time.Duration(tr.Duration) != want[i] {
				t.Errorf("%s, stream %d: %s, want %s", profile, i, tr.Duration, want[i])
			}
		}
	}
}

func TestAStepMayAskForFewerRepetitions(t *testing.T) {
	file := planFile("cpus: 1", "", ", repetitions: 3")
	for repetitions, want := range map[int]int{0: 3, 1: 1, 3: 3, 10: 3} { // 0: the file's 6
		d, err := LoadDesign("x.yaml", []byte(file), Options{Repetitions: repetitions})
		if err != nil {
			t.Fatal(err)
		}
		if got := d.RepetitionsOf(d.Steps[0]); got != want {
			t.Errorf("with %d in all: %d, want %d", repetitions, got, want)
		}
	}
	if d, _ := LoadDesign("x.yaml", []byte(planFile("cpus: 1", "", "")), Options{}); d.RepetitionsOf(d.Steps[0]) != 6 {
		t.Error("a step that says nothing is not repeated as often as the run says")
	}
}

// A ladder is executed as a whole, and so are the two sides of an intervention.
func TestWhatIsExecutedTogetherIsRepeatedAlike(t *testing.T) {
	ladder := strings.Replace(good, "  - name: idle\n", "  - name: low\n    ladder: up\n    repetitions: 3\n    traffic: {kind: batch, count: 1, path: /}\n  - name: high\n    ladder: up\n    traffic: {kind: batch, count: 1, path: /}\n  - name: idle\n", 1)
	_, err := Parse("x.yaml", []byte(ladder), Options{})
	if err == nil || !strings.Contains(err.Error(), "step high is not repeated as often as the rung before it, low") {
		t.Errorf("%v", err)
	}
	pair := strings.Replace(good, "hypotheses:\n", `hypotheses:
  - id: C
    claim: c
    form: caused_by
    metric: cpu_pct
    factor: concurrency
    "on": held-concurrency=5
    "off": calm
    direction: rise
    effect: 1 points
`, 1)
	pair = strings.Replace(pair, "  - name: idle\n", "  - name: calm\n    repetitions: 2\n    factors: {concurrency: 2}\n    traffic: {kind: batch, count: \"${concurrency}\", path: /}\n  - name: idle\n", 1)
	_, err = Parse("x.yaml", []byte(pair), Options{})
	if err == nil || !strings.Contains(err.Error(), "calm and held-concurrency=5 are not repeated equally often") {
		t.Errorf("%v", err)
	}
}

func TestSizesInAnyUnit(t *testing.T) {
	for _, tc := range []struct {
		metric, text string
		want         float64 // below 0: refused
	}{
		{"swap_used_mb", "200 MB", 200}, {"swap_used_mb", "200MB", 200}, {"swap_used_mb", "200", -1}, {"swap_used_mb", "2s", -1},
		{"memory_above_85_min", "30 min", 30}, {"memory_above_85_min", "30m", 30}, {"memory_above_85_min", "90s", 1.5},
		{"swap_disk_queue", "2 requests", 2}, {"swap_disk_queue", "2", -1},
		{"queue_wait_max_s", "0.5s", 0.5}, {"queue_wait_max_s", "20ms", 0.02}, {"queue_wait_max_s", "0.5", -1},
	} {
		m, ok := metric.Lookup(tc.metric)
		if !ok {
			t.Fatalf("%s is no metric", tc.metric)
		}
		got, err := ParseMargin(tc.text, m)
		if (err != nil) != (tc.want < 0) || err == nil && got.Value != tc.want {
			t.Errorf("%s for %s: %v, %v; want %v", tc.text, tc.metric, got.Value, err, tc.want)
		}
	}
}
