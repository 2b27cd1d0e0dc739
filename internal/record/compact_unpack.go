package record

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math"
)

// unpacker reads packed columns.
type unpacker struct {
	r *bufio.Reader
	// left is how many bytes follow at most.
	left int64
	// digits are those of the present chunk.
	digits digits
	// tables are the columns that each table has.
	tables map[string][]column
}

// newUnpacker reads size bytes.
func newUnpacker(r io.Reader, size int64) *unpacker {
	return &unpacker{r: bufio.NewReaderSize(r, 1<<16), left: size}
}

// chunk reads the next chunk; it is nil after the last one.
func (u *unpacker) chunk() (*chunk, error) {
	low, err := u.text()
	if err != nil {
		return nil, err
	}
	u.digits = digits{bytes: []byte(low)}
	table, err := u.text()
	if err != nil || table == "" {
		return nil, err
	}
	want := u.tables[table]
	rows, err := u.number(chunkRows)
	if err != nil {
		return nil, err
	}
	if n, err := u.number(math.MaxInt64); err != nil || want == nil || n != uint64(len(want)) {
		return nil, cmp.Or(err, errDamaged)
	}
	c := &chunk{table: table, rows: int(rows)}
	order := inOrder(c.rows)
	for _, w := range want {
		x, err := u.column(c, order, w)
		if err != nil {
			return nil, err
		}
		c.columns = append(c.columns, x)
		if scopes := byScope(c.columns); scopes != nil {
			order = scopes
		}
	}
	return c, nil
}

// column reads one that must be the given one.
func (u *unpacker) column(c *chunk, order []int, want column) (x column, err error) {
	if x.name, err = u.text(); err != nil {
		return x, err
	}
	k, err := u.byte()
	if err != nil || x.name != want.name || kind(k) != want.kind {
		return x, cmp.Or(err, errDamaged)
	}
	x.kind, x.null = want.kind, make([]bool, c.rows)
	switch x.kind {
	case integers:
		x.ints = make([]int64, c.rows)
		return x, u.integers(&x, c.columns, order)
	case texts:
		x.texts = make([]string, c.rows)
		return x, u.texts(&x)
	}
	x.reals = make([]float64, c.rows)
	return x, u.reals(&x)
}

func (u *unpacker) integers(x *column, earlier []column, order []int) error {
	scale, err := u.number(math.MaxInt64)
	if err != nil || scale == 0 {
		return cmp.Or(err, errDamaged)
	}
	how, err := u.byte()
	if err != nil || how >= foretellings {
		return cmp.Or(err, errDamaged)
	}
	by, err := u.number(uint64(len(earlier)))
	if err != nil {
		return err
	}
	f := foresight{how: how, order: order, scale: int64(scale)}
	if how != fromBefore {
		if by == uint64(len(earlier)) || earlier[by].kind != integers {
			return errDamaged
		}
		f.other = &earlier[by]
	}
	for i, row := range order {
		d, null, err := u.difference()
		switch {
		case err != nil:
			return err
		case null:
			x.null[row] = true
			continue
		}
		f.before = f.next(i) + d
		x.ints[row] = f.before * f.scale
	}
	return nil
}

func (u *unpacker) texts(x *column) error {
	for row := range x.texts {
		n, err := u.number(uint64(u.left))
		if err != nil {
			return err
		}
		if x.null[row] = n == 0; n == 0 {
			continue
		}
		if x.texts[row], err = u.bytes(n - 1); err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacker) reals(x *column) error {
	for row := range x.reals {
		there, err := u.byte()
		if err != nil {
			return err
		}
		if x.null[row] = there == 0; there == 0 {
			continue
		}
		b, err := u.bytes(8)
		if err != nil {
			return err
		}
		x.reals[row] = math.Float64frombits(binary.LittleEndian.Uint64([]byte(b)))
	}
	return nil
}

// difference reads what packer.difference wrote, or a NULL.
func (u *unpacker) difference() (d int64, null bool, err error) {
	size, err := u.byte()
	switch {
	case err != nil || size == noValue:
		return 0, true, err
	case size < 2:
		return unzigzag(uint64(size)), false, nil
	}
	low := int(size>>1) - 1
	x, ok := u.digits.take(low)
	if !ok || low > 62 {
		return 0, false, errDamaged
	}
	return unzigzag(uint64(size&1|2)<<low | x), false, nil
}

// number reads one that is at most the given one.
func (u *unpacker) number(most uint64) (uint64, error) {
	n, err := binary.ReadUvarint(u.r)
	if err != nil || n > most {
		return 0, damaged(err)
	}
	return n, nil
}

func (u *unpacker) byte() (byte, error) {
	b, err := u.r.ReadByte()
	if err != nil {
		return 0, damaged(err)
	}
	return b, nil
}

func (u *unpacker) text() (string, error) {
	n, err := u.number(uint64(u.left))
	if err != nil {
		return "", err
	}
	return u.bytes(n)
}

// bytes reads n bytes, which are at most left.
func (u *unpacker) bytes(n uint64) (string, error) {
	u.left -= int64(n)
	if u.left < 0 {
		return "", errDamaged
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(u.r, b); err != nil {
		return "", damaged(err)
	}
	return string(b), nil
}

// damaged is the error of what could not be read: the system's own, if it was
// not what is in the file.
func damaged(err error) error {
	var system *fs.PathError
	if errors.As(err, &system) {
		return err
	}
	return errDamaged
}
