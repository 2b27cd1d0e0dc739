package kernel

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/procfs"
)

func TestCgroupV1(t *testing.T) {
	f := open(t, "testdata/linux-3.10")
	wantEqual(t, "version", must[CgroupVersion](t)(f.CgroupVersion()), CgroupV1)
	c := must[*Cgroup](t)(f.CgroupOf(812))
	dirs := []string{
		"sys/fs/cgroup/cpu,cpuacct/system.slice/web.service",
		"sys/fs/cgroup/memory/system.slice/web.service",
		"sys/fs/cgroup/pids/system.slice/web.service",
	}
	if !slices.Equal(c.Dirs(), dirs) {
		t.Errorf("dirs = %v", c.Dirs())
	}
	wantEqual(t, "memory", must[CgroupMemory](t)(c.Memory()), CgroupMemory{
		Current: num(201326592), Peak: num(268435456), Max: Limit{Num: num(268435456)},
		SwapCurrent: num(4096),
		Anon:        num(150000000), File: num(40960000), FileMapped: num(8192000),
		InactiveAnon: num(50000000), ActiveAnon: num(100000000),
		InactiveFile: num(30960000), ActiveFile: num(10000000),
		PgFault: num(70000), PgMajFault: num(33),
		EventMax: num(41), UnderOOM: num(1),
	})
	wantEqual(t, "cpu", must[CgroupCPU](t)(c.CPU()), CgroupCPU{
		UsageMicros: num(2530123), UserMicros: num(2050000), SystemMicros: num(480000),
		QuotaMicros: Limit{Num: num(50000)}, PeriodMicros: num(100000),
		Periods: num(900), Throttled: num(120), ThrottledMicros: num(4500000),
	})
	wantEqual(t, "pids", must[CgroupPIDs](t)(c.PIDs()), CgroupPIDs{Current: num(3), Max: Limit{Unlimited: true}})
	if _, err := c.PSI(PSIMemory); !errors.Is(err, ErrUnavailable) {
		t.Errorf("v1 pressure: %v", err)
	}

	root := must[*Cgroup](t)(f.CgroupOf(1))
	wantEqual(t, "root's limit", must[CgroupMemory](t)(root.Memory()).Max, Limit{Unlimited: true})
	wantEqual(t, "root's quota", must[CgroupCPU](t)(root.CPU()).QuotaMicros, Limit{Unlimited: true})
}

// No mount table here: the usual places are taken.
func TestCgroupHybridHasItsControllersOnV1(t *testing.T) {
	f := open(t, "testdata/linux-5.10")
	wantEqual(t, "version", must[CgroupVersion](t)(f.CgroupVersion()), CgroupHybrid)
	c := must[*Cgroup](t)(f.CgroupOf(77))
	m := must[CgroupMemory](t)(c.Memory())
	wantEqual(t, "unlimited with 64 KiB pages", m.Max, Limit{Unlimited: true})
	wantEqual(t, "oom_kill", m.EventOOMKill, num(2))
	wantEqual(t, "what is absent", m.Current, Num{})
	wantEqual(t, "quota", must[CgroupCPU](t)(c.CPU()).QuotaMicros, Limit{Unlimited: true})
	wantEqual(t, "pids", must[CgroupPIDs](t)(c.PIDs()), CgroupPIDs{Current: num(5)})
}

// The mount shows the hierarchy from /kubepods on.
func TestCgroupV2(t *testing.T) {
	f := open(t, "testdata/linux-6.6")
	wantEqual(t, "version", must[CgroupVersion](t)(f.CgroupVersion()), CgroupV2)
	c := must[*Cgroup](t)(f.CgroupOf(301))
	if !slices.Equal(c.Dirs(), []string{"sys/fs/cgroup/pod1/app"}) {
		t.Errorf("dirs = %v", c.Dirs())
	}
	wantEqual(t, "memory", must[CgroupMemory](t)(c.Memory()), CgroupMemory{
		Current: num(104857600), Peak: num(104960000),
		Max: Limit{Num: num(104857600)}, High: Limit{Unlimited: true},
		SwapCurrent: num(52428800), SwapMax: Limit{Unlimited: true},
		Anon: num(90000000), File: num(9000000), Shmem: num(4096), FileMapped: num(7000000),
		FileDirty: num(8192), FileWriteback: num(12288),
		ActiveAnon: num(30000000), InactiveAnon: num(60000000),
		ActiveFile: num(4000000), InactiveFile: num(5000000),
		Kernel: num(5000000), Slab: num(4000000),
		PgFault: num(800000), PgMajFault: num(650), RefaultAnon: num(10), RefaultFile: num(20),
		PgScan: num(3000), PgSteal: num(2500),
		EventLow: num(1), EventHigh: num(2), EventMax: num(900), EventOOM: num(4),
		EventOOMKill: num(3), EventOOMGroupKill: num(1),
	})
	wantEqual(t, "cpu", must[CgroupCPU](t)(c.CPU()), CgroupCPU{
		UsageMicros: num(9000000), UserMicros: num(6000000), SystemMicros: num(3000000),
		QuotaMicros: Limit{Num: num(150000)}, PeriodMicros: num(100000),
		Periods: num(400), Throttled: num(90), ThrottledMicros: num(1234567),
	})
	wantEqual(t, "pids", must[CgroupPIDs](t)(c.PIDs()), CgroupPIDs{Current: num(7), Max: Limit{Num: num(100)}, Refused: num(12)})
	wantEqual(t, "pressure", must[PSI](t)(c.PSI(PSIMemory)).Full, Stall{76, 70, 55, 88000000, true})

	top := must[*Cgroup](t)(f.Cgroup("/kubepods"))
	if _, err := top.Memory(); !errors.Is(err, ErrUnavailable) {
		t.Errorf("no memory files: %v", err)
	}
	cpu := must[CgroupCPU](t)(top.CPU())
	wantEqual(t, "usage", cpu.UsageMicros, num(5))
	wantEqual(t, "throttled without the controller", cpu.Throttled, Num{})
	for _, path := range []string{"/elsewhere", "/kubepods2", "/kubepods/../../../../proc", "relative", "/kubepods/absent"} {
		if _, err := f.Cgroup(path); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v, want ErrUnavailable", path, err)
		}
	}
}

func TestCgroupPaths(t *testing.T) {
	paths, err := parseCgroupPaths([]byte("12:cpu,cpuacct:/a:b (deleted)\n1:name=systemd:/s\n0::/x\n"))
	if err != nil {
		t.Fatal(err)
	}
	for controller, want := range map[string]string{"cpu": "/a:b", "cpuacct": "/a:b", "": "/x", "name=systemd": "/s"} {
		wantEqual(t, controller, paths[controller], want)
	}
	for _, text := range []string{"0:/x\n", "x::/x\n", "0::x\n", "0::/a\n\n"} {
		f, _ := tree(t, map[string]string{"proc/5/cgroup": text})
		_, err := f.CgroupOf(5)
		wantFieldError(t, err, "proc/5/cgroup", strings.Count(text, "\n"), "cgroup")
	}
}

func TestMountPointWithBlanks(t *testing.T) {
	m := parseMountinfo([]byte(`41 31 0:38 / /run/my\040cg rw shared:1 master:2 - cgroup2 none rw` + "\n"))
	if m.unified == nil {
		t.Fatal("the mount was not seen")
	}
	wantEqual(t, "directory", m.unified.dir, "run/my cg")
}

func TestCgroupBadValues(t *testing.T) {
	base := "sys/fs/cgroup/a/"
	f, _ := tree(t, map[string]string{
		"sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
		base + "memory.current":            "12x\n",
		base + "memory.max":                "99999999999999999999999\n",
		base + "memory.events":             "low 0\noom_kill 2\n",
		base + "cpu.max":                   "max\n",
	})
	c := must[*Cgroup](t)(f.Cgroup("/a"))
	m, err := c.Memory()
	wantFieldError(t, err, base+"memory.current", 1, "value")
	wantEqual(t, "max", m.Max, Limit{})
	wantEqual(t, "oom_kill", m.EventOOMKill, num(2))
	cpu, err := c.CPU()
	wantFieldError(t, err, base+"cpu.max", 1, "cpu.max")
	wantEqual(t, "cpu", cpu, CgroupCPU{})
}

// Against the files themselves and prometheus/procfs: whatever this machine
// has mounted, the cgroup of this process is found and belongs to it.
func TestCgroupLive(t *testing.T) {
	f := live(t)
	version := must[CgroupVersion](t)(f.CgroupVersion())
	groups := must[[]procfs.Cgroup](t)(must[procfs.Proc](t)(procfs.Self()).Cgroups())
	unifiedOnly := len(groups) == 1 && groups[0].HierarchyID == 0
	if unifiedOnly != (version == CgroupV2) {
		t.Errorf("version %s, procfs has %v", version, groups)
	}
	c := must[*Cgroup](t)(f.CgroupOf(os.Getpid()))
	for _, dir := range c.Dirs() {
		procs := must[[]byte](t)(os.ReadFile(filepath.Join("/", dir, "cgroup.procs")))
		if !slices.Contains(strings.Fields(string(procs)), itoa(os.Getpid())) {
			t.Errorf("%s does not hold this process", dir)
		}
	}
	cpu := must[CgroupCPU](t)(c.CPU())
	if !cpu.UsageMicros.Known || cpu.UsageMicros.Value == 0 {
		t.Errorf("usage = %v", cpu.UsageMicros)
	}
}
