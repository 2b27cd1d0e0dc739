package kernel

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// pair is a reading of two wanted keys, of which one is a sum.
type pair struct{ One, Sum Num }

func (p *pair) slot(key []byte) *Num {
	switch string(key) {
	case "one":
		return &p.One
	case "sum_a", "sum_b":
		return &p.Sum
	}
	return nil
}

// pairReader reads *text, page bytes at a time, and counts the reads.
func pairReader(text *string, page int, reads *int) *Reader[pair] {
	p := flatFile[pair]("file", (*pair).slot)
	p.single = false
	p.file = &file{name: "file", buf: make([]byte, 1<<10), layout: new(layout), pread: func(b []byte, at int64) (int, error) {
		*reads++
		rest := (*text)[min(int(at), len(*text)):]
		return copy(b, rest[:min(page, len(rest))]), nil
	}}
	return &Reader[pair]{parts: []part[pair]{p}}
}

// Whatever becomes of the lines of a file, a reader that knows where they stood
// reads what one that is new reads; only a wanted key that comes behind all
// others is not looked for.
func TestAReaderThatKnowsTheLinesReadsTheSame(t *testing.T) {
	line := rapid.Custom(func(t *rapid.T) string {
		key := rapid.SampledFrom([]string{"one", "sum_a", "sum_b", "other", "one_more", "on", ""}).Draw(t, "key")
		value := rapid.SampledFrom([]string{"0", "7", "12345", "18446744073709551615", "x", "", " 4"}).Draw(t, "value")
		return key + " " + value
	})
	rapid.Check(t, func(t *rapid.T) {
		var text string
		reads := 0
		known := pairReader(&text, rapid.IntRange(1, 40).Draw(t, "page"), &reads)
		for range 4 {
			lines := rapid.SliceOfN(line, 0, 8).Draw(t, "lines")
			text = strings.Join(lines, "\n") + rapid.SampledFrom([]string{"", "\n"}).Draw(t, "end")
			seen := text
			if stood := known.parts[0].file.layout.lines; stands(stood, lines) && len(stood) > 0 && len(stood) < len(lines) {
				seen = strings.Join(lines[:len(stood)], "\n") + "\n"
			}
			var got, want pair
			err := known.Read(&got)
			wantErr := pairReader(&seen, 1<<10, new(int)).Read(&want)
			if got != want || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("%q: read %+v (%v), want %+v (%v)", text, got, err, want, wantErr)
			}
		}
	})
}

// stands tells whether the lines can be read where they were.
func stands(stood []flatLine, lines []string) bool {
	var sum pair
	for i := range stood {
		if i >= len(lines) {
			return false
		}
		value, ok := strings.CutPrefix(lines[i], string(stood[i].key))
		if !ok || stood[i].wanted && !sum.slot(stood[i].name()).add([]byte(value)) {
			return false
		}
	}
	return true
}

// A file is read as far as its last wanted line, and not asked for its end.
func TestAReaderThatKnowsTheLinesStopsAtTheLast(t *testing.T) {
	text := "other 1\none 2\n" + strings.Repeat("more 3\n", 10)
	reads := 0
	r := pairReader(&text, 20, &reads)
	var p pair
	for i, want := range []int{6, 1, 1} { // 84 bytes and the end
		reads = 0
		if err := r.Read(&p); err != nil || p.One != num(2) {
			t.Errorf("reading %d: %+v, %v", i, p, err)
		}
		wantEqual(t, fmt.Sprintf("reads of reading %d", i), reads, want)
	}
	text = "more 5\n" + text
	reads = 0
	if err := r.Read(&p); err != nil || p.One != num(2) {
		t.Errorf("after a line has come: %+v, %v", p, err)
	}
	wantEqual(t, "reads after a line has come", reads, 1+6)
}

// A reading that fails in the second attempt holds nothing.
func TestAFileThatGoesWhileItsLinesMove(t *testing.T) {
	text := "one 1\nother 2\n"
	reads := 0
	r := pairReader(&text, 1<<10, &reads)
	var p pair
	if err := r.Read(&p); err != nil {
		t.Fatal(err)
	}
	whole := r.parts[0].file.pread
	text = "other 2\none 1\n"
	r.parts[0].file.pread = func(b []byte, at int64) (int, error) {
		if reads > 3 {
			return 0, ErrGone
		}
		return whole(b, at)
	}
	if err := r.Read(&p); !errors.Is(err, ErrGone) || p != (pair{}) {
		t.Errorf("%+v, %v, want nothing and that it has ended", p, err)
	}
}
