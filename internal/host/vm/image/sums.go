package image

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// sum is what a file of an image held when it was last read as a whole. Nothing
// writes to it after it was built, not even a guest, so that as long as its time
// stays it need not be read again.
type sum struct {
	SHA256   string    `json:"sha256"`
	Modified time.Time `json:"modified"`
}

// sumsFile has the sums by file name. Images of earlier versions lack it.
const sumsFile = "sums.json"

// sumUp takes the sums of a new image's files.
func sumUp(dir string) error {
	sums := map[string]sum{}
	for _, name := range []string{rootFile, kernelFile} {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		text, err := digest(path)
		if err != nil {
			return err
		}
		sums[name] = sum{text, info.ModTime()}
	}
	return writeSums(dir, sums)
}

// Verify reads the image as a whole, which takes about a second, and returns an
// error that wraps ErrBroken if it is not what was built. Of an image of an
// earlier version that something was written to it says nothing.
func (i *Image) Verify() error { return i.compare(true) }

// compare reads the files whose time has changed, or all, and compares them with
// what was built. A copy of an image is read once. The kernel is read each time:
// it is small, and one that is damaged says nothing and never ends.
func (i *Image) compare(all bool) error {
	text, err := os.ReadFile(filepath.Join(i.Dir, sumsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return i.adopt()
	}
	if err != nil {
		return broken(i.Dir, unreadable(sumsFile, err))
	}
	sums := map[string]sum{}
	if err := json.Unmarshal(text, &sums); err != nil {
		return broken(i.Dir, fmt.Errorf("%s: %w", sumsFile, err))
	}
	moved := false
	for _, name := range []string{rootFile, kernelFile} {
		path := filepath.Join(i.Dir, name)
		info, err := os.Stat(path)
		if err != nil {
			return broken(i.Dir, unreadable(name, err))
		}
		same := info.ModTime().Equal(sums[name].Modified)
		if same && !all && name != kernelFile {
			continue
		}
		got, err := digest(path)
		if err != nil {
			return broken(i.Dir, unreadable(name, err))
		}
		if got != sums[name].SHA256 {
			return broken(i.Dir, fmt.Errorf("%s is damaged, it does not hold what was built", name))
		}
		sums[name], moved = sum{got, info.ModTime()}, moved || !same
	}
	if moved {
		_ = writeSums(i.Dir, sums) // in another user's cache it is read each time
	}
	return nil
}

// adopt takes the sums of an image that has none, unless something may have been
// written to it since it was built: then nothing can be said of it.
func (i *Image) adopt() error {
	for _, name := range []string{rootFile, kernelFile} {
		info, err := os.Stat(filepath.Join(i.Dir, name))
		if err != nil {
			return broken(i.Dir, unreadable(name, err))
		}
		if info.ModTime().After(i.Built.Add(time.Second)) { // Built is in whole seconds
			return nil
		}
	}
	_ = sumUp(i.Dir) // in another user's cache it stays without
	return nil
}

func writeSums(dir string, sums map[string]sum) error {
	text, err := json.MarshalIndent(sums, "", "  ")
	if err != nil {
		return err
	}
	// Under a name of its own first: others may be reading.
	f, err := os.CreateTemp(dir, "."+sumsFile)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(text, '\n'))
	if err := errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(dir, sumsFile))
}

// digest is a hash of the blocks of a file that are not all zeros, with their
// places: a copy need not be sparse where the file is.
func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	const size = 1 << 20
	h := sha256.New()
	block, zeros := make([]byte, size), make([]byte, size)
	for at := int64(0); ; at += size {
		data, err := unix.Seek(int(f.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return hex.EncodeToString(h.Sum(nil)), nil
		}
		if err != nil {
			return "", err
		}
		at = data / size * size
		n, err := f.ReadAt(block, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		if !bytes.Equal(block[:n], zeros[:n]) {
			h.Write(binary.LittleEndian.AppendUint64(nil, uint64(at)))
			h.Write(block[:n])
		}
	}
}
