package kernel

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestVmstatAcrossKernels(t *testing.T) {
	old := must[Vmstat](t)(open(t, "testdata/linux-3.10").Vmstat())
	wantEqual(t, "3.10 pgscan_kswapd over zones", old.PgscanKswapd, num(5+600+7000))
	wantEqual(t, "3.10 pgscan_direct without throttle", old.PgscanDirect, num(33+44))
	wantEqual(t, "3.10 pgscan_direct_throttle", old.PgscanDirectThrottle, num(9))
	wantEqual(t, "3.10 pgsteal_kswapd", old.PgstealKswapd, num(1+300+4000))
	wantEqual(t, "3.10 pgsteal_direct", old.PgstealDirect, num(11+22))
	wantEqual(t, "3.10 allocstall", old.Allocstall, num(83165))
	wantEqual(t, "3.10 refault", old.WorkingsetRefaultFile, num(4711))
	wantEqual(t, "3.10 refault anon", old.WorkingsetRefaultAnon, Num{})
	wantEqual(t, "3.10 oom_kill", old.OOMKill, Num{})

	mid := must[Vmstat](t)(open(t, "testdata/linux-5.10").Vmstat())
	wantEqual(t, "5.10 allocstall over zones", mid.Allocstall, num(0+2028+30531+7))
	wantEqual(t, "5.10 pgscan_direct", mid.PgscanDirect, num(310))
	wantEqual(t, "5.10 refault anon", mid.WorkingsetRefaultAnon, num(21))
	wantEqual(t, "5.10 pswpout is a known 0", mid.Pswpout, num(0))
	wantEqual(t, "5.10 oom_kill", mid.OOMKill, num(3))
	wantEqual(t, "5.10 pgscan_khugepaged", mid.PgscanKhugepaged, Num{})

	recent := must[Vmstat](t)(open(t, "testdata/linux-6.6").Vmstat())
	wantEqual(t, "6.6 allocstall with device", recent.Allocstall, num(1+2+3+4+5))
	wantEqual(t, "6.6 pgsteal_direct", recent.PgstealDirect, num(33372))
	wantEqual(t, "6.6 pgsteal_khugepaged", recent.PgstealKhugepaged, num(12))
	wantEqual(t, "6.6 pgscan_proactive", recent.PgscanProactive, Num{})
}

// Fields whose names begin alike are not added up.
func TestVmstatPrefixesAreNotSummed(t *testing.T) {
	text := "pgmajfault 5\npgmajfault_s 1\npgmajfault_a 2\npgmajfault_f 2\nkswapd_steal 8\npgsteal_normal 3\n"
	f, _ := tree(t, map[string]string{"proc/vmstat": text})
	v := must[Vmstat](t)(f.Vmstat())
	wantEqual(t, "pgmajfault", v.Pgmajfault, num(5))
	wantEqual(t, "kswapd_steal", v.PgstealKswapd, num(8))
	wantEqual(t, "pgsteal_direct", v.PgstealDirect, Num{})
	wantEqual(t, "pgsteal", v.Pgsteal, num(3))
}

// The oldest form: 2.6.32 names what kswapd stole, and counts by zone what was
// stolen in all.
func TestVmstatBeforeStealWasSplit(t *testing.T) {
	f, _ := tree(t, map[string]string{"proc/vmstat": "pgsteal_dma 1\npgsteal_dma32 40\npgsteal_normal 500\n" +
		"pgscan_kswapd_normal 900\npgscan_direct_normal 70\nslabs_scanned 8\nkswapd_steal 501\nallocstall 6\n"})
	v := must[Vmstat](t)(f.Vmstat())
	wantEqual(t, "kswapd", v.PgstealKswapd, num(501))
	wantEqual(t, "direct", v.PgstealDirect, num(1+40+500-501))
	wantEqual(t, "slabs", v.SlabsScanned, num(8))
	wantEqual(t, "allocstall of the zone normal", v.AllocstallNormal, Num{})
}

// A zone that cannot be read leaves the sum unknown, not too small.
func TestVmstatSumOverZonesIsWholeOrUnknown(t *testing.T) {
	for _, text := range []string{
		"allocstall_dma 1\nallocstall_normal x\nallocstall_movable 3\n",
		"allocstall_dma 1\nallocstall_normal 2\nallocstall_movable x\n",
		"allocstall_dma x\nallocstall_dma32 2\nallocstall_movable 3\n",
	} {
		f, _ := tree(t, map[string]string{"proc/vmstat": text})
		v, err := f.Vmstat()
		if err == nil {
			t.Errorf("%q: no error", text)
		}
		wantEqual(t, "allocstall", v.Allocstall, Num{})
	}
}

// The counters that came or were split between 5.9 and 6.18, as mm/vmstat.c
// names them.
func TestVmstatOfARecentKernel(t *testing.T) {
	v := must[Vmstat](t)(open(t, "testdata/linux-6.18").Vmstat())
	for name, c := range map[string]struct {
		got  Num
		want uint64
	}{
		"activate, both kinds": {v.WorkingsetActivate, 300 + 44}, "restore, both kinds": {v.WorkingsetRestore, 20 + 3},
		"nodereclaim": {v.WorkingsetNodereclaim, 17}, "scan anon": {v.PgscanAnon, 61000}, "scan file": {v.PgscanFile, 39010},
		"steal anon": {v.PgstealAnon, 51000}, "steal file": {v.PgstealFile, 29009}, "proactive scan": {v.PgscanProactive, 6},
		"proactive steal": {v.PgstealProactive, 5}, "normal": {v.AllocstallNormal, 700}, "allocstall": {v.Allocstall, 30 + 700 + 1},
		"refill": {v.Pgrefill, 120}, "run of kswapd": {v.Pageoutrun, 90}, "demoted": {v.PgdemoteAll, 1 + 2 + 3 + 4},
		"zeros in": {v.SwpinZero, 8}, "zeros out": {v.SwpoutZero, 9}, "zswpout": {v.Zswpout, 12},
		"faults": {v.Pgfault, 5000000}, "activate": {v.Pgactivate, 222}, "deactivate": {v.Pgdeactivate, 111},
	} {
		wantEqual(t, name, c.got, num(c.want))
	}
	// The kernel counts the same pages by who took them and by their kind.
	by := v.PgscanKswapd.Plus(v.PgscanDirect).Plus(v.PgscanKhugepaged).Plus(v.PgscanProactive)
	wantEqual(t, "scanned by whom and by kind", by, v.PgscanAnon.Plus(v.PgscanFile))
}

func TestVmstatBadFieldIsNamed(t *testing.T) {
	f, _ := tree(t, map[string]string{"proc/vmstat": "pswpin 4\npswpout x\npgmajfault 7\n"})
	v, err := f.Vmstat()
	wantFieldError(t, err, "proc/vmstat", 2, "pswpout")
	wantEqual(t, "pswpout", v.Pswpout, Num{})
	wantEqual(t, "pgmajfault", v.Pgmajfault, num(7))
}

// nr_zspages is what is compressed now, in pages, beside the totals (mm/vmstat.c).
func TestVmstatPagesOfCompressedSwap(t *testing.T) {
	f, _ := tree(t, map[string]string{"proc/vmstat": "nr_free_cma 0\nnr_zspages 359123\npswpin 4\n"})
	wantEqual(t, "nr_zspages", must[Vmstat](t)(f.Vmstat()).NrZspages, num(359123))
}

// Against a reading of the same file with the standard library, before and
// after ours: totals only rise.
func TestVmstatLive(t *testing.T) {
	before := rawVmstat(t)
	v := must[Vmstat](t)(live(t).Vmstat())
	after := rawVmstat(t)
	for key, got := range map[string]Num{
		"pgfault": v.Pgfault, "pgmajfault": v.Pgmajfault, "pgscan_direct": v.PgscanDirect,
		"pgscan_kswapd": v.PgscanKswapd, "pswpout": v.Pswpout, "oom_kill": v.OOMKill,
		"workingset_refault_file": v.WorkingsetRefaultFile,
	} {
		if !got.Known || got.Value < before[key] || got.Value > after[key] {
			t.Errorf("%s = %v, want between %d and %d", key, got, before[key], after[key])
		}
	}
}

func rawVmstat(t *testing.T) map[string]uint64 {
	t.Helper()
	m := map[string]uint64{}
	for line := range strings.Lines(string(must[[]byte](t)(os.ReadFile("/proc/vmstat")))) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		m[key] = must[uint64](t)(strconv.ParseUint(value, 10, 64))
	}
	return m
}

func TestPageSize(t *testing.T) {
	wantEqual(t, "3.10", open(t, "testdata/linux-3.10").PageSize(), PageSize{Bytes: 4 << 10})
	wantEqual(t, "5.10, pages of 16 KiB", open(t, "testdata/linux-5.10").PageSize(), PageSize{Bytes: 16 << 10})
	wantEqual(t, "here", live(t).PageSize(), PageSize{Bytes: uint64(os.Getpagesize())})

	unknown, _ := tree(t, map[string]string{"proc/meminfo": "Mapped: 4096 kB\n"})
	wantEqual(t, "no vmstat", unknown.PageSize(), PageSize{Bytes: 4096, Assumed: true})
	torn, _ := tree(t, map[string]string{
		"proc/meminfo": "Mapped: 4096 kB\nShmem: 4096 kB\n",
		"proc/vmstat":  "nr_mapped 1024\nnr_shmem 256\n",
	})
	wantEqual(t, "fields that disagree", torn.PageSize(), PageSize{Bytes: 4096, Assumed: true})
}
