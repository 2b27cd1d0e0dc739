package evidence

import (
	"bytes"
	"encoding/json"
	"path"
	"time"
)

// readingMeta is t0/reading.json of a bundle: what no file of the kernel says
// of a reading.
type readingMeta struct {
	Kind      string    `json:"kind"`
	At        time.Time `json:"at"`
	Container bool      `json:"container"`
	Root      bool      `json:"root"`
	View      View      `json:"view"`
	Own       string    `json:"own_cgroup,omitempty"`
	PageBytes int       `json:"page_bytes,omitempty"`
	// Denied lists the files that the collector may not read.
	Denied []string `json:"denied,omitempty"`

	file string
}

const (
	metaFile  = "reading.json"
	metaMagic = "brink reading"
)

// parseMeta takes in what tells of readings: dt_s and reading.json.
func (b *builder) parseMeta(f *file) bool {
	if b.parseBundle(f) {
		return true
	}
	switch base := f.base(); {
	case base == "dt_s", base == "dt_s.txt":
		v := parsedNumber(string(bytes.TrimSpace(f.data)), Seconds, Source{File: f.name, Line: 1, Field: "dt_s"})
		if !v.Above(0) {
			b.strange(f, "dt_s has to be a number of seconds above 0")
			return true
		}
		b.apart = v
		b.input(f, "time between the readings", "")
		return true
	case base == metaFile && bytes.Contains(f.data[:min(len(f.data), 256)], []byte(metaMagic)):
		var m readingMeta
		if err := json.Unmarshal(f.data, &m); err != nil {
			b.strange(f, "it is no whole reading.json: "+err.Error())
			return true
		}
		m.file = f.name
		b.meta[path.Base(path.Dir(f.name))] = m
		b.input(f, "reading of a bundle", "")
		return true
	}
	return false
}

// apply gives a reading what its reading.json says.
func (m *readingMeta) apply(r *Reading) {
	r.At, r.AtFrom = m.At, Source{File: m.file, Field: "at"}
	r.Machine.InContainer, r.Machine.Root = triOf(m.Container), triOf(m.Root)
	if m.View != "" && r.View != ViewMixed {
		r.View = m.View
	}
	if m.PageBytes > 0 {
		r.Machine.PageBytes = Known(float64(m.PageBytes), Bytes, Source{File: m.file, Field: "page_bytes"})
	}
	for i := range r.Cgroups {
		r.Cgroups[i].Own = r.Cgroups[i].Own || m.Own != "" && r.Cgroups[i].Path == m.Own
	}
}
