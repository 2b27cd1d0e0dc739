package kernel

import (
	"bytes"
	"errors"
	"slices"
)

// layout is the order of a file with lines of "key value", up to the last that
// is wanted, as a whole reading has found it. A kernel writes such a file in the
// same order each time, so that later readings look at the wanted lines only and
// end where the last of them does. That is made sure of: every line must begin
// with its key. A nil layout knows nothing and learns nothing.
type layout struct {
	lines []flatLine
	size  int // of those lines when they were last read, in bytes
}

type flatLine struct {
	key    []byte // with the blank behind it
	wanted bool
}

func (f *flatLine) name() []byte { return f.key[:len(f.key)-1] }

// errMoved says that a file has another layout than before, which is forgotten.
var errMoved = errors.New("the lines of the file have moved")

// last returns the last wanted key, nil before the lines are known.
func (l *layout) last() []byte {
	if l == nil || len(l.lines) == 0 {
		return nil
	}
	return l.lines[len(l.lines)-1].key
}

// complete tells whether b, the beginning of a file, holds all that is wanted
// of it.
func (l *layout) complete(b []byte) bool {
	return l != nil && len(l.lines) > 0 && bytes.Count(b, []byte{'\n'}) >= len(l.lines)
}

// parse reads lines of "key value". slot returns where the value of a key
// goes, nil for a key that is not wanted; several keys with the same slot are
// added up. After errMoved nothing is filled in, and the file is to be read
// again as a whole.
func (l *layout) parse(b []byte, slot func(key []byte) *Num) error {
	if l == nil || len(l.lines) == 0 {
		return l.learn(b, slot)
	}
	if l.size = l.follow(b, slot); l.size > 0 {
		return nil
	}
	for i := range l.lines {
		if f := &l.lines[i]; f.wanted {
			*slot(f.name()) = Num{}
		}
	}
	l.lines = l.lines[:0]
	return errMoved
}

// ask returns how much of a file with so many bytes read is worth asking for, at
// most as much as there is room for: of a file of many records the kernel writes
// no more than it is asked for.
func (l *layout) ask(read int, room []byte) []byte {
	const growth = 128 // of the numbers, since the last reading
	if l == nil || l.size == 0 || read > 0 {
		return room
	}
	return room[:min(len(room), l.size+growth)]
}

// follow returns the size of the lines, 0 when one is not as it was.
func (l *layout) follow(b []byte, slot func(key []byte) *Num) int {
	whole := len(b)
	for i := range l.lines {
		f := &l.lines[i]
		if !bytes.HasPrefix(b, f.key) {
			return 0
		}
		value, rest := cutLine(b[len(f.key):])
		if f.wanted && !slot(f.name()).add(value) {
			return 0
		}
		b = rest
	}
	return whole - len(b)
}

// learn reads all lines.
func (l *layout) learn(b []byte, slot func(key []byte) *Num) error {
	var bad faults
	var broken []*Num // a sum without one of its parts would be too small
	last := 0
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = cutLine(b)
		key, value := cutField(line)
		dst := slot(key)
		if l != nil {
			l.lines = append(l.lines, flatLine{append(bytes.Clone(key), ' '), dst != nil})
		}
		if dst == nil {
			continue
		}
		last = n
		if slices.Contains(broken, dst) {
			continue
		}
		if value = bytes.TrimSpace(value); !dst.add(value) {
			*dst, broken = Num{}, append(broken, dst)
			bad.add(n, string(key), value, wantNumber)
		}
	}
	if l != nil {
		l.lines = slices.Clone(l.lines[:last])
	}
	return bad.err()
}

// add takes in one of the values that are added up, and is false where that
// has no outcome.
func (n *Num) add(text []byte) bool {
	v, ok := parseNum(text)
	if ok && n.Known {
		v, ok = n.Plus(Num{v, true}).Get()
	}
	if ok {
		*n = Num{v, true}
	}
	return ok
}
