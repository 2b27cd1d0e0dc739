package image

import (
	"archive/tar"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func archive(t *testing.T, entries ...tar.Header) *bytes.Buffer {
	t.Helper()
	b := new(bytes.Buffer)
	w := tar.NewWriter(b)
	for _, h := range entries {
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(h.Name))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := w.Write([]byte(h.Name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestUnpackKeepsModesTimesAndLinks(t *testing.T) {
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	dir := t.TempDir()
	err := unpack(dir, archive(t,
		tar.Header{Typeflag: tar.TypeDir, Name: "./", Mode: 0o755},
		tar.Header{Typeflag: tar.TypeDir, Name: "./usr/", Mode: 0o555, ModTime: old},
		tar.Header{Typeflag: tar.TypeReg, Name: "./usr/su", Mode: 0o4755, ModTime: old, Uid: 0},
		tar.Header{Typeflag: tar.TypeLink, Name: "./usr/hard", Linkname: "./usr/su"},
		tar.Header{Typeflag: tar.TypeSymlink, Name: "./bin", Linkname: "/usr/bin"},
		tar.Header{Typeflag: tar.TypeChar, Name: "./usr/null", Mode: 0o666, Devmajor: 1, Devminor: 3},
		tar.Header{Typeflag: tar.TypeDir, Name: "./usr/share/", Mode: 0o755},
		tar.Header{Typeflag: tar.TypeDir, Name: "./usr/share/doc/", Mode: 0o755},
		tar.Header{Typeflag: tar.TypeReg, Name: "./usr/share/doc/README", Mode: 0o644},
	))
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "usr/su"))
	if err != nil {
		t.Fatal(err)
	}
	if !info.ModTime().Equal(old) || info.Mode() != 0o755|os.ModeSetuid {
		t.Errorf("usr/su: %s %s", info.Mode(), info.ModTime())
	}
	if usr, err := os.Stat(filepath.Join(dir, "usr")); err != nil || !usr.ModTime().Equal(old) {
		t.Errorf("usr: %v %v", usr, err)
	}
	hard, err := os.Stat(filepath.Join(dir, "usr/hard"))
	if err != nil || hard.Sys().(*syscall.Stat_t).Ino != info.Sys().(*syscall.Stat_t).Ino {
		t.Errorf("usr/hard: %v, %v", hard, err)
	}
	if to, err := os.Readlink(filepath.Join(dir, "bin")); err != nil || to != "/usr/bin" {
		t.Errorf("bin: %q %v", to, err)
	}
	for _, gone := range []string{"usr/null", "usr/share/doc/README"} {
		if _, err := os.Lstat(filepath.Join(dir, gone)); !os.IsNotExist(err) {
			t.Errorf("%s is there: %v", gone, err)
		}
	}
}

func TestUnpackStaysInItsDirectory(t *testing.T) {
	for name, a := range map[string]*bytes.Buffer{
		"a path that leads out": archive(t, tar.Header{Typeflag: tar.TypeReg, Name: "../out", Mode: 0o644}),
		"a link that leads out": archive(t,
			tar.Header{Typeflag: tar.TypeSymlink, Name: "./link", Linkname: "/tmp"},
			tar.Header{Typeflag: tar.TypeReg, Name: "./link/out", Mode: 0o644}),
		"an archive that is cut off": bytes.NewBuffer(archive(t, tar.Header{Typeflag: tar.TypeReg, Name: "./file", Mode: 0o644}).Bytes()[:514]),
	} {
		if err := unpack(t.TempDir(), a); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// module compiles an object with the .modinfo that the kernel's build writes
// (include/linux/moduleinfo.h).
func module(t *testing.T, path, info string) {
	t.Helper()
	cmd := exec.Command("cc", "-c", "-x", "c", "-o", path, "-")
	cmd.Stdin = strings.NewReader(`__attribute__((section(".modinfo"))) const char info[] = "license=GPL\0` + info + `";`)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cc: %v: %s", err, out)
	}
}

func TestModulesComeAfterWhatTheyNeed(t *testing.T) {
	dir := t.TempDir()
	module(t, filepath.Join(dir, "virtio-net.ko"), `depends=net_failover,virtio,virtio-ring`)
	module(t, filepath.Join(dir, "net_failover.ko"), `depends=failover`)
	module(t, filepath.Join(dir, "failover.ko"), `depends=`)
	module(t, filepath.Join(dir, "virtio.ko"), `depends=virtio_ring`)
	module(t, filepath.Join(dir, "virtio_ring.ko"), `depends=`)
	module(t, filepath.Join(dir, "lost.ko"), `depends=nowhere`)
	got, err := moduleOrder(dir, []string{"virtio_net", "virtio"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i] = filepath.Base(got[i])
	}
	if want := []string{"failover.ko", "net_failover.ko", "virtio_ring.ko", "virtio.ko", "virtio-net.ko"}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
	if _, err := moduleOrder(dir, []string{"lost"}); err == nil || !strings.Contains(err.Error(), "no module nowhere") {
		t.Errorf("error %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "lost.ko"), []byte("no object"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := moduleOrder(dir, []string{"lost"}); err == nil || !strings.Contains(err.Error(), "kernel module lost") {
		t.Errorf("error %v", err)
	}
}
