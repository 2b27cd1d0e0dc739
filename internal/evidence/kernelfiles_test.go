package evidence

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// eachField calls each with the name of every field of a struct that is a
// Value or a Limit, and the keys under which the kernel's file has it.
func eachField(v any, name func(string) string, each func(field string, keys []string, unit Unit)) {
	t := reflect.TypeOf(v)
	for i := range t.NumField() {
		f := t.Field(i)
		keys, ok := f.Tag.Lookup("field")
		if !ok {
			keys = name(f.Name)
		}
		each(f.Name, strings.Split(keys, "|"), Unit(f.Tag.Get("unit")))
	}
}

// known lists the fields of a struct that are known.
func known(v any) []string {
	var names []string
	r := reflect.ValueOf(v)
	for i := range r.NumField() {
		if x, ok := r.Field(i).Interface().(Value); ok && x.Known {
			names = append(names, r.Type().Field(i).Name)
		}
	}
	return names
}

func TestEveryFieldOfMeminfoIsReadUnderItsKey(t *testing.T) {
	eachField(Meminfo{}, asItIs, func(field string, keys []string, unit Unit) {
		suffix := " kB"
		want := 5 * 1024.0
		if unit == "pages" {
			suffix, want = "", 5
		}
		c := readFiles(t, map[string]string{"proc/meminfo": keys[0] + ":    5" + suffix + "\n"})
		if got := known(c.Last().Meminfo); !reflect.DeepEqual(got, []string{field}) {
			t.Errorf("%s sets %v, want %s", keys[0], got, field)
			return
		}
		v := reflect.ValueOf(c.Last().Meminfo).FieldByName(field).Interface().(Value)
		if v.Number != want || v.From[0].String() != "proc/meminfo:1 "+keys[0] {
			t.Errorf("%s = %v from %v", field, v.Number, v.From)
		}
	})
}

func TestEveryFieldOfVmstatIsReadUnderItsKeys(t *testing.T) {
	eachField(Vmstat{}, snake, func(field string, keys []string, _ Unit) {
		for _, key := range keys {
			c := readFiles(t, map[string]string{"proc/vmstat": "nr_free_pages 1\n" + key + " 5\n"})
			v := reflect.ValueOf(c.Last().Vmstat).FieldByName(field).Interface().(Value)
			if key == "pgsteal" {
				continue // a sum before 2012, of which kswapd's share is taken off
			}
			if v.Number != 5 || len(v.From) == 0 || v.From[0].String() != "proc/vmstat:2 "+key {
				t.Errorf("%s: %s = %v from %v (%s)", key, field, v.Number, v.From, v.Why)
			}
		}
	})
}

func TestEveryFieldOfNetstatIsReadUnderItsName(t *testing.T) {
	eachField(Netstat{}, asItIs, func(field string, keys []string, _ Unit) {
		file, group := "proc/net/netstat", "TcpExt"
		switch field {
		case "ActiveOpens", "PassiveOpens", "AttemptFails", "EstabResets", "CurrEstab", "RetransSegs":
			file, group = "proc/net/snmp", "Tcp"
		}
		c := readFiles(t, map[string]string{file: group + ": Other " + keys[0] + "\n" + group + ": 1 5\n"})
		v := reflect.ValueOf(c.Last().Netstat).FieldByName(field).Interface().(Value)
		if v.Number != 5 || v.From[0].String() != file+":2 "+keys[0] {
			t.Errorf("%s = %v from %v (%s)", field, v.Number, v.From, v.Why)
		}
	})
}

func TestEveryFieldOfCgroupsIsReadFromItsFile(t *testing.T) {
	for _, part := range []struct {
		name  string
		empty any
		of    func(*Cgroup) any
	}{
		{"memory", CgroupMemory{}, func(g *Cgroup) any { return g.Memory }},
		{"cpu", CgroupCPU{}, func(g *Cgroup) any { return g.CPU }},
		{"pids", CgroupPIDs{}, func(g *Cgroup) any { return g.PIDs }},
	} {
		typ := reflect.TypeOf(part.empty)
		for i := range typ.NumField() {
			for _, version := range []string{"v1", "v2"} {
				place := typ.Field(i).Tag.Get(version)
				if place == "" {
					continue
				}
				file, keys, _ := strings.Cut(place, " ")
				key, _, _ := strings.Cut(keys, "|")
				text := "7000\n"
				switch {
				case file == "cpu.max":
					text = "7000 7000\n"
				case key != "":
					text = key + " 7000\n"
				}
				files := map[string]string{"cgroup/" + file: text}
				if version == "v1" && file == "memory.stat" {
					files["cgroup/memory.usage_in_bytes"] = "1\n"
				}
				if version == "v1" && file == "cpu.stat" {
					files["cgroup/cpu.cfs_period_us"] = "1\n"
				}
				c := readFiles(t, files)
				if len(c.Last().Cgroups) != 1 {
					t.Errorf("%s: %d cgroups", place, len(c.Last().Cgroups))
					continue
				}
				field := reflect.ValueOf(part.of(&c.Last().Cgroups[0])).Field(i)
				v, ok := field.Interface().(Value)
				if !ok {
					v = field.Interface().(Limit).Value
				}
				if !v.Known || v.From[0].File != "cgroup/"+file || v.From[0].Line != 1 {
					t.Errorf("%s %s: %s is %v from %v (%s)", version, place, typ.Field(i).Name, v.Number, v.From, v.Why)
				}
			}
		}
	}
}

// TestCapturedTrees reads the trees that package kernel keeps of real kernels.
func TestCapturedTrees(t *testing.T) {
	trees, err := filepath.Glob("../kernel/testdata/linux-*")
	if err != nil || len(trees) < 4 {
		t.Fatalf("trees: %v, %v", trees, err)
	}
	for _, dir := range trees {
		c, err := Read(t.Context(), dir)
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		wantWhole(t, c)
		if len(c.Readings) != 1 || len(c.Strangers) > 0 || len(c.Inputs) == 0 {
			t.Errorf("%s: %d readings, %v", dir, len(c.Readings), c.Strangers)
		}
		if filepath.Base(dir) == "linux-3.10" {
			// MemAvailable came with 3.14.
			wantMissing(t, dir+" MemAvailable", c.Last().Meminfo.MemAvailable, Absent)
		}
	}
}

func TestZonesAreAddedUpAndNamedByTheFirst(t *testing.T) {
	c := readFiles(t, map[string]string{"proc/vmstat": "pgscan_kswapd_dma 12708\npgscan_kswapd_dma32 918789\npgscan_kswapd_normal 0\npgscan_direct_throttle 9\n"})
	v := c.Last().Vmstat
	wantValue(t, "scanned", v.PgscanKswapd, 931497, Pages, "proc/vmstat:1 pgscan_kswapd")
	wantMissing(t, "scanned directly", v.PgscanDirect, Absent)
}

func TestAFileThatIsNotThereIsNotSeen(t *testing.T) {
	r := readFiles(t, map[string]string{"proc/loadavg": "0.23 0.43 0.40 1/1222 1920\n"}).Last()
	wantValue(t, "load", r.Machine.Load1, 0.23, NoUnit, "proc/loadavg:1 load 1 min")
	wantMissing(t, "MemTotal", r.Meminfo.MemTotal, NotSeen)
	wantMissing(t, "pressure", r.PSI.Memory.Some.Avg10, NotSeen)
	wantMissing(t, "swap disk", r.SwapDisk.ReadBytes, NotSeen)
}

func TestAFieldInAnotherFormIsUnreadable(t *testing.T) {
	// lxc/lxcfs issue 115 has this number, which is above 2^63 when in bytes.
	r := readFiles(t, map[string]string{"proc/meminfo": "MemTotal: 1 kB\nSwapTotal: 0 kB\nSwapFree: 18446744073709551488 kB\n"}).Last()
	wantMissing(t, "SwapFree", r.Meminfo.SwapFree, Unreadable)
	wantValue(t, "SwapTotal", r.Meminfo.SwapTotal, 0, Bytes, "")
}

func TestMixedMeminfoOfLxcfs(t *testing.T) {
	r := readFiles(t, map[string]string{"proc/meminfo": "MemTotal: 4194304 kB\nMemFree: 2716972 kB\nActive: 27635424 kB\nSlab: 0 kB\nSUnreclaim: 12660380 kB\n"}).Last()
	wantMissing(t, "Active", r.Meminfo.Active, Implausible)
	wantMissing(t, "SUnreclaim", r.Meminfo.SUnreclaim, Implausible)
	wantValue(t, "MemFree", r.Meminfo.MemFree, 2716972*1024, Bytes, "")
	if r.View != ViewMixed {
		t.Errorf("view %q", r.View)
	}
}

func TestMemAvailableBelowMemFreeIsPlausible(t *testing.T) {
	// okd issue 1846: reserves are taken off.
	r := readFiles(t, map[string]string{"proc/meminfo": "MemTotal: 90484633 kB\nMemFree: 1031475 kB\nMemAvailable: 562586 kB\n"}).Last()
	wantValue(t, "MemAvailable", r.Meminfo.MemAvailable, 562586*1024, Bytes, "")
}

func TestOwnCgroupsOfBothVersions(t *testing.T) {
	c := readFiles(t, map[string]string{
		"v1/cgroup/cpu.stat": "nr_periods 7\nnr_throttled 2\nthrottled_time 127918677\n",
		"v2/cgroup/cpu.stat": "usage_usec 73899\nnr_periods 7\nnr_throttled 3\nthrottled_usec 139381\n",
	})
	// v1 counts ns, v2 µs.
	wantValue(t, "v1", c.Last().Cgroup("v1").CPU.ThrottledMicros, 127918, Micros, "v1/cgroup/cpu.stat:3 throttled_time")
	wantValue(t, "v2", c.Last().Cgroup("v2").CPU.ThrottledMicros, 139381, Micros, "v2/cgroup/cpu.stat:4 throttled_usec")
}

func TestCgroupsOfATree(t *testing.T) {
	c := readFiles(t, map[string]string{
		"host/sys/fs/cgroup/kubepods/pod1/memory.max":     "4294967296\n",
		"host/sys/fs/cgroup/kubepods/pod1/memory.current": "4294868992\n",
		"host/sys/fs/cgroup/kubepods/pod1/memory.events":  "low 0\nhigh 0\nmax 3889\noom 0\noom_kill 0\nnew_key 1\n",
		"host/proc/meminfo":                               "MemTotal: 90484633 kB\n",
	})
	g := c.Last().Cgroup("/kubepods/pod1")
	if g == nil || g.Own || g.Version != "v2" {
		t.Fatalf("cgroups: %+v", c.Last().Cgroups)
	}
	wantValue(t, "max", g.Memory.EventMax, 3889, Events, "host/sys/fs/cgroup/kubepods/pod1/memory.events:3 max")
	wantMissing(t, "group kills", g.Memory.EventOOMGroupKill, Absent)
	if c.Last().View != ViewMachine {
		t.Errorf("view %q", c.Last().View)
	}
}

func TestLocalNumbersWhereV1HasNoTotals(t *testing.T) {
	c := readFiles(t, map[string]string{"cgroup/memory.stat": "cache 4200000000\nrss 80425779\ninactive_file 4100000000\n", "cgroup/memory.limit_in_bytes": "9223372036854771712\n"})
	g := c.Last().Cgroup("cgroup")
	wantValue(t, "rss", g.Memory.Anon, 80425779, Bytes, "cgroup/memory.stat:2 rss")
	if !g.Memory.Max.Unlimited || g.Memory.Max.Known {
		t.Errorf("limit: %+v", g.Memory.Max)
	}
}

func TestLooseKernelFiles(t *testing.T) {
	c := readFiles(t, map[string]string{
		"a/meminfo.txt": "MemTotal: 100 kB\nMemFree: 50 kB\n", "a/psi_memory.txt": "some avg10=1.00 avg60=0.00 avg300=0.00 total=5",
		"a/pressure.txt": "some avg10=1.00 avg60=0.00 avg300=0.00 total=5\n",
	})
	wantValue(t, "total", c.Last().Meminfo.MemTotal, 100*1024, Bytes, "a/meminfo.txt:1 MemTotal")
	wantValue(t, "pressure", c.Last().PSI.Memory.Some.Avg10, 1, Percent, "a/psi_memory.txt:1 some avg10")
	if len(c.Strangers) != 1 || c.Strangers[0].File != "a/pressure.txt" {
		t.Errorf("a pressure file without a resource cannot be placed: %+v", c.Strangers)
	}
}

func FuzzMeminfo(f *testing.F) {
	fuzzFile(f, "proc/meminfo", "MemTotal: 4194304 kB\nMemFree: 2716972 kB\nActive: 27635424 kB\n")
}

func FuzzCgroupFiles(f *testing.F) {
	fuzzFile(f, "cgroup/memory.stat", "anon 5\nfile 7\n", "cache 4\nrss 3\ntotal_rss 9\n")
}

func FuzzArcstats(f *testing.F) {
	const text = "6 1 0x01 91 4368 1609989890 154836914265905\nname                            type data\nc_min                           4    268435456\nsize                            4    1668521984\n"
	fuzzFile(f, "proc/spl/kstat/zfs/arcstats", text)
}

func TestArcstats(t *testing.T) {
	r := readFiles(t, map[string]string{arcstatsFile: "6 1 0x01 91 4368 1609989890 154836914265905\nname                            type data\nc_min                           4    268435456\nsize                            4    1668521984\n"}).Last()
	wantValue(t, "size", r.ZFS.Size, 1668521984, Bytes, arcstatsFile+":4 size")
	wantMissing(t, "most", r.ZFS.Max, Absent)
}

func TestNothingIsLeftBehind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	readFiles(t, map[string]string{"t0/proc/meminfo": "MemTotal: 1 kB\n", "t1/proc/meminfo": "MemTotal: 1 kB\n"})
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left in the temporary directory: %v, %v", left, err)
	}
}
