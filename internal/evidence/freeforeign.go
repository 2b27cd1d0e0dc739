package evidence

import (
	"bytes"
	"strings"
	"unicode"
)

// freeAmounts are one to a column: a number, with the decimal comma of some
// languages, and a unit.
var freeAmounts = expression(`^\d+(?:[.,]\d+)?(?:[KMGTPE]i?|B)?$`)

// freeColumns are free's columns by how many there are: as they are, and with
// --wide. The columns of procps before 3.3.10 have a row "-/+ buffers/cache" below.
var freeColumns = map[int][]string{
	6: {"total", "used", "free", "shared", "buff/cache", "available"},
	7: {"total", "used", "free", "shared", "buffers", "cache", "available"},
}

// parseForeignFree reads what free prints in other languages than English, which
// have the same columns in the same order: the first row is memory, and the row of
// three amounts behind it swap; with --lohi two more stand between, and with
// --total and --committed more behind.
//
// The catalogues of procps-ng (po/de.po and its like)
func (b *builder) parseForeignFree(f *file, heading []string) bool {
	const fewest, most = 3, 12
	if len(f.data) > 8<<10 || len(heading) < fewest || len(heading) > most || !onlyWords(heading) {
		return false
	}
	var rows []freeRow
	n, old := 0, false
	for line := range bytes.Lines(f.data) {
		if n++; n == 1 || len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		text := strings.Replace(string(line[:min(len(line), 512)]), "：", ":", 1)
		label, rest, ok := strings.Cut(text, ":")
		words := strings.Fields(rest)
		if !ok || label == "" || len(words) == 0 {
			return false
		}
		for _, w := range words {
			if !freeAmounts().MatchString(w) {
				return false
			}
		}
		if strings.HasPrefix(label, "-/+") {
			old = true
			continue
		}
		rows = append(rows, freeRow{n, words})
	}
	if len(rows) == 0 {
		return false
	}
	columns := freeColumns[len(rows[0].words)]
	if old && len(rows[0].words) == 6 {
		columns = []string{"total", "used", "free", "shared", "buffers", "cached"}
	}
	if columns == nil {
		return false
	}
	m := emptyReading("").Meminfo
	unit := freeUnit(rows[0].words[0])
	rows[0].take(f, &m, "Mem:", columns, unit)
	if swap := swapRow(rows); swap != nil {
		swap.take(f, &m, "Swap:", columns[:3], unit)
	}
	if !m.MemTotal.Above(0) {
		return false
	}
	if !b.keepMemory(f, &m) {
		return true
	}
	b.input(f, "free", joinNotes("its headings are not English: it was read by position", freeNote(unit)))
	return true
}

// onlyWords reports whether a heading has no amount and no colon.
func onlyWords(heading []string) bool {
	for _, w := range heading {
		if strings.ContainsFunc(w, unicode.IsDigit) || strings.Contains(w, ":") {
			return false
		}
	}
	return true
}

// freeRow is a row of free, without its label.
type freeRow struct {
	line  int
	words []string
}

func (r *freeRow) take(f *file, m *Meminfo, label string, columns []string, unit string) {
	for i, column := range columns[:min(len(columns), len(r.words))] {
		from := Source{File: f.name, Line: r.line, Field: label + " " + column}
		freeAmount(m, label+" "+column, freeSize(r.words[i]+unit, from))
	}
}

// swapRow is the row of swap among those of three amounts behind that of memory: the
// first, or with --lohi the third. The first two of these add up to memory.
func swapRow(rows []freeRow) *freeRow {
	const amounts, lohi = 3, 2
	var three []*freeRow
	for i := range rows[1:] {
		if r := &rows[i+1]; len(r.words) == amounts {
			three = append(three, r)
		}
	}
	total := func(r *freeRow) Value { return freeSize(r.words[0], Source{}) }
	switch {
	case len(three) > lohi:
		const rounding = 0.02
		memory, parts := total(&rows[0]), total(three[0]).Plus(total(three[1]))
		if parts.AtLeast(memory.Number*(1-rounding)) && parts.AtMost(memory.Number*(1+rounding)) {
			return three[lohi]
		}
		return three[0]
	case len(three) > 0:
		return three[0]
	}
	return nil
}
