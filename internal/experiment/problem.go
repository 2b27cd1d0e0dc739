package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// FileError is one thing that is wrong with an experiment file, at the place
// where it stands. Its sentence can be shown to the author as it is.
type FileError struct {
	File string `json:"file"`
	// Line and Column count from 1. For an override they are the place in its
	// value.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Override is the argument that brought the value in, such as
	// "--set repetitions=99", empty for what the file itself says.
	Override string `json:"override,omitempty"`
	// Field is the path of the field, such as steps[2].traffic.kind, and empty
	// for the file as a whole.
	Field string `json:"field,omitempty"`
	// Message says what is wrong, without the full stop.
	Message string `json:"message"`
	// Suggestion is the nearest known name, if one is near.
	Suggestion string `json:"suggestion,omitempty"`
	// Allowed says which values would be accepted, where that can be listed.
	Allowed string `json:"allowed,omitempty"`
}

// Error returns place, field and sentence in one line.
func (e *FileError) Error() string {
	var b strings.Builder
	if e.Override != "" {
		b.WriteString(e.Override)
	} else {
		fmt.Fprintf(&b, "%s:%d:%d", e.File, e.Line, e.Column)
	}
	if e.Field != "" {
		b.WriteString(": " + e.Field)
	}
	b.WriteString(": " + e.Message)
	if e.Suggestion != "" {
		fmt.Fprintf(&b, "; did you mean %q?", e.Suggestion)
	} else {
		b.WriteString(".")
	}
	if e.Allowed != "" {
		b.WriteString(" Allowed: " + e.Allowed + ".")
	}
	return b.String()
}

// FileErrors is everything that is wrong with a file, in the order of its
// lines; overrides come first.
type FileErrors []*FileError

// shown bounds the sentences that Error prints.
const shown = 50

// Error returns one sentence per line.
func (l FileErrors) Error() string {
	lines := make([]string, 0, len(l))
	for i, e := range l {
		if i == shown {
			lines = append(lines, fmt.Sprintf("%s: %d more problems are not shown.", e.File, len(l)-shown))
			break
		}
		lines = append(lines, e.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns each *FileError, for errors.As.
func (l FileErrors) Unwrap() []error {
	all := make([]error, len(l))
	for i, e := range l {
		all[i] = e
	}
	return all
}

// problems collects what is wrong with one file. The same sentence about the
// same place is kept once: a step of a matrix is checked many times.
type problems struct {
	file string
	list FileErrors
	seen map[FileError]bool
}

func (p *problems) add(e FileError) {
	e.File = p.file
	if p.seen[e] {
		return
	}
	if p.seen == nil {
		p.seen = map[FileError]bool{}
	}
	p.seen[e] = true
	p.list = append(p.list, &e)
}

// at adds a problem with the value of n.
func (p *problems) at(n *node, format string, args ...any) {
	p.add(n.problem(fmt.Sprintf(format, args...)))
}

// about adds a problem with a field of n: at its value, or at n when the field
// is absent.
func (p *problems) about(n *node, field, format string, args ...any) {
	p.add(n.fieldProblem(field, fmt.Sprintf(format, args...)))
}

// word adds a problem with a name that is not among the known ones. The known
// names are listed when they are few or none is near.
func (p *problems) word(n *node, message string, got string, known []string) {
	e := n.problem(message)
	e.Suggestion = nearest(got, known)
	if len(known) > 0 && (e.Suggestion == "" || len(known) <= 8) {
		e.Allowed = list(known)
	}
	p.add(e)
}

// below tells whether there is a problem in one of the file's own fields.
func (p *problems) below(fields ...string) bool {
	return slices.ContainsFunc(p.list, func(e *FileError) bool {
		top, _, _ := strings.Cut(strings.ReplaceAll(e.Field, "[", "."), ".")
		return slices.Contains(fields, top)
	})
}

// err returns all problems sorted, or nil.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	p.sort()
	return p.list
}

func (p *problems) sort() {
	slices.SortStableFunc(p.list, func(a, b *FileError) int {
		return cmp.Or(
			-cmp.Compare(a.Override, b.Override),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Field, b.Field))
	})
}

// list joins names for a sentence, sorted, and cut where there are too many to
// read.
func list(names []string) string {
	const most = 40
	names = slices.Sorted(slices.Values(names))
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// nearest returns the known name with the fewest edits from name, or nothing
// when even that is another word.
func nearest(name string, known []string) string {
	if len(name) > 64 {
		return ""
	}
	best, fewest := "", max(1, (len(name)+1)/3)+1
	for _, k := range known {
		if d := edits(strings.ToLower(name), strings.ToLower(k)); d < fewest && d < len(name) {
			best, fewest = k, d
		}
	}
	return best
}

// edits is the Levenshtein distance in bytes, with two letters in the wrong
// order counted as one edit (optimal string alignment).
func edits(a, b string) int {
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			if a[i] == b[j] {
				next[j+1] = row[j]
				continue
			}
			next[j+1] = 1 + min(row[j], row[j+1], next[j])
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}
