//go:build linux

package evidence

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"brink/internal/gauge"
	"brink/internal/kernel"
	"brink/internal/servertest"
)

// unpacked lists the files of a bundle.
func unpacked(t *testing.T, data []byte) map[string]string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = string(text)
	}
}

func TestABundleHoldsWhatLiveSees(t *testing.T) {
	address := waiting(t, 2)
	var buf bytes.Buffer
	s, err := Collect(t.Context(), &buf, CollectOptions{Every: 150 * time.Millisecond, For: 400 * time.Millisecond, Brink: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Readings < 3 || s.Interrupted || !s.To.After(s.From) {
		t.Errorf("summary: %+v", s)
	}
	c := readArchive(t, buf.Bytes())
	live, err := Live(t.Context(), Options{For: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Strangers) > 0 || len(c.Readings) != s.Readings {
		t.Errorf("%d readings, strangers %+v", len(c.Readings), c.Strangers)
	}
	for _, signal := range Signals() {
		if live.Has(signal) && !c.Has(signal) {
			t.Errorf("live sees %s and the bundle does not", signal)
		}
	}
	if got, want := c.Last().Meminfo.MemTotal.Number, live.Last().Meminfo.MemTotal.Number; got != want {
		t.Errorf("MemTotal = %v, live %v", got, want)
	}
	if l := c.Last().Listener(address); l == nil || l.Queue.Number != 2 {
		t.Errorf("%s: %+v", address, l)
	}
	own := func(c *Case) (paths []string) {
		for _, g := range c.Last().Cgroups {
			if g.Own {
				paths = append(paths, g.Path)
			}
		}
		return paths
	}
	if got, want := own(c), own(live); len(want) > 0 && !slices.ContainsFunc(got, func(p string) bool { return slices.Contains(want, p) }) {
		t.Errorf("own cgroups %v, live %v", got, want)
	}
	wantWhole(t, c)
}

func TestABundleIsRedacted(t *testing.T) {
	t.Setenv("BRINK_TEST_SECRET", "hunter2-in-the-environment")
	var buf bytes.Buffer
	if _, err := Collect(t.Context(), &buf, CollectOptions{For: 100 * time.Millisecond, Every: 100 * time.Millisecond, Host: "machine-a"}); err != nil {
		t.Fatal(err)
	}
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range unpacked(t, buf.Bytes()) {
		if strings.Contains(text, "hunter2") || strings.Contains(file, "environ") || strings.Contains(file, "cmdline") {
			t.Errorf("%s holds what it must not", file)
		}
		if strings.HasSuffix(file, "kernel/hostname") && text != "machine-a\n" {
			t.Errorf("%s names %q, this machine is %q", file, text, name)
		}
	}
}

// case.json has names in small letters alone, no number for what is not known, and
// no time for a trigger that was not there.
func TestABundleNamesItsFieldsAsDocumented(t *testing.T) {
	waiting(t, 1)
	var buf bytes.Buffer
	if _, err := Collect(t.Context(), &buf, CollectOptions{For: 100 * time.Millisecond, Every: 100 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	text := unpacked(t, buf.Bytes())[bundleFile]
	var document map[string]any
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	if document["triggered"] != nil || len(document["pools"].([]any)) == 0 {
		t.Errorf("triggered %v, pools %v", document["triggered"], document["pools"])
	}
	manual, err := os.ReadFile("../../docs/evidence.md")
	if err != nil {
		t.Fatal(err)
	}
	var walk func(v any)
	walk = func(v any) {
		switch x := v.(type) {
		case []any:
			for _, one := range x {
				walk(one)
			}
		case map[string]any:
			for name, one := range x {
				if name != strings.ToLower(name) || !strings.Contains(string(manual), "`"+name+"`") {
					t.Errorf("%q is not a name that docs/evidence.md has", name)
				}
				walk(one)
			}
			if x["why"] != nil && x["number"] != nil {
				t.Errorf("%v has a number, and a reason why there is none", x)
			}
		}
	}
	walk(document)
}

func TestCollectEndsWithWhatItHas(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	var buf bytes.Buffer
	s, err := Collect(ctx, &buf, CollectOptions{Every: 100 * time.Millisecond, For: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if !s.Interrupted || s.Readings < 2 || len(readArchive(t, buf.Bytes()).Readings) != s.Readings {
		t.Errorf("summary: %+v", s)
	}
}

func TestCollectWaitsForItsTrigger(t *testing.T) {
	var told time.Time
	var buf bytes.Buffer
	s, err := Collect(t.Context(), &buf, CollectOptions{Every: 100 * time.Millisecond, For: 250 * time.Millisecond,
		Trigger: "memory.available >= 0", Triggered: func(at time.Time) { told = at }})
	if err != nil {
		t.Fatal(err)
	}
	if s.Triggered.IsZero() || !told.Equal(s.Triggered) || s.Readings < 3 {
		t.Errorf("summary: %+v, told %v", s, told)
	}
	c := readArchive(t, buf.Bytes())
	found := false
	for _, in := range c.Inputs {
		found = found || strings.Contains(in.Note, `"memory.available >= 0" held`)
	}
	if !found {
		t.Errorf("the bundle does not say what it was triggered by: %+v", c.Inputs)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	buf.Reset()
	s, err = Collect(ctx, &buf, CollectOptions{Every: 100 * time.Millisecond, Before: 200 * time.Millisecond, Trigger: "memory.available < 0"})
	if err != nil {
		t.Fatal(err)
	}
	if !s.Triggered.IsZero() || s.Dropped == 0 || s.Readings > 4 {
		t.Errorf("a trigger that never holds keeps the time before only: %+v", s)
	}
}

func TestTriggersThatMakeNoSense(t *testing.T) {
	for text, want := range map[string]string{
		"psi.memory.ful > 20":  `"psi.memory.ful" is not one of`,
		"20 > 3":               "names nothing to look at",
		"psi.memory.full >":    "unexpected token",
		"psi.memory.full + 20": "expected bool",
	} {
		_, err := Collect(t.Context(), io.Discard, CollectOptions{Trigger: text})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzTrigger(f *testing.F) {
	f.Add("psi.memory.full > 20 or oom.kills > 0")
	f.Add("load > load")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parseTrigger(text)
		if err != nil {
			return
		}
		if _, err := p.holds(nil, &Reading{}); err != nil {
			t.Logf("%q: %v", text, err)
		}
	})
}

func TestTriggerOfRates(t *testing.T) {
	p, err := parseTrigger("swap.out > 100 and psi.memory.full > 20")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	a, b := &Reading{At: at}, &Reading{At: at.Add(10 * time.Second)}
	a.Vmstat.Pswpout, b.Vmstat.Pswpout = Known(1000, Pages), Known(3000, Pages)
	b.PSI.Memory.Full.Avg10 = Known(25, Percent)
	for _, x := range []struct {
		before, now *Reading
		want        bool
	}{{nil, b, false}, {a, b, true}, {b, a, false}} {
		got, err := p.holds(x.before, x.now)
		if err != nil || got != x.want {
			t.Errorf("%t, %v, want %t", got, err, x.want)
		}
	}
	if p, err := parseTrigger("swap.in > 5 || swap.out > 5"); err != nil {
		t.Error(err)
	} else if yes, err := p.holds(a, b); err != nil || !yes {
		t.Errorf("swap.in or swap.out: %t, %v", yes, err)
	}
	if err := p.blind(a); err == nil || !strings.Contains(err.Error(), "psi.memory.full cannot be read here") {
		t.Errorf("a signal that is not there: %v", err)
	}
}

func TestTheRingIsBounded(t *testing.T) {
	var r ring
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range mostRing + 50 {
		if err := r.add(at.Add(time.Duration(i)*time.Second), []rawFile{{"a", []byte("x")}}, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.readings) != mostRing || r.dropped != 50 {
		t.Errorf("%d readings, %d dropped", len(r.readings), r.dropped)
	}
	noise := make([]byte, 1<<20)
	seed := uint32(1)
	for i := range noise {
		seed = seed*1664525 + 1013904223
		noise[i] = byte(seed >> 24)
	}
	for i := range 20 {
		if err := r.add(at.Add(time.Duration(i)*time.Hour), []rawFile{{"noise", noise}}, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	if r.bytes > mostRingBytes {
		t.Errorf("the ring has %d bytes", r.bytes)
	}
	var names []string
	last := &r.readings[len(r.readings)-1]
	err := last.unpack(func(name string, data []byte) error {
		if bytes.Equal(data, noise) {
			names = append(names, name)
		}
		return nil
	})
	if err != nil || len(names) != 1 {
		t.Errorf("unpacked %v, %v", names, err)
	}
}

// A host may be called like a part of a kernel's word, "0" or "vm".
func TestTheKernelsLogKeepsItsWords(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	text := "Killed process 4411 (ingest) total-" + host + ":33040624kB, gfp_mask=" + host + "x14, " + host + "-rss:0kB"
	got := string(kernelLog([]kernelMessage{{1, 81234500000, text}}))
	if !strings.HasSuffix(got, "\n[81234.500000] "+text+"\n") {
		t.Errorf("it says %q", got)
	}
}

// Two readings far apart say of a server what Live says, which looks in between.
func TestCollectLooksAsOftenAsLive(t *testing.T) {
	const workers, clients = 2, 5
	address, pid := startGunicorn(t, workers)
	servertest.Ask(t, "tcp4", address, clients)
	time.Sleep(500 * time.Millisecond) // as in TestLiveCountsTheWorkersOfAServer
	var buf bytes.Buffer
	s, err := Collect(t.Context(), &buf, CollectOptions{Every: time.Second, For: time.Second})
	if err != nil || s.Readings != 2 {
		t.Fatalf("%+v, %v", s, err)
	}
	c := readArchive(t, buf.Bytes())
	i := slices.IndexFunc(c.Pools, func(p Pool) bool { return p.PID == pid })
	if i < 0 {
		t.Fatalf("pid %d is not among %+v", pid, c.Pools)
	}
	p := &c.Pools[i]
	if p.Looks < 5 || !p.Oldest.Known {
		t.Errorf("%d looks, the oldest has waited %+v", p.Looks, p.Oldest)
	}
	wantValue(t, "queued", p.Queued, clients-workers, Events, "")
	wantValue(t, "busy share", p.BusyShare, 100, Percent, "")
	wantValue(t, "queued share", p.QueuedShare, 100, Percent, "")
}

// What was before a trigger says nothing of the time after it.
func TestTheMeansBeginAnewWithTheTrigger(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var p pools
	look := func(second, busy float64, queued uint64) {
		s := &gauge.Server{}
		s.Total.WorkerSeconds, s.Total.BusySeconds = 2*second, busy
		s.Queued = kernel.Num{Value: queued, Known: true}
		p.add(&gauge.Snapshot{At: at.Add(time.Duration(second) * time.Second), Servers: []*gauge.Server{s}})
	}
	look(0, 0, 0)
	look(10, 0, 0)
	p.restart()
	look(20, 20, 3)
	look(30, 40, 3)
	got := p.pools()[0]
	if got.Looks != 2 {
		t.Errorf("%d looks", got.Looks)
	}
	wantValue(t, "busy share", got.BusyShare, 100, Percent, "")
	wantValue(t, "queued share", got.QueuedShare, 100, Percent, "")
}

// Rates need two readings.
func TestCollectCutShortTakesALastReading(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*leastEvery)
	defer cancel()
	var buf bytes.Buffer
	s, err := Collect(ctx, &buf, CollectOptions{Every: time.Hour, For: time.Hour})
	if err != nil || !s.Interrupted || s.Readings != 2 || s.To.Sub(s.From) < leastEvery {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestCollectListsWhatItCouldNotRead(t *testing.T) {
	c := &collector{live: &live{b: newBuilder()}, read: map[string]bool{"proc/meminfo": true, "proc/stat": true, "proc/loadavg": true}}
	c.unreadFiles()
	if g := c.b.c.Gaps; len(g) != 1 || g[0].What != HasVmstat || g[0].From.File != "/proc/vmstat" {
		t.Errorf("%+v", g)
	}
}
