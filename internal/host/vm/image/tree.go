package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// kernelDir is where the package hook puts the kernel, outside of what the
// guest sees.
const kernelDir = "brink-kernel"

// needless are directories and patterns of files that no app reads.
var needless = []string{
	"usr/share/doc", "usr/share/man", "usr/share/info", "usr/share/locale", "usr/share/lintian", "usr/share/doc-base",
	"var/cache/apt", "var/lib/apt", "var/log", kernelDir + "/usr",
	// Link-time optimisation and sanitizers of the compiler, and what embeds
	// Python into other programs.
	"usr/bin/*-lto-dump-*", "usr/lib/gcc/*/*/lto1", "usr/lib/*/lib[alt]san.so*",
	"usr/lib/python3*/config-*/*.a",
}

// needed tells whether a path of the archive belongs into the image.
func needed(name string) bool {
	return !slices.ContainsFunc(needless, func(pattern string) bool {
		if ok, _ := path.Match(pattern, name); ok {
			// An empty directory may stay: dpkg and others expect some.
			return strings.Contains(pattern, "*")
		}
		return strings.HasPrefix(name, pattern+"/")
	})
}

// unpack writes an archive of a root file system to dir, with modes and times
// but all of it owned by this user. Devices are left out: the guest's kernel
// makes its own.
func unpack(dir string, archive io.Reader) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	// A directory's time is set when nothing is written into it any more.
	var dirs []*tar.Header
	r := tar.NewReader(archive)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("the root file system's archive: %w", err)
		}
		name := path.Clean(strings.TrimPrefix(h.Name, "/"))
		if name == "." || !needed(name) {
			continue
		}
		if h.Typeflag == tar.TypeDir {
			dirs = append(dirs, h)
		}
		if err := unpackEntry(root, name, h, r); err != nil {
			return fmt.Errorf("unpacking the root file system: %w", err)
		}
	}
	for _, h := range slices.Backward(dirs) {
		if err := root.Chtimes(path.Clean(h.Name), h.ModTime, h.ModTime); err != nil {
			return fmt.Errorf("unpacking the root file system: %w", err)
		}
	}
	// What follows the end of an archive must be read all the same, or the
	// writer would get a broken pipe.
	_, err = io.Copy(io.Discard, archive)
	return err
}

func unpackEntry(root *os.Root, name string, h *tar.Header, content io.Reader) error {
	mode := h.FileInfo().Mode()
	switch h.Typeflag {
	case tar.TypeDir:
		// The builder must be able to write into it, whoever it is.
		if err := root.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return root.Chmod(name, mode.Perm()|mode&fs.ModeSticky|0o700)
	case tar.TypeReg:
		f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, content)
		if err := errors.Join(err, f.Chmod(mode.Perm()|mode&(fs.ModeSetuid|fs.ModeSetgid)|0o400), f.Close()); err != nil {
			return err
		}
		// Python compiles modules anew whose times do not match.
		return root.Chtimes(name, h.ModTime, h.ModTime)
	case tar.TypeSymlink:
		return root.Symlink(h.Linkname, name)
	case tar.TypeLink:
		target := path.Clean(strings.TrimPrefix(h.Linkname, "/"))
		if !needed(target) {
			return nil
		}
		return root.Link(target, name)
	}
	return nil
}
