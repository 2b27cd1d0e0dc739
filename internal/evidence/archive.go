package evidence

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
)

// archiveKind tells an archive by its first bytes.
func archiveKind(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return "gzip"
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return "zip"
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return "tar"
	}
	return ""
}

// otherKind says what to do with a file of a kind that is not read, by its first
// bytes; empty for any other.
func otherKind(head []byte) string {
	for _, k := range []struct{ magic, kind, how string }{
		{"\xfd7zXZ\x00", "xz", "unpack it first (xz -d)"},
		{"BZh", "bzip2", "unpack it first (bzip2 -d)"},
		{"\x28\xb5\x2f\xfd", "zstd", "unpack it first (zstd -d)"},
		{"\x04\x22\x4d\x18", "lz4", "unpack it first (lz4 -d)"},
		{"7z\xbc\xaf\x27\x1c", "7-Zip", "unpack it first (7z x)"},
		{"Rar!\x1a\x07", "RAR", "unpack it first (unrar x)"},
	} {
		if bytes.HasPrefix(head, []byte(k.magic)) {
			return "it is compressed with " + k.kind + ", which is not read: " + k.how
		}
	}
	if bytes.HasPrefix(head, []byte("LPKSHHRH")) {
		return "it is a journal as systemd keeps it: give the output of journalctl --file"
	}
	return ""
}

// unpack takes in the files of an archive. Nothing is written: names lead
// nowhere, links are left out, and sizes are those that were unpacked, not
// those that the archive claims. An archive that ends in the middle gives what
// it holds until there.
func (g *gathered) unpack(kind string, r io.ReadSeeker, name string) error {
	switch kind {
	case "zip":
		return g.unzip(r, name)
	case "gzip":
		z, err := gzip.NewReader(r)
		if err != nil {
			g.strange(name, "it is no whole gzip file: "+err.Error())
			return nil
		}
		defer z.Close()
		return g.gunzip(&bounded{z, mostUnpacked}, name)
	}
	g.untar(r, name)
	return nil
}

// bounded ends with an error after so many bytes: those that are skipped have to
// be unpacked too.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("it unpacks to more than %d MiB", mostUnpacked>>20)
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// gunzip looks at what is compressed: a tar archive or a single file.
func (g *gathered) gunzip(z io.Reader, name string) error {
	head := make([]byte, 512)
	n, err := io.ReadFull(z, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		g.strange(name, "it is no whole gzip file: "+err.Error())
		g.cut = append(g.cut, name)
		return nil
	}
	rest := io.MultiReader(bytes.NewReader(head[:n]), z)
	if archiveKind(head[:n]) == "tar" {
		g.untar(rest, name)
		return nil
	}
	if !g.entry(rest, strings.TrimSuffix(name, ".gz")) {
		g.cut = append(g.cut, name)
	}
	return nil
}

func (g *gathered) untar(r io.Reader, archive string) {
	t := tar.NewReader(r)
	seen := 0
	for !g.full {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			g.strange(archive, "the archive ends early: "+err.Error())
			g.cut = append(g.cut, archive)
			return
		}
		if seen++; seen > mostFiles {
			g.strange(archive, fmt.Sprintf("what follows was not read: an archive may have %d entries", mostFiles))
			return
		}
		name, why := safeName(h.Name)
		switch {
		case h.Typeflag == tar.TypeDir || h.Typeflag == tar.TypeXGlobalHeader:
		case why != "":
			g.strange(archive, fmt.Sprintf("its entry %q %s and was left out", shorten(h.Name), why))
		case h.Typeflag != tar.TypeReg:
			g.strange(archive, fmt.Sprintf("its entry %q is no file (a link, a device) and was left out", shorten(h.Name)))
		case !unwantedFile(name):
			g.entry(t, name)
		}
	}
}

func (g *gathered) unzip(r io.ReadSeeker, archive string) error {
	at, ok := r.(io.ReaderAt)
	if !ok {
		return errors.New("the archive cannot be read from its end")
	}
	size, err := r.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	z, err := zip.NewReader(at, size)
	if err != nil {
		g.strange(archive, "it is no whole zip file: "+err.Error())
		return nil
	}
	for i, f := range z.File {
		if g.full || i >= mostFiles {
			break
		}
		name, why := safeName(f.Name)
		switch {
		case strings.HasSuffix(f.Name, "/"):
		case why != "":
			g.strange(archive, fmt.Sprintf("its entry %q %s and was left out", shorten(f.Name), why))
		case !f.Mode().IsRegular():
			g.strange(archive, fmt.Sprintf("its entry %q is no file (a link, a device) and was left out", shorten(f.Name)))
		case !unwantedFile(name):
			g.zipped(f, name)
		}
	}
	return nil
}

func (g *gathered) zipped(f *zip.File, name string) {
	r, err := f.Open()
	if err != nil {
		g.strange(name, "it cannot be unpacked: "+err.Error())
		return
	}
	defer r.Close()
	g.entry(r, name)
}

// entry takes in one file of an archive, up to the bounds: of a longer one its
// end. whole is false if the archive ends in the middle of it.
func (g *gathered) entry(r io.Reader, name string) (whole bool) {
	if !g.room(name) {
		return true
	}
	const headSize = 512
	data, err := io.ReadAll(io.LimitReader(r, headSize))
	if archiveKind(data) != "" {
		g.strange(name, "it is an archive inside an archive: unpack it first")
		return true
	}
	cut := int64(0)
	if err == nil && len(data) == headSize {
		data, cut, err = endOf(io.MultiReader(bytes.NewReader(data), r), min(int64(mostFileSize), mostTotal-g.total))
	}
	if err != nil {
		g.strange(name, "it was read only in part: "+err.Error())
	}
	g.add(name, data, cut)
	return err == nil
}

// endOf reads to the end and keeps the last bytes, from the beginning of a line;
// cut is how many before them were left out. It holds twice as much as it keeps.
func endOf(r io.Reader, most int64) (data []byte, cut int64, err error) {
	data, err = io.ReadAll(io.LimitReader(r, most))
	if err != nil || int64(len(data)) < most {
		return data, 0, err
	}
	at := 0 // where the oldest byte stands
	for err == nil {
		var n int
		n, err = r.Read(data[at:])
		cut += int64(n)
		at = (at + n) % len(data)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if cut == 0 {
		return data, 0, err
	}
	data = slices.Concat(data[at:], data[:at])
	if before, rest, ok := bytes.Cut(data, []byte{'\n'}); ok {
		data, cut = rest, cut+int64(len(before))+1
	}
	return data, cut, err
}

// safeName cleans a name of an archive. why says why an entry of that name is
// left out.
func safeName(name string) (clean, why string) {
	name = strings.ReplaceAll(name, `\`, "/")
	clean = path.Clean(name)
	switch {
	case strings.HasPrefix(name, "/"), clean == "..", strings.HasPrefix(clean, "../"):
		return "", "leads out of the archive"
	case strings.ContainsFunc(name, unicode.IsControl), !fs.ValidPath(clean), clean == ".", len(clean) >= 4096:
		return "", "has no name that a file can have"
	case depth(clean) > mostDepth:
		return "", fmt.Sprintf("lies below more than %d folders", mostDepth)
	}
	return clean, ""
}
