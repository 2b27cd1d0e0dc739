package cli

import (
	"errors"
	"os/exec"
	"testing"
	"time"
)

// BenchmarkDoctor holds all that brink doctor costs beside the wait between its
// readings, its own start and the report included, to the CPU time of ps aux
// twice. They run in turns, and as in BenchmarkVersion the lower quartiles
// decide. A machine with servers under load costs more: see docs/benchmarks.md.
func BenchmarkDoctor(b *testing.B) {
	const turns, limit, low = 15, 2.0, 0.25
	brink := shipped(b)
	cpu := func(u usage) float64 { return float64(u.cpu.Microseconds()) / 1000 }
	for b.Loop() {
		var ours, theirs []usage
		for range turns {
			ours = append(ours, usage{cpu: cpuTimeOf(b, brink, "doctor", "--for", "1s")})
			for range 3 {
				theirs = append(theirs, usage{cpu: cpuTimeOf(b, "ps", "aux")})
			}
		}
		ratio := quantile(ours, low, cpu) / quantile(theirs, low, cpu)
		b.ReportMetric(quantile(ours, low, cpu), "doctor-cpu-ms")
		b.ReportMetric(quantile(theirs, low, cpu), "ps-cpu-ms")
		b.ReportMetric(ratio, "×ps-aux")
		b.ReportMetric(median(ours, cpu)/median(theirs, cpu), "×ps-aux-of-medians")
		if ratio > limit {
			b.Errorf("brink doctor takes %.2f times the CPU time of ps aux, want at most %v", ratio, limit)
		}
	}
}

// cpuTimeOf runs a program to its end, whatever its exit code says.
func cpuTimeOf(b *testing.B, program string, args ...string) time.Duration {
	b.Helper()
	cmd := exec.Command(program, args...)
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		b.Fatal(err)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}
