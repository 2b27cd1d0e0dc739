package vm

import (
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"brink/internal/guest"
	"brink/internal/host/vm/image"
)

// The drive that a machine boots from has one partition at offsetMB. A
// partition can be named to the kernel by the signature of its table; a drive's
// own name cannot, for drives are probed side by side.
const (
	signature   = 0x6272696e
	offsetMB    = 1
	rootOnDrive = "PARTUUID=6272696e-01"
)

// brinkDrive returns the drive that holds nothing but brink, in a file that has
// no name. It is made once, and not a part of the image, which would have to be
// built again for each version.
func (h *Host) brinkDrive(ctx context.Context) (*os.File, error) {
	return h.drive.get(func() (*os.File, error) {
		f, err := h.makeBrinkDrive(ctx)
		if err != nil {
			return nil, fmt.Errorf("the drive with brink: %w", err)
		}
		return f, nil
	})
}

// brink is the path of the program that runs in guests.
func (h *Host) brink() (string, error) {
	if h.opts.Brink != "" {
		return h.opts.Brink, nil
	}
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program, to run it in the guest: %w", err)
	}
	return exe, nil
}

func (h *Host) makeBrinkDrive(ctx context.Context) (*os.File, error) {
	exe, err := h.brink()
	if err != nil {
		return nil, err
	}
	if err := isStatic(exe); err != nil {
		return nil, err
	}
	return h.makeDrive(ctx, map[string]string{guest.Init: exe})
}

// makeDrive makes a drive to boot from, with programs at their paths on it.
func (h *Host) makeDrive(ctx context.Context, programs map[string]string) (*os.File, error) {
	dir, err := h.scratch()
	if err != nil {
		return nil, err
	}
	defer dir.remove()
	tree := filepath.Join(dir.path, "tree")
	for _, d := range guest.InitDirs {
		if err := os.MkdirAll(filepath.Join(tree, d), 0o755); err != nil {
			return nil, err
		}
	}
	size := int64(0)
	for path, from := range programs {
		n, err := copyFile(filepath.Join(tree, path), from)
		if err != nil {
			return nil, err
		}
		size += n
	}
	disk := image.Disk{Path: filepath.Join(dir.path, "brink.img"), MB: int(size>>20) + int(size>>24) + 8, Tree: tree, OffsetMB: offsetMB}
	if err := image.MakeDisk(ctx, disk); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(disk.Path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if _, err := f.WriteAt(partitionTable(disk), 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// partitionTable is a master boot record with one Linux partition
// (https://en.wikipedia.org/wiki/Master_boot_record#Sector_layout).
func partitionTable(d image.Disk) []byte {
	const sectorsPerMB = 2048
	b := make([]byte, 512)
	binary.LittleEndian.PutUint32(b[0x1b8:], signature)
	entry := b[0x1be:]
	entry[4] = 0x83
	binary.LittleEndian.PutUint32(entry[8:], uint32(d.OffsetMB)*sectorsPerMB)
	binary.LittleEndian.PutUint32(entry[12:], uint32(d.MB)*sectorsPerMB)
	b[510], b[511] = 0x55, 0xaa
	return b
}

// isStatic refuses a program that needs a loader, which the drive has not.
func isStatic(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("%s is no program that a guest can run: %w", path, err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("%s is linked dynamically and cannot run in a guest; build brink with CGO_ENABLED=0, as make build does", path)
		}
	}
	return nil
}

func copyFile(to, from string) (int64, error) {
	in, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return 0, err
	}
	n, err := out.ReadFrom(in)
	return n, errors.Join(err, out.Close())
}

// swapFile makes a swap area of mb units of 2^20 bytes in a file that has no
// name. Its header, as mkswap(8) writes it, takes one page more.
func swapFile(dir string, mb int) (*os.File, error) {
	const page = 4096
	f, err := nameless(dir)
	if err != nil {
		return nil, err
	}
	header := make([]byte, page)
	binary.LittleEndian.PutUint32(header[1024:], 1)                          // version
	binary.LittleEndian.PutUint32(header[1028:], uint32(int64(mb)<<20/page)) // last page
	copy(header[page-10:], "SWAPSPACE2")
	_, err = f.WriteAt(header, 0)
	if err := errors.Join(err, f.Truncate(int64(mb)<<20+page)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// nameless returns an empty file whose space is given back when it is closed,
// however this process ends.
func nameless(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".file-")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

// cacheFile makes an empty file system that can hold a file of mb units of 2^20
// bytes, in a file that has no name.
func cacheFile(ctx context.Context, dir string, mb int) (*os.File, error) {
	path := filepath.Join(dir, "cache.img")
	if err := image.MakeDisk(ctx, image.Disk{Path: path, MB: mb + mb/16 + 16}); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return f, os.Remove(path)
}

// freeMB is the space that this user may take on the disk of dir.
func freeMB(dir string) (int, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, fmt.Errorf("the disk of %s: %w", dir, err)
	}
	return int(int64(s.Bavail) * s.Bsize >> 20), nil
}
