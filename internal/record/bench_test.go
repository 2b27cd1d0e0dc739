package record

import (
	"path/filepath"
	"runtime"
	"testing"
)

// writeProbes writes a record of n probes in four streams.
func writeProbes(b testing.TB, dir string, n int64) {
	b.Helper()
	w := create(b, dir)
	begin(b, w)
	for i := 2; i <= 4; i++ {
		if _, err := w.AddStream(Stream{RepetitionID: 1, AppID: 1, Ordinal: i}); err != nil {
			b.Fatal(err)
		}
	}
	for i := range n {
		if err := w.Probe(1+i%4, answer(i)); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}

func readProbes(b testing.TB, r *Reader) (n int64, peak uint64) {
	b.Helper()
	var m runtime.MemStats
	for stream := range int64(4) {
		for p, err := range r.Probes(b.Context(), stream+1) {
			if err != nil {
				b.Fatal(err)
			}
			if p.Outcome != "ok" {
				b.Fatalf("%+v", p)
			}
			if n++; n%50_000 == 0 {
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapInuse)
			}
		}
	}
	return n, peak
}

// BenchmarkReadMillionProbes reads all probes of a large record; peak-MB is
// the heap in use.
func BenchmarkReadMillionProbes(b *testing.B) {
	dir := b.TempDir()
	writeProbes(b, dir, 1e6)
	r := open(b, dir)
	b.ResetTimer()
	b.ReportAllocs()
	for range b.N {
		n, peak := readProbes(b, r)
		if n != 1e6 {
			b.Fatalf("%d probes", n)
		}
		b.ReportMetric(float64(peak)/(1<<20), "peak-MB")
	}
}

// BenchmarkExportMillionProbes writes all its files.
func BenchmarkExportMillionProbes(b *testing.B) {
	dir := b.TempDir()
	writeProbes(b, dir, 1e6)
	r := open(b, dir)
	b.ResetTimer()
	for range b.N {
		if _, err := ExportCSV(b.Context(), r, filepath.Join(dir, "csv"), Overwrite()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkProbe writes probes; the time for one is what a request costs the
// record.
func BenchmarkProbe(b *testing.B) {
	w := create(b, b.TempDir())
	stream := begin(b, w)
	b.ReportAllocs()
	var seq int64
	for b.Loop() {
		seq++
		if err := w.Probe(stream, answer(seq)); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}

// TestMemoryOfIteration reads a record twenty times as long in the same
// memory. It compares live heaps in one process, with room for noise.
func TestMemoryOfIteration(t *testing.T) {
	heap := func(n int64) uint64 {
		dir := t.TempDir()
		writeProbes(t, dir, n)
		r := open(t, dir)
		var most uint64
		var m runtime.MemStats
		var seen int64
		for stream := range int64(4) {
			for _, err := range r.Probes(t.Context(), stream+1) {
				if err != nil {
					t.Fatal(err)
				}
				if seen++; seen%(n/4) == 0 {
					runtime.GC()
					runtime.ReadMemStats(&m)
					most = max(most, m.HeapAlloc)
				}
			}
		}
		return most
	}
	small, large := heap(2000), heap(20_000)
	// 18,000 more probes of some 100 bytes would be 1.8 MB.
	if large > small+1<<20 {
		t.Errorf("the heap grew from %d to %d bytes with the number of probes", small, large)
	}
}
