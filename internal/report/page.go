package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// ChartPage is a page of pictures that is no report of a run: a comparison.
// Strings are plain text in which a pair of backticks marks code.
type ChartPage struct {
	Title string
	// Intro are paragraphs that say what the page is, Notes what a reader must
	// know before the first number, Sentences what came out.
	Intro, Notes, Sentences []string
	Charts                  []Chart
	// Table holds the numbers behind the sentences, below the pictures.
	Table Table
}

// RenderCharts writes the page as one HTML file that needs nothing else, as
// RenderHTML does. It fails on a chart whose specification is no JSON, and when
// w does.
func RenderCharts(w io.Writer, p ChartPage) error { return renderCharts(w, p, embeddedLibraries()) }

func renderCharts(w io.Writer, p ChartPage, libraries []string) error {
	t, err := pageTemplate(libraries)
	if err != nil {
		return err
	}
	own, err := assets.ReadFile("assets/charts.html.tmpl")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if t, err = t.New("charts").Parse(string(own)); err != nil {
		return fmt.Errorf("report: page of charts: %w", err)
	}
	page := struct {
		Title                   string
		Intro, Notes, Sentences [][]span
		Figures                 []*figure
		Grid                    *grid
	}{Title: clean(p.Title), Intro: proseList(p.Intro).List, Notes: proseList(p.Notes).List, Sentences: proseList(p.Sentences).List}
	for i := range p.Charts {
		if !json.Valid(p.Charts[i].Spec) {
			return fmt.Errorf("report: chart %q: its specification is no JSON", p.Charts[i].ID)
		}
		page.Figures = append(page.Figures, newFigure(&p.Charts[i], i+1))
	}
	// The same table as a figure's, but for its caption.
	page.Grid = newFigure(&Chart{Table: p.Table}, 0).Grid
	page.Grid.Caption = ""
	var out bytes.Buffer
	if err := t.Execute(&out, page); err != nil {
		return fmt.Errorf("report: HTML: %w", err)
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("report: writing HTML: %w", err)
	}
	return nil
}
