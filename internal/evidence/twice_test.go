package evidence

import (
	"archive/tar"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	plentyText = "MemTotal: 2030296 kB\nMemAvailable: 1000000 kB\n"
	scarceText = "MemTotal: 2030296 kB\nMemAvailable: 24363 kB\n"
)

func TestASecondFileOfAReadingIsSaid(t *testing.T) {
	dir := laid(t, map[string]string{"h1.txt": plentyText, "h2.txt": scarceText, "h3.txt": plentyText})
	at := func(name string) string { return filepath.Join(dir, name) }
	c, err := Read(t.Context(), at("h1.txt"), at("h2.txt"), at("h3.txt"))
	if err != nil {
		t.Fatal(err)
	}
	wantValue(t, "available", c.Last().Meminfo.MemAvailable, 1000000<<10, Bytes, "h1.txt:2 MemAvailable")
	const second = "a second meminfo, without a time, is left out beside h1.txt: give one machine at one time, or two readings below t0/ and t1/"
	if why(c, "h2.txt") != second || why(c, "h3.txt") != "it is the same as h1.txt and counts once" {
		t.Errorf("strangers: %+v", c.Strangers)
	}
	if len(c.Inputs) != 1 {
		t.Errorf("inputs: %+v", c.Inputs)
	}
}

// Beside t0 and t1 only one file of a kind goes into the last of them.
func TestASecondFileBesideReadingsIsSaid(t *testing.T) {
	c := readFiles(t, map[string]string{"t0/proc/meminfo": plentyText, "t1/proc/meminfo": plentyText, "proc/meminfo": scarceText})
	if !strings.HasPrefix(why(c, "proc/meminfo"), "a second meminfo, without a time, is left out beside t1/proc/meminfo") {
		t.Errorf("strangers: %+v", c.Strangers)
	}
}

func TestTwoBundlesAreRefused(t *testing.T) {
	dir := laid(t, nil)
	give := func(name, mem string) string {
		at := filepath.Join(dir, name)
		data := tarball(t, tar.Header{Name: "case.json"}, `{"brink_bundle":1}`, tar.Header{Name: "t0/proc/meminfo"}, mem, tar.Header{Name: "kernel.log"}, oneKill)
		if err := os.WriteFile(at, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return at
	}
	a, b := give("a.tar.gz", plentyText), give("b.tar.gz", scarceText)
	for _, paths := range [][]string{{a, b}, {b, a}, {dir}} {
		_, err := Read(t.Context(), paths...)
		if err == nil || errors.Is(err, ErrNothing) || !strings.Contains(err.Error(), "are two bundles, and a case is one machine at one time") ||
			!strings.Contains(err.Error(), a) || !strings.Contains(err.Error(), b) {
			t.Errorf("%v: %v", paths, err)
		}
	}
	if c, err := Read(t.Context(), a); err != nil || len(c.Readings) != 1 {
		t.Errorf("one bundle: %v", err)
	}
}

func TestTwoTreesAreRefused(t *testing.T) {
	a := laid(t, map[string]string{"proc/meminfo": plentyText})
	b := laid(t, map[string]string{"proc/meminfo": scarceText})
	if _, err := Read(t.Context(), a, b); err == nil || !strings.Contains(err.Error(), a+" and "+b+" are two captured trees") {
		t.Errorf("two trees: %v", err)
	}
	// In one folder their names tell them apart.
	c, err := Read(t.Context(), laid(t, map[string]string{"before/proc/meminfo": plentyText, "after/proc/meminfo": scarceText}))
	if err != nil || len(c.Readings) != 2 {
		t.Errorf("one folder with two trees: %v", err)
	}
}

const otherKill = "[81300.5] Out of memory: Killed process 4412 (ingest) total-vm:2210304kB, anon-rss:519204kB, file-rss:2040kB, shmem-rss:0kB\n"

func TestARecordOfTheKernelCountsOnce(t *testing.T) {
	c := readFiles(t, map[string]string{"a.log": oneKill, "b.log": oneKill + otherKill})
	wantEvents(t, c,
		"oom kill pid=4411 comm=ingest anon=5.31664896e+08 global=yes",
		"oom kill pid=4412 comm=ingest anon=5.31664896e+08 global=yes")
	if why(c, "b.log") != "1 of its records is one of a.log, with the same times and words, and count once" {
		t.Errorf("strangers: %+v", c.Strangers)
	}
}

// Logs without times of two instances may read the same, and are two.
func TestLogsOfTwoInstancesThatReadTheSame(t *testing.T) {
	c := readFiles(t, map[string]string{"a.log": "Error: listen EADDRINUSE: address already in use :::3000\n", "b.log": "Error: listen EADDRINUSE: address already in use :::3000\n"})
	if n := len(c.EventsOf(AddressInUse)); n != 2 {
		t.Errorf("%d events, %+v", n, c.Strangers)
	}
}

func TestAPathThatCannotBeReadIsListed(t *testing.T) {
	good := filepath.Join(laid(t, map[string]string{"dmesg.txt": oneKill}), "dmesg.txt")
	gone := filepath.Join(t.TempDir(), "gone.log")
	c, err := Read(t.Context(), gone, good)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.EventsOf(OOMKill)) != 1 || !slices.Contains(c.Strangers, Stranger{File: gone, Why: "it cannot be read: no such file or directory"}) {
		t.Errorf("events %+v, strangers %+v", c.Events, c.Strangers)
	}
	if _, err := Read(t.Context(), gone, gone+"2"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing left: %v", err)
	}
}
