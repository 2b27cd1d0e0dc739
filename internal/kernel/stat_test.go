package kernel

import (
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/procfs"
)

func TestStatFields(t *testing.T) {
	s := must[Stat](t)(open(t, "testdata/linux-3.10").Stat())
	wantEqual(t, "user", s.Total.User, num(4705))
	wantEqual(t, "steal", s.Total.Steal, num(12))
	wantEqual(t, "guest_nice", s.Total.GuestNice, num(3))
	wantEqual(t, "busy", s.Total.Busy(), num(4705+150+1120+30+45))
	wantEqual(t, "all, guests once", s.Total.All(), num(4705+150+1120+16250+520+30+45+12))
	wantEqual(t, "CPUs", len(s.CPU), 2)
	wantEqual(t, "second CPU online", s.CPU[1].ID, 2)
	wantEqual(t, "its idle", s.CPU[1].Idle, num(8000))
	wantEqual(t, "ctxt", s.ContextSwitches, num(1990473))
	wantEqual(t, "btime", s.BootTime, num(1062191376))
	wantEqual(t, "processes", s.Processes, num(2915))
	wantEqual(t, "running", s.Running, num(1))
	wantEqual(t, "blocked", s.Blocked, num(2))
}

func TestStatVariants(t *testing.T) {
	f, _ := tree(t, map[string]string{"proc/stat": "cpu  1 2 3 4\ncpu3 1 2 3 x 5\ncpuX 1\n"})
	s, err := f.Stat()
	wantFieldError(t, err, "proc/stat", 2, "cpu3")
	wantEqual(t, "idle", s.Total.Idle, num(4))
	wantEqual(t, "a column that is absent", s.Total.Steal, Num{})
	wantEqual(t, "so all ticks are unknown", s.Total.All(), Num{})
	wantEqual(t, "CPUs", len(s.CPU), 1)
	wantEqual(t, "ID with others offline", s.CPU[0].ID, 3)
	wantEqual(t, "a bad column", s.CPU[0].Idle, Num{})
	wantEqual(t, "the column after it", s.CPU[0].IOWait, num(5))
}

// Against getconf(1) and prometheus/procfs.
func TestStatLive(t *testing.T) {
	s := must[Stat](t)(live(t).Stat())
	out := output(t, "getconf", "_NPROCESSORS_ONLN")
	wantEqual(t, "CPUs", strconv.Itoa(len(s.CPU)), strings.TrimSpace(out))
	out = output(t, "getconf", "CLK_TCK")
	wantEqual(t, "USER_HZ", strconv.Itoa(UserHz), strings.TrimSpace(out))
	p := must[procfs.Stat](t)(must[procfs.FS](t)(procfs.NewFS("/proc")).Stat())
	wantEqual(t, "btime", s.BootTime, num(p.BootTime))
	wantNear(t, "user ticks", s.Total.User, uint64(p.CPUTotal.User*UserHz+0.5), 500)
	wantNear(t, "idle ticks", s.Total.Idle, uint64(p.CPUTotal.Idle*UserHz+0.5), 2000)
}

func TestLoadavg(t *testing.T) {
	l := must[Loadavg](t)(open(t, "testdata/linux-3.10").Loadavg())
	wantEqual(t, "loadavg", l, Loadavg{0.20, 0.18, 0.12, 1, 80, true})
	for _, text := range []string{"", "1.0 2.0", "1.0 2.0 NaN 1/2 3\n", "1.0 2.0 3.0 1 3\n", "-1 2 3 1/2 3\n"} {
		f, _ := tree(t, map[string]string{"proc/loadavg": text})
		l, err := f.Loadavg()
		wantFieldError(t, err, "proc/loadavg", 1, "load")
		wantEqual(t, "after "+strconv.Quote(text), l, Loadavg{})
	}
	l = must[Loadavg](t)(live(t).Loadavg())
	if !l.Known || l.Tasks == 0 {
		t.Errorf("live: %+v", l)
	}
}
