package kernel

import (
	"bytes"
	"fmt"
	"math"
)

// FieldError names a field of a kernel file that is not in the form that the
// kernel's documentation gives. For results made of [Num] the other fields are
// filled in all the same, and this one is left unknown.
type FieldError struct {
	File  string // below the root
	Line  int    // from 1
	Field string
	Text  string // what stands there, shortened
	Want  string // what is allowed
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("%s line %d: %s: %q is not %s", e.File, e.Line, e.Field, e.Text, e.Want)
}

// faults keeps the first field of a file that could not be understood.
type faults struct{ first *FieldError }

func (f *faults) add(line int, field string, text []byte, want string) {
	if f.first == nil {
		f.first = &FieldError{Line: line, Field: field, Text: shorten(text), Want: want}
	}
}

func (f *faults) err() error {
	if f.first == nil {
		return nil
	}
	return f.first
}

func shorten(b []byte) string {
	const most = 60
	if len(b) > most {
		return string(b[:most]) + "…"
	}
	return string(b)
}

const (
	wantNumber = "a whole number below 2^64"
	wantKB     = "a whole number of kB"
)

func cutLine(b []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(b, []byte{'\n'})
	return line, rest
}

// cutField returns the next run of characters that are neither blanks nor
// newlines; it is empty at the end.
func cutField(b []byte) (field, rest []byte) {
	from := 0
	for from < len(b) && isBlank(b[from]) {
		from++
	}
	to := from
	for to < len(b) && !isBlank(b[to]) {
		to++
	}
	return b[from:to], b[to:]
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// parseNum parses decimal digits and nothing else: strconv, which takes no
// less, spends most of a reading's time.
func parseNum(b []byte) (v uint64, ok bool) {
	for _, c := range b {
		digit := uint64(c - '0')
		if digit > 9 || v > (math.MaxUint64-digit)/10 {
			return 0, false
		}
		v = 10*v + digit
	}
	return v, len(b) > 0
}

// parseKB parses "123 kB" into bytes. The unit is required: without it the
// line may have been cut off in the middle of the number.
func parseKB(b []byte) (uint64, bool) {
	digits, ok := bytes.CutSuffix(bytes.TrimSpace(b), []byte(" kB"))
	if !ok {
		return 0, false
	}
	v, ok := parseNum(bytes.TrimSpace(digits))
	if !ok || v > math.MaxUint64/1024 {
		return 0, false
	}
	return v * 1024, true
}

// parseSingle reads a file that holds one number.
func parseSingle(dst *Num, field string, b []byte) error {
	text := bytes.TrimSpace(b)
	v, ok := parseNum(text)
	if !ok {
		return &FieldError{Line: 1, Field: field, Text: shorten(text), Want: wantNumber}
	}
	*dst = Num{v, true}
	return nil
}
