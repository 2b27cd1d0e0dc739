package kernel

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	firstBuffer = 4 << 10
	// processBuffer is for the files of a process, which are short and many.
	processBuffer = 512
	// largestFile bounds what a reading may take: /proc/net/tcp has 150 bytes
	// per socket, every other file is far smaller.
	largestFile = 64 << 20
)

// file is an open kernel file that is read again from its start each time.
type file struct {
	pread func(b []byte, at int64) (int, error)
	handle
	name string // below the FS's root, for messages
	buf  []byte
	// single says that the kernel writes the file in one piece, so that what a
	// read that leaves room returns is all of it. Files of many records end
	// where a read returns nothing.
	single bool
	short  bool // it is expected to fit processBuffer
	layout *layout
}

// openFile opens name below p; prefix completes it for messages where p is a
// process.
func openFile(p place, prefix, name string) (*file, error) {
	h, err := p.open(name)
	if err != nil {
		return nil, explain(prefix+name, err)
	}
	// Without os.File's own ReadAt, which always asks once more.
	pread := func(b []byte, at int64) (int, error) { return unix.Pread(h.fd, b, at) }
	return &file{pread: pread, handle: h, name: prefix + name, short: prefix != ""}, nil
}

// read returns the whole file; the bytes are valid until the next read.
func (f *file) read() ([]byte, error) {
	torn, size := false, 0
	switch {
	case f.buf != nil:
	case f.short:
		f.buf = make([]byte, processBuffer)
	default:
		f.buf = make([]byte, firstBuffer)
	}
	for {
		room := f.buf[size:]
		if !f.single {
			room = f.layout.ask(size, room)
		}
		n, err := f.pread(room, int64(size))
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ERANGE) && !torn:
			// /proc/meminfo has been seen to answer this for a single read.
			torn, size = true, 0
			continue
		case err != nil:
			return nil, explain(f.name, err)
		}
		size += n
		switch {
		case n == 0, f.single && size < len(f.buf), f.layout.complete(f.buf[:size]):
			return f.buf[:size], nil
		case size < len(f.buf):
			continue
		case size >= largestFile:
			return nil, fmt.Errorf("%s: larger than %d MiB, which no kernel file of this kind is", f.name, largestFile>>20)
		}
		// From the start again: what was read may have changed meanwhile.
		f.buf, size = make([]byte, 2*len(f.buf)), 0
	}
}

// blame completes a FieldError with the name of the file.
func (f *file) blame(err error) error {
	if fe := (*FieldError)(nil); errors.As(err, &fe) {
		fe.File = f.name
	}
	return err
}

// part is one file of a reading and how it is understood.
type part[T any] struct {
	name  string
	parse func(*T, []byte) error
	// flat takes the place of parse in files with lines of "key value".
	flat   func(*layout, *T, []byte) error
	single bool // see file
	short  bool // see file
	file   *file
}

// Reader takes the same reading again and again. It keeps its files open and
// its buffers, and allocates nothing in the steady state.
type Reader[T any] struct {
	parts []part[T]
}

// resetter is a reading that keeps memory of its own from one Read to the next.
type resetter interface{ reset() }

// newReader opens the parts that exist below r. Fields of absent parts stay
// unknown; with all of them absent the reading is ErrUnavailable.
func newReader[T any](r place, prefix string, parts ...part[T]) (*Reader[T], error) {
	rd := &Reader[T]{parts: make([]part[T], 0, len(parts))}
	var absent error
	for _, p := range parts {
		f, err := openFile(r, prefix, p.name)
		if errors.Is(err, ErrUnavailable) {
			absent = err
			continue
		}
		if err != nil {
			rd.Close()
			return nil, err
		}
		f.single, f.short = p.single, f.short || p.short
		if p.flat != nil {
			f.layout = new(layout)
		}
		p.file = f
		rd.parts = append(rd.parts, p)
	}
	if len(rd.parts) == 0 && len(parts) > 1 {
		return nil, fmt.Errorf("none of %d files is there, the last being %w", len(parts), absent)
	}
	if len(rd.parts) == 0 {
		return nil, absent
	}
	return rd, nil
}

// Read takes the reading into dst. After a [FieldError] the fields that could
// be understood are filled in; after any other error dst holds nothing.
func (r *Reader[T]) Read(dst *T) error {
	clearReading(dst)
	var bad error
	for i := range r.parts {
		p := &r.parts[i]
		broken, err := p.read(dst)
		if err != nil {
			var nothing T
			*dst = nothing
			return err
		}
		if broken != nil && bad == nil {
			bad = p.file.blame(broken)
		}
	}
	return bad
}

// read tells what of the file could not be understood from why it could not be
// read.
func (p *part[T]) read(dst *T) (broken, err error) {
	b, err := p.file.read()
	if err != nil {
		return nil, err
	}
	if p.flat == nil {
		return p.parse(dst, b), nil
	}
	if broken = p.flat(p.file.layout, dst, b); broken != errMoved {
		return broken, nil
	}
	if b, err = p.file.read(); err != nil {
		return nil, err
	}
	return p.flat(p.file.layout, dst, b), nil
}

// Close closes the files. The Reader must not be used afterwards. Closing a nil
// Reader does nothing.
func (r *Reader[T]) Close() error {
	if r == nil {
		return nil
	}
	var err error
	for _, p := range r.parts {
		err = errors.Join(err, p.file.close())
	}
	return err
}

func clearReading[T any](dst *T) {
	if r, ok := any(dst).(resetter); ok {
		r.reset()
		return
	}
	var nothing T
	*dst = nothing
}

// lent are buffers for single readings, which leave nothing of theirs behind.
// Almost every kernel file fits one, so that the kernel writes it out once.
var lent = sync.Pool{New: func() any { return new([16 << 10]byte) }}

// once takes a single reading.
func once[T any](r *Reader[T], err error) (T, error) {
	var v T
	if err != nil {
		return v, err
	}
	defer r.Close()
	buf := lent.Get().(*[16 << 10]byte)
	defer lent.Put(buf)
	for i := range r.parts { // which are read and understood in turn
		r.parts[i].file.buf, r.parts[i].file.layout = buf[:], nil
	}
	err = r.Read(&v)
	return v, err
}
