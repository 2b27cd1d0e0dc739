package report

import (
	"fmt"
	"strings"
)

// numberFigures gives the lead the number 1 and the others the next ones in
// the order of the sections.
func numberFigures(m *Model) (map[int][]*figure, *figure, error) {
	if len(m.Charts) == 0 {
		return nil, nil, nil
	}
	leadAt := 0
	for i, c := range m.Charts {
		if c.Section < 1 || c.Section > len(sixteen) {
			return nil, nil, fmt.Errorf("report: chart %q stands in section %d; there are %d", c.ID, c.Section, len(sixteen))
		}
		if c.ID == m.Lead {
			leadAt = i
		}
	}
	lead := newFigure(&m.Charts[leadAt], 1)
	bySection := map[int][]*figure{m.Charts[leadAt].Section: {lead}}
	next := 2
	for s := 1; s <= len(sixteen); s++ {
		for i := range m.Charts {
			if m.Charts[i].Section == s && i != leadAt {
				bySection[s] = append(bySection[s], newFigure(&m.Charts[i], next))
				next++
			}
		}
	}
	return bySection, lead, nil
}

func newFigure(c *Chart, number int) *figure {
	g := &grid{Caption: "The numbers of figure " + fmt.Sprint(number)}
	for i, title := range c.Table.Columns {
		g.Columns = append(g.Columns, column{Title: visible(title), Number: numericColumn(c.Table.Rows, i)})
	}
	for _, r := range c.Table.Rows {
		row := make([]cell, len(g.Columns))
		for i := range row {
			if i < len(r) {
				row[i] = words(visible(r[i]))
			}
		}
		g.Rows = append(g.Rows, row)
	}
	return &figure{Chart: c, Number: number, Grid: g}
}

// numericColumn tells whether a column of text reads as numbers.
func numericColumn(rows [][]string, i int) bool {
	for _, r := range rows {
		if i >= len(r) || r[i] == "" || strings.Trim(r[i], "0123456789.,-+−–<>≥% \u00a0toinspm;") != "" {
			return false
		}
	}
	return len(rows) > 0
}

// placed are the pictures of the results: those that stand beside a step or a
// table, by its name, and the others.
func placed(m *Model, figures []*figure, lead *figure) (beside map[string][]*figure, head []*figure) {
	beside = map[string][]*figure{}
	places := map[string]bool{}
	for _, r := range m.Results {
		places[r.Step] = true
	}
	if m.Reference != nil {
		for _, f := range m.Reference.Figures {
			places[f.Table] = true
		}
	}
	for _, f := range figures {
		if f != lead && f.Beside != "" && places[f.Beside] {
			beside[f.Beside] = append(beside[f.Beside], f)
		} else {
			head = append(head, f)
		}
	}
	return beside, head
}

func figureBlocks(figures []*figure, lead *figure) []block {
	var blocks []block
	for _, f := range figures {
		if f == lead {
			blocks = append(blocks, para(span{Kind: figureLink, Text: fmt.Sprintf("Figure %d", f.Number), Href: "figure-1"},
				text(" ("+visible(f.Chart.Title)+") stands at the top of this report.")))
			continue
		}
		blocks = append(blocks, block{Figure: f})
	}
	return blocks
}
