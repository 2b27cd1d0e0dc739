package evidence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// Bounds of what is read: a case that somebody sent may be anything.
const (
	mostFiles    = 20_000
	mostFileSize = 64 << 20
	mostTotal    = 256 << 20
	mostUnpacked = 2 << 30 // of an archive, with what is not read
	mostDepth    = 32
)

// file is a file of an input.
type file struct {
	name string // towards the reader: with slashes, below what was given
	data []byte
	// of is the argument or the archive that it comes from.
	of string
	// cut is how many bytes of its beginning were left out.
	cut int64
}

func (f *file) base() string { return path.Base(f.name) }

// gathered is the files of an input.
type gathered struct {
	files     []*file
	strangers []Stranger
	total     int64
	full      bool
	// taken are the files and runs that were read, by where they really lie.
	taken map[string]bool
	// links are those of the folder that is read.
	links []string
	// of is what is being read, an argument or an archive.
	of string
	// cut are archives that end early.
	cut []string
}

// again reports whether the file or folder at a path was taken in already, which
// is said: what it tells must not count twice.
func (g *gathered) again(at, name string) bool {
	real, err := filepath.EvalSymlinks(at)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return false // reading it will tell why
	}
	if g.taken[real] {
		g.strange(name, "it was given more than once and counts once")
		return true
	}
	if g.taken == nil {
		g.taken = map[string]bool{}
	}
	g.taken[real] = true
	return false
}

// linksLeftOut lists the links of a folder, of which a copy of a whole machine
// has thousands.
func (g *gathered) linksLeftOut() {
	const most = 3
	for i, name := range g.links {
		if i == most {
			g.strange(name, fmt.Sprintf("it and %d more are links or devices, which are not followed", len(g.links)-most-1))
			break
		}
		g.strange(name, "it is no regular file, and links are not followed")
	}
	g.links = nil
}

func (g *gathered) strange(name, why string) {
	const most = 1000
	if len(g.strangers) < most {
		g.strangers = append(g.strangers, Stranger{File: shorten(oneLine(name)), Why: oneLine(why)})
	}
}

// room reports whether another file may be taken in, and says once that not.
func (g *gathered) room(name string) bool {
	switch {
	case g.full:
		return false
	case len(g.files) >= mostFiles:
		g.strange(name, fmt.Sprintf("this and what follows was not read: an input may have %d files", mostFiles))
	case g.total >= mostTotal:
		g.strange(name, fmt.Sprintf("this and what follows was not read: an input may have %d MiB", mostTotal>>20))
	default:
		return true
	}
	g.full = true
	return false
}

func (g *gathered) add(name string, data []byte, cut int64) {
	g.files = append(g.files, &file{name: oneLine(name), of: g.of, data: data, cut: cut})
	g.total += int64(len(data))
}

// oneLine takes out of a name what no sentence can have in it.
func oneLine(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(name, "?"))
}

// gather reads what a path names: a file, an archive, or a folder with all
// below it. Symbolic links are not followed, but for the path itself.
func (g *gathered) gather(ctx context.Context, name string) error {
	g.of = name
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		if info.Mode()&fs.ModeNamedPipe != 0 {
			return g.fromPipe(ctx, name)
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is neither a file nor a folder", name)
		}
		return g.fromDisk(name, filepath.Base(name))
	}
	defer g.linksLeftOut()
	return filepath.WalkDir(name, func(at string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		rel, relErr := filepath.Rel(name, at)
		if relErr != nil {
			return relErr
		}
		rel = filepath.ToSlash(rel)
		return g.visit(at, rel, d, err)
	})
}

// visit takes in one entry of a folder.
func (g *gathered) visit(at, rel string, d fs.DirEntry, err error) error {
	switch {
	case err != nil:
		g.strange(rel, "it cannot be read: "+reasonOf(err))
		if d != nil && d.IsDir() {
			return fs.SkipDir
		}
		return nil
	case g.full:
		return fs.SkipAll
	case d.IsDir():
		if depth(rel) > mostDepth || unwantedDir(rel) {
			return fs.SkipDir
		}
		return nil
	case !d.Type().IsRegular():
		if !unwantedFile(rel) {
			g.links = append(g.links, rel)
		}
		return nil
	case unwantedFile(rel):
		return nil
	}
	if err := g.fromDisk(at, rel); err != nil {
		g.strange(rel, "it cannot be read: "+reasonOf(err))
	}
	return nil
}

func depth(rel string) int { return bytes.Count([]byte(rel), []byte{'/'}) }

// unwantedDir leaves out the parts of a tree that hold much and say nothing
// here.
func unwantedDir(rel string) bool {
	parts := splitPath(rel)
	for i, part := range parts {
		if part == ".git" || part == "node_modules" {
			return true
		}
		if part == "proc" && i+2 < len(parts) && isPID(parts[i+1]) {
			return true
		}
		if part == "sys" && i+1 < len(parts) && (i == 0 || parts[i-1] != "proc") && parts[i+1] != "fs" {
			return true
		}
	}
	return false
}

// unwantedFile leaves out files of a tree's proc and sys that are not read.
func unwantedFile(rel string) bool {
	parts := splitPath(rel)
	for _, part := range parts[:len(parts)-1] {
		if part == "proc" || part == "sys" {
			_, wanted := placeOf(rel)
			return !wanted
		}
	}
	return false
}

func splitPath(rel string) []string {
	var parts []string
	for rel != "" && rel != "." {
		dir, last := path.Split(rel)
		parts = append(parts, last)
		rel = path.Clean(dir)
		if dir == "" || rel == "/" {
			break
		}
	}
	slices.Reverse(parts)
	return parts
}

// fromDisk reads one file: an archive is opened; of one that is too long the
// end is kept, which is what the engineer came for.
func (g *gathered) fromDisk(at, name string) error {
	if g.again(at, name) || !g.room(name) {
		return nil
	}
	f, err := os.Open(at)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if kind := archiveKind(head[:n]); kind != "" {
		defer func(of string) { g.of = of }(g.of)
		g.of = at
		return g.unpack(kind, f, name)
	}
	if bytes.HasPrefix(head, []byte("SQLite format 3\x00")) {
		g.strange(name, "it is a database: give the run's directory, which holds a record.db")
		return nil
	}
	if why := otherKind(head[:n]); why != "" {
		g.strange(name, why)
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	cut := max(info.Size()-mostFileSize, 0)
	if cut > 0 {
		if _, err := f.Seek(cut, io.SeekStart); err != nil {
			return err
		}
	}
	data, err := io.ReadAll(io.LimitReader(f, mostFileSize))
	if err != nil {
		return err
	}
	if cut > 0 {
		if _, rest, ok := bytes.Cut(data, []byte{'\n'}); ok {
			data = rest
		}
	}
	g.add(name, data, cut)
	return nil
}

func reasonOf(err error) string {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err
	}
	return err.Error()
}
