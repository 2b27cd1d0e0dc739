package kernel

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/procfs"
)

// Values as they stand in the files, whose forms follow the kernel's
// documentation for each version.
func TestMeminfoAcrossKernels(t *testing.T) {
	old := must[Meminfo](t)(open(t, "testdata/linux-3.10").Meminfo())
	wantEqual(t, "3.10 MemTotal", old.MemTotal, kb(3880824))
	wantEqual(t, "3.10 MemAvailable", old.MemAvailable, Num{})
	wantEqual(t, "3.10 ActiveFile", old.ActiveFile, kb(742484))
	wantEqual(t, "3.10 CommittedAS", old.CommittedAS, kb(5120308))
	wantEqual(t, "3.10 HugePagesTotal", old.HugePagesTotal, num(12))
	wantEqual(t, "3.10 HugePagesFree", old.HugePagesFree, num(5))
	wantEqual(t, "3.10 HugepageSize", old.HugepageSize, kb(2048))
	wantEqual(t, "3.10 KReclaimable", old.KReclaimable, Num{})

	mid := must[Meminfo](t)(open(t, "testdata/linux-5.10").Meminfo())
	wantEqual(t, "5.10 MemAvailable below MemFree", mid.MemAvailable, kb(98304))
	wantEqual(t, "5.10 SwapTotal is a known 0", mid.SwapTotal, kb(0))
	wantEqual(t, "5.10 Zswap", mid.Zswap, Num{})

	recent := must[Meminfo](t)(open(t, "testdata/linux-6.6").Meminfo())
	wantEqual(t, "6.6 Zswapped", recent.Zswapped, kb(512))
	wantEqual(t, "6.6 SwapFree", recent.SwapFree, kb(900000))
	wantEqual(t, "6.6 AnonHugePages", recent.AnonHugePages, Num{})
}

func TestMeminfoVariants(t *testing.T) {
	for _, c := range []struct {
		name, text, field string
		line              int
		get               func(*Meminfo) Num
		want              Num
	}{
		{"lxcfs underflow", "SwapTotal:  0 kB\nSwapFree:  18446744073709551488 kB\nDirty: 4 kB\n", "SwapFree", 2,
			func(m *Meminfo) Num { return m.SwapFree }, Num{}},
		{"other fields survive it", "SwapFree:  18446744073709551488 kB\nDirty: 4 kB\n", "SwapFree", 1,
			func(m *Meminfo) Num { return m.Dirty }, kb(4)},
		{"cut off", "MemTotal: 8 kB\nMemFree:   12", "MemFree", 2,
			func(m *Meminfo) Num { return m.MemFree }, Num{}},
		{"negative", "MemAvailable: -4 kB\n", "MemAvailable", 1,
			func(m *Meminfo) Num { return m.MemAvailable }, Num{}},
		{"no newline at the end", "MemTotal: 8 kB", "", 0,
			func(m *Meminfo) Num { return m.MemTotal }, kb(8)},
		{"android", "MemTotal: 8 kB\nION_heap: 5 kB\nGpu:  1 kB\n", "", 0,
			func(m *Meminfo) Num { return m.MemTotal }, kb(8)},
		{"empty", "", "", 0, func(m *Meminfo) Num { return m.MemTotal }, Num{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, _ := tree(t, map[string]string{"proc/meminfo": c.text})
			m, err := f.Meminfo()
			wantEqual(t, "value", c.get(&m), c.want)
			if c.field != "" {
				wantFieldError(t, err, "proc/meminfo", c.line, c.field)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// However the file is cut off, a field in kB is right or unknown.
func TestMeminfoCutAnywhere(t *testing.T) {
	text := must[[]byte](t)(os.ReadFile("testdata/linux-6.6/proc/meminfo"))
	text = text[:strings.Index(string(text), "HugePages_")]
	var whole Meminfo
	if err := parseMeminfo(&whole, text); err != nil {
		t.Fatal(err)
	}
	for n := range text {
		var m Meminfo
		_ = parseMeminfo(&m, text[:n])
		for key := range strings.SplitSeq("MemTotal MemFree MemAvailable SwapFree AnonPages Committed_AS CommitLimit", " ") {
			got, want := *m.amount([]byte(key)), *whole.amount([]byte(key))
			if got.Known && got != want {
				t.Fatalf("cut at %d: %s = %v, want %v or unknown", n, key, got, want)
			}
		}
	}
}

// Against free(1) and prometheus/procfs.
func TestMeminfoLive(t *testing.T) {
	m := must[Meminfo](t)(live(t).Meminfo())
	out := output(t, "free", "-b")
	rows := 0
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		rows++
		total := func() uint64 { return must[uint64](t)(strconv.ParseUint(fields[1], 10, 64)) }
		switch fields[0] {
		case "Mem:":
			wantEqual(t, "MemTotal", m.MemTotal, num(total()))
			wantNear(t, "MemAvailable", m.MemAvailable, must[uint64](t)(strconv.ParseUint(fields[6], 10, 64)), m.MemTotal.Value/20)
		case "Swap:":
			wantEqual(t, "SwapTotal", m.SwapTotal, num(total()))
		}
	}
	wantEqual(t, "lines of free: heading, memory, swap", rows, 3)
	p := must[procfs.Meminfo](t)(must[procfs.FS](t)(procfs.NewFS("/proc")).Meminfo())
	wantEqual(t, "CommitLimit", m.CommitLimit, num(*p.CommitLimitBytes))
	wantNear(t, "Slab", m.Slab, *p.SlabBytes, m.MemTotal.Value/20)
	wantNear(t, "Cached", m.Cached, *p.CachedBytes, m.MemTotal.Value/20)
}

// wantNear allows for what the machine did between two readings.
func wantNear(t *testing.T, what string, got Num, want, slack uint64) {
	t.Helper()
	if !got.Known || got.Value+slack < want || got.Value > want+slack {
		t.Errorf("%s = %v, want %d give or take %d", what, got, want, slack)
	}
}
