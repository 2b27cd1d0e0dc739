package cli

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"brink/internal/experiment"
	"brink/internal/record"
	"brink/internal/wire"
)

// shipped is the program as "make build" makes it, which "make bench" does first.
func shipped(b *testing.B) string {
	b.Helper()
	program, err := filepath.Abs(filepath.Join("..", "..", "bin", "brink"))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		b.Fatalf("%v: run make build first", err)
	}
	return program
}

func emptyProgram(b *testing.B) string {
	b.Helper()
	program := filepath.Join(b.TempDir(), "empty")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "./testdata/empty")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("build an empty program: %v\n%s", err, out)
	}
	return program
}

// usage is what a process used; peakMB is its largest resident memory.
type usage struct {
	wall, cpu time.Duration
	peakMB    float64
}

func used(b *testing.B, program string, args ...string) usage {
	b.Helper()
	cmd := exec.Command(program, args...)
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s %v: %v", filepath.Base(program), args, err)
	}
	return usage{wall: time.Since(begin), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
}

// usedAtPeak also looks at the memory every few milliseconds. The peak that
// wait4 gives will not do: it counts the memory of the parent in which the child
// was until it called execve.
func usedAtPeak(b *testing.B, program string, args ...string) usage {
	b.Helper()
	cmd := exec.Command(program, args...)
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	var u usage
	for {
		select {
		case err := <-ended:
			if err != nil {
				b.Fatalf("%s %v: %v", filepath.Base(program), args, err)
			}
			u.wall = time.Since(begin)
			return u
		case <-look.C:
			u.peakMB = max(u.peakMB, highWater(cmd.Process.Pid))
		}
	}
}

// highWater is VmHWM, proc_pid_status(5), in MB; 0 when the process is gone.
func highWater(pid int) float64 {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kB := strings.Fields(rest)
	if len(kB) == 0 {
		return 0
	}
	n, _ := strconv.ParseFloat(kB[0], 64)
	return n / 1024
}

// quantile is the value below which the share q of what pick takes lies.
func quantile(us []usage, q float64, pick func(usage) float64) float64 {
	xs := make([]float64, len(us))
	for i, u := range us {
		xs[i] = pick(u)
	}
	slices.Sort(xs)
	return xs[int(q*float64(len(xs)-1))]
}

func median(us []usage, pick func(usage) float64) float64 { return quantile(us, 0.5, pick) }

// BenchmarkVersion starts brink version and an empty Go program in turns and holds
// it to three times the empty program's time. Other work on the machine can only
// add to a time, so the lower quartiles of all turns decide; the medians are shown
// beside them.
func BenchmarkVersion(b *testing.B) {
	const turns, limit, low = 300, 3.0, 0.25
	brink, empty := shipped(b), emptyProgram(b)
	wall := func(u usage) float64 { return float64(u.wall.Microseconds()) }
	cpu := func(u usage) float64 { return float64(u.cpu.Microseconds()) }
	for b.Loop() {
		var ours, theirs []usage
		for range turns {
			theirs = append(theirs, used(b, empty))
			ours = append(ours, used(b, brink, "version"))
		}
		ratio := quantile(ours, low, wall) / quantile(theirs, low, wall)
		b.ReportMetric(quantile(ours, low, wall), "brink-µs")
		b.ReportMetric(quantile(theirs, low, wall), "empty-µs")
		b.ReportMetric(ratio, "ratio")
		b.ReportMetric(median(ours, wall)/median(theirs, wall), "ratio-of-medians")
		b.ReportMetric(quantile(ours, low, cpu)/quantile(theirs, low, cpu), "cpu-ratio")
		if ratio > limit {
			b.Errorf("brink version takes %.2f times as long as an empty program, want at most %v", ratio, limit)
		}
	}
}

// BenchmarkReport reports on a run of 1,000,000 requests and on one of 100,000
// that is otherwise the same. The larger must take less than ten seconds, and no
// more than 1.3 times the memory of the smaller.
func BenchmarkReport(b *testing.B) {
	const limit, growth = 10 * time.Second, 1.3
	brink := shipped(b)
	small, large := longRun(b, 100), longRun(b, 1000)
	b.ResetTimer()
	for b.Loop() {
		var s, l []usage
		for range 3 {
			s = append(s, usedAtPeak(b, brink, "report", small, "--quiet"))
			l = append(l, usedAtPeak(b, brink, "report", large, "--quiet"))
		}
		wall := median(l, func(u usage) float64 { return u.wall.Seconds() })
		peak := func(u usage) float64 { return u.peakMB }
		ratio := median(l, peak) / median(s, peak)
		b.ReportMetric(wall, "s-per-report")
		b.ReportMetric(median(l, peak), "peak-MB")
		b.ReportMetric(median(s, peak), "peak-MB-of-100,000")
		b.ReportMetric(ratio, "memory-ratio")
		if wall > limit.Seconds() {
			b.Errorf("a report over 1,000,000 requests takes %.1f s, want less than %v", wall, limit)
		}
		if ratio > growth {
			b.Errorf("ten times the requests take %.2f times the memory, want at most %v", ratio, growth)
		}
	}
}

// Two steps of five repetitions, each with two streams for 50 s.
const longExperiment = `name: long-run
title: Long streams against two numbers of workers
type: performance
question: Does the number of workers change the latency?
repetitions: 5
warm_up: 5s
plan: {cpus: 2}
apps:
  - {name: web, runtime: go, workers: 4}
hypotheses:
  - {id: H1, claim: More load is slower., form: compare, metric: latency_p50_ms, steps: [light, heavy], direction: rise, effect: 20%}
  - {id: H2, claim: Neither step is CPU bound., form: equivalent, metric: cpu_pct, steps: [light, heavy], margin: 10 points}
steps:
  - name: light
    traffic:
      - {kind: rate, path: /ping, rate: RATE, duration: 50s}
      - {kind: rate, path: /work?payload_kb=1, rate: RATE, duration: 50s}
  - name: heavy
    traffic:
      - {kind: rate, path: /ping, rate: RATE, duration: 50s}
      - {kind: rate, path: /work?payload_kb=1, rate: RATE, duration: 50s}
`

// longRun writes the record of such a run with so many requests per second and
// stream: a thousand make a million.
func longRun(b *testing.B, rate int) (dir string) {
	b.Helper()
	const duration = 50 * time.Second
	text := []byte(strings.ReplaceAll(longExperiment, "RATE", strconv.Itoa(rate)))
	d, err := experiment.LoadDesign("long.yaml", text, experiment.Options{})
	if err != nil {
		b.Fatal(err)
	}
	dir = b.TempDir()
	at := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	w, err := record.Create(dir, record.Run{
		ID: "long", Brink: "dev", Experiment: "long-run", YAML: string(text), Seed: 1, Host: "local", Accelerator: "none", StartedNs: at.UnixNano(),
	})
	if err != nil {
		b.Fatal(err)
	}
	l := &longWriter{b: b, w: w, r: rand.New(rand.NewPCG(1, 2))}
	for i, s := range d.Steps {
		form, err := json.Marshal(s)
		l.check(err)
		id, err := w.AddStep(record.Step{Ordinal: i + 1, Name: s.Name, Title: s.Title, JSON: string(form)})
		l.check(err)
		for n := range d.Repetitions {
			at = at.Add(duration + 10*time.Second)
			l.repetition(id, n+1, at.UnixNano(), duration, rate, float64(i+1))
		}
	}
	l.check(w.Finish(record.Done, ""))
	l.check(w.Close())
	return dir
}

type longWriter struct {
	b   *testing.B
	w   *record.Writer
	r   *rand.Rand
	pos int
}

func (l *longWriter) check(err error) {
	l.b.Helper()
	if err != nil {
		l.b.Fatal(err)
	}
}

// repetition writes traffic from the instant on: two streams, each with so many
// requests per second, and readings of the kernel at ten a second.
func (l *longWriter) repetition(step int64, number int, from int64, lasts time.Duration, rate int, slow float64) {
	l.pos++
	end := from + int64(lasts)
	rep := record.Repetition{StepID: step, Number: number, Position: l.pos, StartedNs: from - int64(2*time.Second), Status: record.Running}
	id, err := l.w.BeginRepetition(rep)
	l.check(err)
	app, err := l.w.AddApp(record.App{RepetitionID: id, Name: "web", Runtime: "go", Server: "brink", Workers: 4, JSON: "{}"})
	l.check(err)
	l.check(l.w.Event(id, record.Event{App: "web", AtNs: from - int64(time.Second), Kind: wire.Deployed}))
	l.check(l.w.Event(id, record.Event{App: "web", AtNs: from - int64(time.Second)/2, Kind: wire.Healthy}))
	for i := range lasts / (100 * time.Millisecond) {
		at := from + int64(i)*int64(100*time.Millisecond)
		var plan, own record.Sample
		plan.Clear()
		own.Clear()
		plan.AtNs, plan.CPUNs, plan.MemTotal, plan.MemAvailable = at, int64(i)*int64(50*time.Millisecond), 2<<30, 1<<30
		own.App, own.AtNs, own.RSS, own.QueueDepth = "web", at, 100<<20, int64(i%4)
		l.check(l.w.Sample(id, &plan))
		l.check(l.w.Sample(id, &own))
	}
	for ordinal, path := range []string{"/ping", "/work"} {
		count := rate * int(lasts/time.Second)
		s := record.Stream{RepetitionID: id, AppID: app, Ordinal: ordinal + 1, Kind: "rate", Method: "GET", Path: path, JSON: "{}"}
		s.ID, err = l.w.AddStream(s)
		l.check(err)
		for k := range count {
			l.check(l.w.Probe(s.ID, l.probe(k, from+int64(k)*int64(lasts)/int64(count), slow)))
		}
		s.Scheduled, s.Sent, s.Held = int64(count), int64(count), true
		l.check(l.w.UpdateStream(s))
	}
	rep.ID, rep.TrafficNs, rep.TrafficEndNs, rep.EndedNs, rep.Status = id, from, end, end+int64(time.Second), record.Done
	l.check(l.w.UpdateRepetition(rep))
}

// probe is an answered request, one in a thousand with an error.
func (l *longWriter) probe(seq int, due int64, slow float64) *record.Probe {
	served := int64(slow * 2e6 * math.Exp(0.3*l.r.NormFloat64()))
	p := &record.Probe{
		Seq: int64(seq), Due: due, Sent: due + 50_000, Connected: due + 80_000, FirstByte: due + served + 100_000,
		Done: due + served + 150_000, Status: 200, Outcome: "ok", Pid: int32(100 + seq%4), ServedNs: served, Bytes: 220,
	}
	if seq%1000 == 999 {
		p.Status, p.Outcome = 503, "http_5xx"
	}
	return p
}
