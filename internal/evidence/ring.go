package evidence

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// Bounds of the ring: what is kept of a machine that is short of memory.
const (
	mostRing      = 1000
	mostRingBytes = 8 << 20
)

// ring keeps the latest readings, packed. It is bounded by age, number and
// size: the oldest goes first.
type ring struct {
	readings []packed
	bytes    int
	dropped  int
	// z is kept, since making one takes more memory than a reading has.
	z *flate.Writer
}

// packed is the files of one reading, compressed.
type packed struct {
	at   time.Time
	data []byte
}

// rawFile is one file of a reading as it was read.
type rawFile struct {
	name string
	data []byte
}

// add takes in a reading and drops those older than least.
func (r *ring) add(at time.Time, files []rawFile, least time.Time) error {
	data, err := r.pack(files)
	if err != nil {
		return err
	}
	r.readings = append(r.readings, packed{at, data})
	r.bytes += len(data)
	for len(r.readings) > 1 && (r.readings[0].at.Before(least) || len(r.readings) > mostRing || r.bytes > mostRingBytes) {
		r.bytes -= len(r.readings[0].data)
		r.readings[0] = packed{}
		r.readings = r.readings[1:]
		r.dropped++
	}
	return nil
}

// pack compresses files: a length and the bytes for each name and content.
func (r *ring) pack(files []rawFile) ([]byte, error) {
	var out bytes.Buffer
	var err error
	if r.z == nil {
		if r.z, err = flate.NewWriter(&out, flate.BestSpeed); err != nil {
			return nil, err
		}
	}
	z := r.z
	z.Reset(&out)
	var length [4]byte
	write := func(b []byte) {
		binary.LittleEndian.PutUint32(length[:], uint32(len(b)))
		if _, e := z.Write(length[:]); e != nil {
			err = errors.Join(err, e)
		}
		if _, e := z.Write(b); e != nil {
			err = errors.Join(err, e)
		}
	}
	for _, f := range files {
		write([]byte(f.name))
		write(f.data)
	}
	if err := errors.Join(err, z.Close()); err != nil {
		return nil, fmt.Errorf("packing a reading: %w", err)
	}
	return out.Bytes(), nil
}

// unpack calls each for every file of a reading.
func (p *packed) unpack(each func(name string, data []byte) error) error {
	z := flate.NewReader(bytes.NewReader(p.data))
	defer z.Close()
	read := func() ([]byte, error) {
		var length [4]byte
		if _, err := io.ReadFull(z, length[:]); err != nil {
			return nil, err
		}
		b := make([]byte, binary.LittleEndian.Uint32(length[:]))
		_, err := io.ReadFull(z, b)
		return b, err
	}
	for {
		name, err := read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("unpacking a reading: %w", err)
		}
		data, err := read()
		if err != nil {
			return fmt.Errorf("unpacking a reading: %w", err)
		}
		if err := each(string(name), data); err != nil {
			return err
		}
	}
}
