package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"brink/internal/measure"
	"brink/internal/record"
)

// A record with 20 of 73 steps, two repetitions each, says so before the first
// number and in sections 8 and 13; the 53 others stand in one list and nowhere
// else, and what waits for them is said in a line.
func TestAReportOfAnUnfinishedRunIsAboutWhatWasExecuted(t *testing.T) {
	d, text := pressured(t)
	dir, done := pressureRun{steps: 20, repetitions: 2, readings: 40}.write(t, d, text)
	m := judged(t, d, dir)
	if x := m.Extent; x.Steps != len(d.Steps) || x.DoneSteps != 20 || x.DoneRepetitions != done || len(x.Waiting) != len(d.Steps)-20 {
		t.Fatalf("%+v, want 20 of %d steps and %d repetitions", x, len(d.Steps), done)
	}
	if len(m.Results) != 20 {
		t.Errorf("%d steps have results, want the 20 that were executed", len(m.Results))
	}
	if r := m.Results[1]; r.Step != "3x100" || r.Planned != 3 || r.Valid != 2 {
		t.Errorf("%s: %d of %d; its file asks for 3 repetitions, others for 6", r.Step, r.Valid, r.Planned)
	}
	if n := m.Notices[0]; n.Kind != "interrupted" || !strings.Contains(n.Text, "20 of 73 steps and 40 of ") {
		t.Errorf("the first notice is %+v", n)
	}
	md := renderedMarkdown(t, m)
	// Once where it waits, once as a step that hypotheses name in section 4.
	if n := strings.Count(md, "node-zip-4x150"); n > 2 {
		t.Errorf("a step that was not executed is named %d times", n)
	}
	for _, want := range []string{"Steps that were not executed (53)", "hypotheses wait for steps that were not executed: **H1-start** (for 4x125, 4x150)", "The run is not finished: 20 of 73 steps"} {
		if !strings.Contains(md, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	if strings.Contains(md, "How H1-start was decided") {
		t.Error("a hypothesis that waits for steps is explained as if it had been decided")
	}
	doc, err := compose(m)
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Verdicts)+len(m.waitingFor()) != len(m.Verdicts) || len(m.waitingFor()) < 10 {
		t.Errorf("%d verdicts and %d that wait, of %d", len(doc.Verdicts), len(m.waitingFor()), len(m.Verdicts))
	}
}

// With as many repetitions as the full run has, and more readings of
// each than a picture has points, the page stays below 6 MB, charting libraries and all.
func TestALongRunGivesASmallReport(t *testing.T) {
	d, text := pressured(t)
	dir, done := pressureRun{steps: len(d.Steps), repetitions: 2, readings: 260}.write(t, d, text)
	if done < 140 {
		t.Fatalf("%d repetitions", done)
	}
	if html, _ := rendered(t, judged(t, d, dir)); len(html) > 6_000_000 {
		t.Errorf("the page has %d bytes", len(html))
	}
}

// The same record gives the same bytes, whenever and wherever it is read.
func TestTheSameRecordGivesTheSameBytes(t *testing.T) {
	d, text := pressured(t)
	dir, _ := pressureRun{steps: 24, repetitions: 2, readings: 60}.write(t, d, text)
	html, md := rendered(t, judged(t, d, dir))
	for i := range 3 {
		elsewhere := filepath.Join(t.TempDir(), "moved")
		if err := os.CopyFS(elsewhere, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		again, mdAgain := rendered(t, judged(t, d, elsewhere))
		if !bytes.Equal(html, again) || !bytes.Equal(md, mdAgain) {
			t.Fatalf("reading %d gives pages that differ from byte %d on", i+2, differs(html, again))
		}
	}
}

func rendered(t *testing.T, m *Model) (html, md []byte) {
	t.Helper()
	var h, x bytes.Buffer
	if err := RenderHTML(&h, m); err != nil {
		t.Fatal(err)
	}
	if err := RenderMarkdown(&x, m); err != nil {
		t.Fatal(err)
	}
	return h.Bytes(), x.Bytes()
}

// differs is where two texts begin to differ.
func differs(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// Steps are folded away where there are many; opening one draws its timeline.
func TestAFoldedStepIsDrawnWhenItIsOpened(t *testing.T) {
	d, text := pressured(t)
	dir, _ := pressureRun{steps: 8, repetitions: 1, readings: 60}.write(t, d, text)
	tb := open(t, browser(t), judged(t, d, dir), desktop)
	const folds = `[...document.querySelectorAll("#s10 details.why")].filter(d => d.querySelector(".chart"))`
	if n := eval[int](tb, folds+".length"); n != 8 {
		t.Fatalf("%d folded steps have a picture, want 8", n)
	}
	if n := eval[int](tb, folds+`.filter(d => d.querySelector("svg")).length`); n != 0 {
		t.Errorf("%d pictures are drawn before anybody looks", n)
	}
	tb.do(chromedp.Evaluate[chromedp.Void](`(async () => {
		const d = `+folds+`[3];
		d.open = true;
		while (d.querySelector(".chart").dataset.drawn !== "yes") await new Promise(r => setTimeout(r, 20));
	})()`, chromedp.EvalAwaitPromise))
	if n := eval[int](tb, folds+`[3].querySelectorAll("svg .mark-area path").length`); n < 4 {
		t.Errorf("the opened timeline has %d areas, want the parts of memory", n)
	}
	tb.quiet()
}

// A step of an intervention counts once for its two phases, and not at all while
// one of them is missing; a second execution of the baseline does not count, and
// neither does a repetition that was cut short.
func TestEndedCountsWholeRepetitions(t *testing.T) {
	rep := func(number, phase int, twin bool, status string) measure.RepetitionInfo {
		return measure.RepetitionInfo{Repetition: record.Repetition{Number: number, Phase: phase, Twin: twin, Status: status}}
	}
	for name, c := range map[string]struct {
		reps []measure.RepetitionInfo
		want int
	}{
		"two and a twin":        {[]measure.RepetitionInfo{rep(1, 0, false, "done"), rep(1, 0, true, "done"), rep(2, 0, false, "failed")}, 2},
		"cut short and resumed": {[]measure.RepetitionInfo{rep(1, 0, false, "interrupted"), rep(1, 0, false, "done"), rep(2, 0, false, "running")}, 1},
		"phases":                {[]measure.RepetitionInfo{rep(1, 1, false, "done"), rep(1, 4, false, "done"), rep(2, 2, false, "done"), rep(2, 3, false, "interrupted")}, 1},
	} {
		if got := ended(measure.StepInfo{Repetitions: c.reps}, came); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
