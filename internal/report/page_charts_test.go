package report

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"brink/internal/metric"
)

func chartPage(t *testing.T, payload string) ChartPage {
	t.Helper()
	m, _ := metric.Lookup("last_answer_s")
	boxes, err := Boxes(BoxesInput{ID: "boxes", Title: payload, Metric: m, Groups: []BoxGroup{
		{Step: "A: " + payload, Q1: 1, Median: 2, Q3: 3, Values: []BoxValue{{X: 1}, {X: 2}, {X: 3}}},
		{Step: "B: one", Q1: 2, Median: 4, Q3: 6, Values: []BoxValue{{X: 2}, {X: 4}, {X: 6, AtLeast: true}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return ChartPage{
		Title: payload, Intro: []string{payload}, Notes: []string{payload}, Sentences: []string{payload},
		Charts: []Chart{boxes}, Table: Table{Columns: []string{payload}, Rows: [][]string{{payload}}},
	}
}

func renderedCharts(t *testing.T, p ChartPage) string {
	t.Helper()
	var b bytes.Buffer
	if err := renderCharts(&b, p, []string{"library()"}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestChartPageSaysWhatItIsGiven(t *testing.T) {
	words := readable(parsed(t, renderedCharts(t, chartPage(t, "seen"))))
	if n := strings.Count(words, "seen"); n < 8 {
		t.Errorf("the page says it %d times, want title (twice), intro, note, sentence, figure, table and step:\n%s", n, words)
	}
}

func TestHostileStringsChangeNothingInAChartPage(t *testing.T) {
	count := func(payload string) map[atom.Atom]int {
		kinds := map[atom.Atom]int{}
		for n := range parsed(t, renderedCharts(t, chartPage(t, payload))).Descendants() {
			if n.Type == html.ElementNode && n.DataAtom != atom.Code {
				kinds[n.DataAtom]++
			}
		}
		return kinds
	}
	want := count("harmless")
	for _, payload := range hostile {
		got := count(payload)
		for a, n := range want {
			if got[a] != n {
				t.Errorf("%q changes the page: %d %s instead of %d", payload, got[a], a, n)
			}
		}
	}
}

func TestChartPageReportsWhatFails(t *testing.T) {
	if err := RenderCharts(fullDisk{}, chartPage(t, "x")); !errors.Is(err, errFull) {
		t.Errorf("to a full disk: %v", err)
	}
	var b bytes.Buffer
	if err := RenderCharts(&b, ChartPage{Charts: []Chart{{ID: "x", Spec: []byte("{")}}}); err == nil || b.Len() > 0 {
		t.Errorf("a specification that is no JSON: error %v, %d bytes written", err, b.Len())
	}
}

func TestChartPageIsDrawnInABrowser(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.html")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(RenderCharts(f, chartPage(t, "seen")), f.Close()); err != nil {
		t.Fatal(err)
	}
	tb := &tab{t: t}
	ctx, cancel := chromedp.NewContext(browser(t), chromedp.WithListener(tb.hear))
	defer cancel()
	ctx, cancelTime := context.WithTimeout(ctx, time.Minute)
	defer cancelTime()
	tb.Context = ctx
	tb.do(chromedp.Navigate("file://"+file), chromedp.WaitReady(chromedp.CSS(`html[data-ready="yes"]`)))
	// Three repetitions in each of two groups are six points.
	if n := eval[int](tb, `document.querySelectorAll('.chart[data-drawn="yes"] svg .mark-symbol path').length`); n != 6 {
		t.Errorf("%d points are drawn, want 6", n)
	}
	tb.quiet()
}
