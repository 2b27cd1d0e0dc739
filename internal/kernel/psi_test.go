package kernel

import (
	"errors"
	"testing"

	"github.com/prometheus/procfs"
)

func TestPSIAcrossKernels(t *testing.T) {
	f := open(t, "testdata/linux-5.10")
	cpu := must[PSI](t)(f.PSI(PSICPU))
	wantEqual(t, "5.10 cpu some", cpu.Some, Stall{0.10, 0.21, 0.25, 73759571709, true})
	wantEqual(t, "5.10 cpu full", cpu.Full, Stall{})
	mem := must[PSI](t)(f.PSI(PSIMemory))
	wantEqual(t, "5.10 memory some", mem.Some, Stall{47.12, 30, 9.87, 123456789, true})
	wantEqual(t, "5.10 memory full", mem.Full, Stall{42.03, 28.5, 8, 120000000, true})
	io := must[PSI](t)(f.PSI(PSIIO))
	wantEqual(t, "io full, no newline", io.Full, Stall{0, 0, 0, 9, true})

	recent := open(t, "testdata/linux-6.6")
	wantEqual(t, "6.6 cpu full is a known 0", must[PSI](t)(recent.PSI(PSICPU)).Full, Stall{Known: true})
	irq := must[PSI](t)(recent.PSI(PSIIRQ))
	wantEqual(t, "6.6 irq some", irq.Some, Stall{})
	wantEqual(t, "6.6 irq full", irq.Full, Stall{0.01, 0.02, 0.03, 44, true})

	if _, err := open(t, "testdata/linux-3.10").PSI(PSIMemory); !errors.Is(err, ErrUnavailable) {
		t.Errorf("3.10: %v", err)
	}
}

func TestPSIBadLines(t *testing.T) {
	for _, c := range []struct {
		name, text string
		line       int
		full       bool
	}{
		{"truncated", "some avg10=1.00 avg60=2.00 avg\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n", 1, true},
		{"no total", "some avg10=1.00 avg60=2.00 avg300=1.00\n", 1, false},
		{"above 100", "some avg10=101.00 avg60=2.00 avg300=1.00 total=1\n", 1, false},
		{"not a number", "some avg10=NaN avg60=2.00 avg300=1.00 total=1\n", 1, false},
		{"negative", "\nsome avg10=-1.00 avg60=2.00 avg300=1.00 total=1\n", 2, false},
		{"exponent", "some avg10=1e1 avg60=2.00 avg300=1.00 total=1\n", 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, _ := tree(t, map[string]string{"proc/pressure/memory": c.text})
			p, err := f.PSI(PSIMemory)
			wantFieldError(t, err, "proc/pressure/memory", c.line, "some")
			wantEqual(t, "some", p.Some, Stall{})
			wantEqual(t, "full is known", p.Full.Known, c.full)
		})
	}
	f, _ := tree(t, map[string]string{"proc/pressure/memory": "\n"})
	wantEqual(t, "an empty line", must[PSI](t)(f.PSI(PSIMemory)), PSI{})
}

// Against prometheus/procfs, read before and after ours.
func TestPSILive(t *testing.T) {
	other := must[procfs.FS](t)(procfs.NewFS("/proc"))
	before, err := other.PSIStatsForResource("cpu")
	p, ours := live(t).PSI(PSICPU)
	if err != nil {
		if !errors.Is(ours, ErrUnavailable) {
			t.Errorf("procfs says %v, we say %v", err, ours)
		}
		return
	}
	after := must[procfs.PSIStats](t)(other.PSIStatsForResource("cpu"))
	if ours != nil || p.Some.TotalMicros < before.Some.Total || p.Some.TotalMicros > after.Some.Total {
		t.Errorf("total = %d (%v), want between %d and %d", p.Some.TotalMicros, ours, before.Some.Total, after.Some.Total)
	}
}
