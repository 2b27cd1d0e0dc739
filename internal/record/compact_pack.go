package record

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"slices"
)

// chunkRows is how many rows of a table are packed at a time: what bounds the
// memory of packing and unpacking.
const chunkRows = 1 << 15

// errDamaged says that packed columns contradict themselves.
var errDamaged = errors.New("it is damaged")

// kind is the type that a column is declared with.
type kind byte

const (
	integers kind = iota
	texts
	reals
)

// column is the values of one column in some rows of a table.
type column struct {
	name  string
	kind  kind
	null  []bool
	ints  []int64
	texts []string
	reals []float64
}

// chunk is some rows of one table, by column.
type chunk struct {
	table   string
	rows    int
	columns []column
}

func newChunk(table string, columns []column) *chunk {
	c := &chunk{table: table, columns: make([]column, len(columns))}
	for i, x := range columns {
		c.columns[i] = column{name: x.name, kind: x.kind}
	}
	return c
}

// How an integer is foretold from the row before it, in the order of packing,
// and from another column of the table.
const (
	// fromBefore expects the value of the row before.
	fromBefore byte = iota
	// withOther expects the change that the other column has.
	withOther
	// againstOther expects the opposite of it.
	againstOther
	// asOther expects the other column's value.
	asOther
	foretellings
)

// series is one column of integers in the order of packing, divided by what
// all of its values can be divided by.
type series struct {
	scale int64
	null  []bool
	value []int64
}

func newSeries(c *column, order []int) *series {
	s := &series{scale: 1, null: make([]bool, len(order)), value: make([]int64, len(order))}
	var scale uint64
	for _, v := range c.ints {
		scale = gcd(scale, magnitude(v))
	}
	if scale > 0 && scale <= math.MaxInt64 {
		s.scale = int64(scale)
	}
	for i, row := range order {
		s.null[i], s.value[i] = c.null[row], c.ints[row]/s.scale
	}
	return s
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// foresight foretells a series row by row.
type foresight struct {
	how   byte
	other *column
	order []int
	scale int64
	// before is the latest value, otherBefore that of the other column.
	before, otherBefore int64
}

// next is what the value of the i-th row in order is expected to be. The
// arithmetic may overflow: it does so in the same way in both directions.
func (f *foresight) next(i int) int64 {
	if f.how == fromBefore {
		return f.before
	}
	row := f.order[i]
	if f.other.null[row] {
		return f.before
	}
	x := f.other.ints[row] / f.scale
	change := x - f.otherBefore
	f.otherBefore = x
	switch f.how {
	case withOther:
		return f.before + change
	case againstOther:
		return f.before - change
	}
	return x
}

// weighed is how many rows decide how a column is foretold.
const weighed = 4096

// weight estimates the bits that a series takes.
func (s *series) weight(f foresight) (n int) {
	for i, null := range s.null[:min(len(s.null), weighed)] {
		if null {
			continue
		}
		n += bits.Len64(zigzag(s.value[i] - f.next(i)))
		f.before = s.value[i]
	}
	return n
}

// packer writes columns: what repeats itself to bytes, and what is as good as
// random to digits, which are kept apart so that they do not spoil the
// compression of the rest.
type packer struct {
	bytes  []byte
	digits digits
}

// pack returns the chunk: its digits, then the columns, each after those that
// it may be foretold by.
func (c *chunk) pack() []byte {
	p := &packer{}
	p.text(c.table)
	p.number(uint64(c.rows))
	p.number(uint64(len(c.columns)))
	order := inOrder(c.rows)
	for i := range c.columns {
		x := &c.columns[i]
		p.text(x.name)
		p.bytes = append(p.bytes, byte(x.kind))
		switch x.kind {
		case integers:
			p.integers(c.columns[:i], x, order)
		case texts:
			p.texts(x)
		case reals:
			p.reals(x)
		}
		if scopes := byScope(c.columns[:i+1]); scopes != nil {
			order = scopes
		}
	}
	b := binary.AppendUvarint(nil, uint64(len(p.digits.bytes)))
	return append(append(b, p.digits.bytes...), p.bytes...)
}

// integers writes a column: its scale, how it is foretold and by which earlier
// column, and what each value differs by.
func (p *packer) integers(earlier []column, x *column, order []int) {
	s := newSeries(x, order)
	best := foresight{how: fromBefore, order: order, scale: s.scale}
	least, by := s.weight(best), 0
	for j := range earlier {
		if earlier[j].kind != integers {
			continue
		}
		for how := withOther; how < foretellings; how++ {
			f := foresight{how: how, other: &earlier[j], order: order, scale: s.scale}
			if n := s.weight(f); n < least {
				best, least, by = f, n, j
			}
		}
	}
	p.number(uint64(s.scale))
	p.bytes = append(p.bytes, best.how)
	p.number(uint64(by))
	for i, null := range s.null {
		if null {
			p.bytes = append(p.bytes, noValue)
			continue
		}
		p.difference(s.value[i] - best.next(i))
		best.before = s.value[i]
	}
}

func (p *packer) texts(x *column) {
	for row, text := range x.texts {
		if x.null[row] {
			p.number(0)
			continue
		}
		p.number(uint64(len(text)) + 1)
		p.bytes = append(p.bytes, text...)
	}
}

func (p *packer) reals(x *column) {
	for row, v := range x.reals {
		if x.null[row] {
			p.bytes = append(p.bytes, 0)
			continue
		}
		p.bytes = binary.LittleEndian.AppendUint64(append(p.bytes, 1), math.Float64bits(v))
	}
}

func (p *packer) number(n uint64) { p.bytes = binary.AppendUvarint(p.bytes, n) }

func (p *packer) text(s string) {
	p.number(uint64(len(s)))
	p.bytes = append(p.bytes, s...)
}

// noValue stands in the place of a size where a value is NULL.
const noValue = 0xff

// difference writes how large a number is, with its highest digit but one, to
// the bytes, and the lower ones to the digits.
func (p *packer) difference(v int64) {
	u := zigzag(v)
	if u < 2 {
		p.bytes = append(p.bytes, byte(u))
		return
	}
	low := bits.Len64(u) - 2
	p.bytes = append(p.bytes, byte(low+1)<<1|byte(u>>low&1))
	p.digits.add(u, low)
}

// digits are binary digits, the first in the lowest place of a byte.
type digits struct {
	bytes []byte
	n     int
}

// add appends the lowest n digits of u.
func (d *digits) add(u uint64, n int) {
	for i := range n {
		if d.n%8 == 0 {
			d.bytes = append(d.bytes, 0)
		}
		d.bytes[d.n/8] |= byte(u>>i&1) << (d.n % 8)
		d.n++
	}
}

// take returns the next n digits; there may not be as many.
func (d *digits) take(n int) (u uint64, ok bool) {
	if d.n+n > len(d.bytes)*8 {
		return 0, false
	}
	for i := range n {
		u |= uint64(d.bytes[d.n/8]>>(d.n%8)&1) << i
		d.n++
	}
	return u, true
}

func inOrder(rows int) []int {
	order := make([]int, rows)
	for i := range order {
		order[i] = i
	}
	return order
}

// byScope is the order that brings the rows of one app in one repetition
// together, so that what follows each other is alike. It is nil unless the
// last of the columns is at_ns and the two that it depends on come before it.
func byScope(columns []column) []int {
	if columns[len(columns)-1].name != "at_ns" {
		return nil
	}
	repetition, app := named(columns, "repetition_id", integers), named(columns, "app", texts)
	if repetition == nil || app == nil {
		return nil
	}
	order := inOrder(len(app.texts))
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(repetition.ints[a], repetition.ints[b]), cmp.Compare(app.texts[a], app.texts[b]))
	})
	return order
}

func named(columns []column, name string, k kind) *column {
	for i := range columns {
		if columns[i].name == name && columns[i].kind == k {
			return &columns[i]
		}
	}
	return nil
}

func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }
