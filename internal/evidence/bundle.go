package evidence

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// bundleVersion is that of the layout, which docs/evidence.md describes.
const bundleVersion = 1

// bundleCase is case.json of a bundle: what is of no single reading.
type bundleCase struct {
	Bundle    int       `json:"brink_bundle"`
	Brink     string    `json:"brink,omitempty"`
	Began     time.Time `json:"began"`
	Ended     time.Time `json:"ended"`
	Trigger   string    `json:"trigger,omitempty"`
	Triggered time.Time `json:"triggered,omitzero"`
	Dropped   int       `json:"dropped_readings,omitempty"`
	Pools     []Pool    `json:"pools,omitempty"`
	Gaps      []Gap     `json:"gaps,omitempty"`
}

const bundleFile = "case.json"

// parseBundle takes in case.json.
func (b *builder) parseBundle(f *file) bool {
	if f.base() != bundleFile || !bytes.Contains(f.data[:min(len(f.data), 256)], []byte(`"brink_bundle"`)) {
		return false
	}
	var c struct {
		bundleCase
		Pools json.RawMessage `json:"pools"`
	}
	err := json.Unmarshal(f.data, &c)
	var pools []Pool
	if err == nil && c.Bundle <= bundleVersion {
		pools, err = poolsOf(c.Pools)
	}
	if err != nil {
		b.strange(f, "it is no whole case.json: "+err.Error())
		return true
	}
	if c.Bundle > bundleVersion {
		b.strange(f, fmt.Sprintf("it is of version %d of the layout, and this brink reads up to %d", c.Bundle, bundleVersion))
		return true
	}
	if b.bundle != nil {
		b.two("bundles", b.bundle, f)
		return true
	}
	b.bundle = f
	b.c.Pools = append(b.c.Pools, pools...)
	b.c.Gaps = append(b.c.Gaps, c.Gaps...)
	note := ""
	if !c.Triggered.IsZero() {
		note = fmt.Sprintf("%q held at %s", shorten(c.Trigger), c.Triggered.UTC().Format(time.RFC3339))
	}
	b.input(f, "bundle of brink collect", note)
	return true
}

// bundleWriter writes a bundle.
type bundleWriter struct {
	z   *gzip.Writer
	tar *tar.Writer
}

func newBundleWriter(w io.Writer) *bundleWriter {
	z := gzip.NewWriter(w)
	return &bundleWriter{z: z, tar: tar.NewWriter(z)}
}

func (w *bundleWriter) file(name string, at time.Time, data []byte) error {
	h := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(data)), ModTime: at.Truncate(time.Second), Typeflag: tar.TypeReg, Format: tar.FormatPAX}
	if err := w.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("writing the bundle: %w", err)
	}
	if _, err := w.tar.Write(data); err != nil {
		return fmt.Errorf("writing the bundle: %w", err)
	}
	return nil
}

// readings writes all readings of a ring as t0, t1 ….
func (w *bundleWriter) readings(r *ring) error {
	for i := range r.readings {
		p := &r.readings[i]
		dir := "t" + strconv.Itoa(i) + "/"
		err := p.unpack(func(name string, data []byte) error { return w.file(dir+name, p.at, data) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *bundleWriter) json(name string, at time.Time, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the bundle: %s: %w", name, err)
	}
	return w.file(name, at, append(data, '\n'))
}

func (w *bundleWriter) close() error {
	if err := errors.Join(w.tar.Close(), w.z.Close()); err != nil {
		return fmt.Errorf("writing the bundle: %w", err)
	}
	return nil
}
