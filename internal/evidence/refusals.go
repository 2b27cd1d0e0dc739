package evidence

import (
	"cmp"
	"fmt"
	"strings"
)

// refusals are lines or rows of one file that hold what cannot be. They are not
// read, and the case lists the first of them and how many there are.
type refusals struct {
	first string // where it stands and what is wrong with it
	line  int    // where that is
	n     int
	// row is what a line is called, "line" if it is empty.
	row string
}

// add takes one in. fault names the field, what it holds and what it may hold.
func (r *refusals) add(at Source, fault string) {
	if r.n++; r.n > 1 && (at.Line == 0 || at.Line >= r.line) {
		return
	}
	r.first, r.line = fault, at.Line
	if at.Line > 0 {
		r.first = fmt.Sprintf("%s %d: %s", cmp.Or(r.row, "line"), at.Line, fault)
	}
}

// refuse takes in a cell that holds what cannot be; want is what it may hold.
func (s *sheet) refuse(r *sheetRow, column int, want string) {
	at := s.from(r, column)
	s.refused.add(at, notA(at.Field, r.cell(column), want))
}

// notA says what a field holds and what it may hold.
func notA(field, text, want string) string {
	return fmt.Sprintf("%s is %q, and it has to be %s", shorten(oneLine(field)), shorten(oneLine(text)), want)
}

// noValue reports whether a cell says that there is no value.
func noValue(text string) bool {
	switch strings.ToLower(text) {
	case "", "-", "null", "none", "n/a", "na":
		return true
	}
	return false
}

// tell lists them in the case.
func (r *refusals) tell(b *builder, file string) {
	if r.n == 0 {
		return
	}
	left := "it was not read"
	if r.n > 1 {
		left = fmt.Sprintf("it and %d more with what cannot be were not read", r.n-1)
	}
	b.c.Strangers = append(b.c.Strangers, Stranger{File: file, Why: r.first + ": " + left})
}

// refuse leaves out a line of a log.
func (s *logState) refuse(l *logLine, fault string) { s.refused.add(l.from(), fault) }
