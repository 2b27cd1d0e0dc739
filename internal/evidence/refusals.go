package evidence

import "fmt"

// refusals are lines or rows of one file that hold what cannot be. They are not
// read, and the case lists the first of them and how many there are.
type refusals struct {
	first string // where it stands and what is wrong with it
	n     int
}

// add takes one in. fault names the field, what it holds and what it may hold.
func (r *refusals) add(at Source, fault string) {
	if r.n++; r.n > 1 {
		return
	}
	r.first = fault
	if at.Line > 0 {
		r.first = fmt.Sprintf("line %d: %s", at.Line, fault)
	}
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
