package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// Disk is an ext4 file system to make, without mounting it.
type Disk struct {
	Path string
	// MB is its size in units of 2^20 bytes.
	MB int
	// Tree is a directory whose content it gets; empty leaves it empty.
	Tree string
	// OffsetMB is where in the file it begins.
	OffsetMB int
}

// ErrNoMke2fs is returned when the program that makes file systems is missing.
var ErrNoMke2fs = errors.New("mke2fs is not installed; install it with: apt-get install e2fsprogs")

// CanMakeDisks returns ErrNoMke2fs where MakeDisk would.
func CanMakeDisks() error {
	_, err := findMke2fs()
	return err
}

// MakeDisk makes the file system. All in it belongs to root.
func MakeDisk(ctx context.Context, d Disk) error {
	mke2fs, err := findMke2fs()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(d.Path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(int64(d.OffsetMB+d.MB)<<20), f.Close()); err != nil {
		return err
	}
	// No journal: a guest's writes are thrown away with it.
	args := []string{"-q", "-F", "-t", "ext4", "-m", "0", "-O", "^has_journal,^resize_inode", "-E", fmt.Sprintf("root_owner=0:0,offset=%d", d.OffsetMB<<20)}
	if d.Tree != "" {
		args = append(args, "-d", d.Tree)
	}
	args = append(args, d.Path, fmt.Sprintf("%dM", d.MB))
	out, err := asRoot(ctx, mke2fs, args...).CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EACCES) {
		// No user namespaces here: files will belong to this user's number in
		// the guest, where everything runs as root anyway.
		out, err = exec.CommandContext(ctx, mke2fs, args...).CombinedOutput()
	}
	if err != nil {
		return fmt.Errorf("mke2fs: %s (%w)", strings.Join(strings.Fields(string(out)), " "), err)
	}
	return nil
}

// asRoot runs a command that sees this user's files as root's, by a user
// namespace in which this user is root (user_namespaces(7)).
func asRoot(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	if os.Getuid() != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
	}
	return cmd
}

// findMke2fs looks in the directories of system programs too, which are not on
// every user's PATH.
func findMke2fs() (string, error) {
	for _, name := range []string{"mke2fs", "/usr/sbin/mke2fs", "/sbin/mke2fs"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNoMke2fs
}
