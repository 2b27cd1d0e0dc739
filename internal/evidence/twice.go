package evidence

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
)

// inTree reports whether a name is that of a file below proc, sys or cgroup.
func inTree(name string) bool {
	_, ok := placeOf(name)
	return ok
}

// second leaves out a file of the kernel, such as proc/meminfo, in whose place a
// reading has another, and says so.
func (b *builder) second(had, f *file, place string) {
	if bytes.Equal(had.data, f.data) {
		b.strange(f, "it is the same as "+had.toldFrom(f)+" and counts once")
		return
	}
	b.strange(f, fmt.Sprintf("a second %s, without a time, is left out beside %s: give one machine at one time, or two readings below t0/ and t1/", path.Base(place), had.toldFrom(f)))
}

// toldFrom is the name of a file in a sentence about another, which may be called
// the same in another archive or folder.
func (f *file) toldFrom(other *file) string {
	if f.name == other.name && f.of != other.of {
		return "that of " + shorten(oneLine(f.of))
	}
	return f.name
}

// two refuses files that come from two machines, or from one at two times: their
// readings have the same names, and nothing keeps them apart.
func (b *builder) two(what string, had, f *file) {
	first, other := oneLine(had.of), oneLine(f.of)
	if first == other {
		first, other = had.name, f.name
	}
	b.bad = fmt.Errorf("%s and %s are two %s, and a case is one machine at one time: give one of them, or a folder that holds two readings as t0 and t1", first, other, what)
}

// kernelRecord is what tells one record of a kernel's log from any other.
type kernelRecord struct {
	kind   EventKind
	text   string
	unix   int64   // ns
	uptime float64 // s, 0 if not told
}

// dropCopies leaves out the events of records of the kernel's log that another
// file has too, with the same time and words.
func (b *builder) dropCopies() {
	type copied struct{ file, of string }
	owner := map[kernelRecord]string{}
	dropped := map[copied]int{}
	var order []copied
	b.c.Events = slices.DeleteFunc(b.c.Events, func(e Event) bool {
		if e.Origin != FromKernel || e.At.IsZero() && !e.Uptime.Known {
			return false
		}
		r := kernelRecord{kind: e.Kind, text: e.Text, uptime: e.Uptime.Number}
		if !e.At.IsZero() {
			r.unix = e.At.UnixNano()
		}
		had, seen := owner[r]
		if !seen {
			owner[r] = e.From.File
		}
		if !seen || had == e.From.File {
			return false
		}
		c := copied{e.From.File, had}
		if dropped[c] == 0 {
			order = append(order, c)
		}
		dropped[c]++
		return true
	})
	for _, c := range order {
		b.c.Strangers = append(b.c.Strangers, Stranger{File: c.file, Why: fmt.Sprintf("%s of %s, with the same times and words, and count once", areRecords(dropped[c]), c.of)})
	}
}

func areRecords(n int) string {
	if n == 1 {
		return "1 of its records is one"
	}
	return grouped(n) + " of its records are those"
}

// tellCounted says of which files not every event was kept.
func (b *builder) tellCounted() {
	var keys []eventKey
	for key, n := range b.counts {
		if n.more > 0 {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(x, y eventKey) int {
		return cmp.Or(cmp.Compare(x.file, y.file), cmp.Compare(x.kind, y.kind))
	})
	for _, key := range keys {
		n := b.counts[key]
		why := fmt.Sprintf("the first %s of its %s lines of one kind (%s) are kept, and the last of these counts for the others", grouped(n.kept), grouped(n.kept+n.more), key.kind)
		b.c.Strangers = append(b.c.Strangers, Stranger{File: key.file, Why: why})
		for i := range b.c.Inputs {
			if in := &b.c.Inputs[i]; in.File == key.file {
				in.Note = joinNotes(in.Note, why)
				break
			}
		}
	}
}

// grouped writes a number with a comma before each three digits.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

// tellCutArchives makes a gap of each signal that is missing where an archive
// ends early: it may have stood in the part that is lost.
func (b *builder) tellCutArchives() {
	for _, name := range b.cut {
		for _, s := range allSignals {
			if !b.c.Has(s) && !slices.ContainsFunc(b.c.Gaps, func(g Gap) bool { return g.What == s }) {
				b.gap(s, Unreadable, name+" ends early, and what stood behind is lost", Source{File: name})
			}
		}
	}
}
