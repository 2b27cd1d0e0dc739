package kernel

import (
	"errors"
	"os"
	"runtime"
	"testing"
)

func TestStatm(t *testing.T) {
	f, _ := tree(t, map[string]string{"proc/7/stat": pidStatLine(7, "x", 1, 0, 0), "proc/7/statm": "3000 1200 400 10 0 900 0\n"})
	p := must[*Process](t)(f.OpenProcess(7))
	defer p.Close()
	var s PIDStatm
	if err := p.Statm(&s); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "statm", s, PIDStatm{num(3000), num(1200), num(400)})
	wantFieldError(t, parsePIDStatm(&s, []byte("3000 1200 400 10 0 900")), "", 1, "statm")
}

// Against /proc/PID/status and stat, of a process that does nothing. The number
// in stat is not exact since 6.2.
func TestStatmLive(t *testing.T) {
	cmd, p := sleeping(t)
	var stat PIDStat
	var status PIDStatus
	var statm PIDStatm
	page := uint64(os.Getpagesize())
	eventually(t, "statm and status say the same", func() bool {
		return p.Status(&status) == nil && p.Statm(&statm) == nil && status.VmRSS == num(statm.ResidentPages.Value*page)
	})
	if err := p.Stat(&stat); err != nil {
		t.Fatal(err)
	}
	wantNear(t, "resident", statm.ResidentPages, uint64(stat.RSSPages), uint64(64*runtime.NumCPU()))
	wantEqual(t, "size", statm.SizePages.Value*page, stat.VSize)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err := p.Statm(&statm); !errors.Is(err, ErrGone) {
		t.Errorf("of a process that has ended: %v", err)
	}
}

func FuzzStatm(f *testing.F) { fuzzParser(f, "testdata/*/proc/[0-9]*/statm", parsePIDStatm) }
