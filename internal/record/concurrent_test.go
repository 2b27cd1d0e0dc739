package record

import (
	"sync"
	"testing"
)

// TestConcurrentWriters writes from many goroutines and looks for every row.
func TestConcurrentWriters(t *testing.T) {
	const writers, each = 8, 3000
	dir := t.TempDir()
	w := create(t, dir)
	first := begin(t, w)
	streams := []int64{first}
	for i := 1; i < writers; i++ {
		streams = append(streams, must(w.AddStream(Stream{RepetitionID: 1, AppID: 1, Ordinal: i + 1}))(t))
	}
	var group sync.WaitGroup
	for i, stream := range streams {
		group.Go(func() {
			// One Probe and one Sample for all: neither may be kept.
			var p Probe
			s := Sample{AtNs: start}
			for seq := range int64(each) {
				p = *answer(seq)
				p.Pid = int32(i + 1)
				if err := w.Probe(stream, &p); err != nil {
					t.Error(err)
					return
				}
				if seq%100 == 0 {
					s.AtNs, s.RSS = start+seq, int64(i)
					if err := w.Sample(1, &s); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	group.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	for i, stream := range streams {
		var n int64
		for p, err := range r.Probes(t.Context(), stream) {
			if err != nil {
				t.Fatal(err)
			}
			want := *answer(n)
			want.Pid = int32(i + 1)
			if *p != want {
				t.Fatalf("stream %d: %+v, want %+v", stream, *p, want)
			}
			n++
		}
		if n != each {
			t.Errorf("stream %d has %d probes, want %d", stream, n, each)
		}
	}
	counts := must(r.Counts(t.Context()))(t)
	if counts.Samples != writers*each/100 {
		t.Errorf("%d samples, want %d", counts.Samples, writers*each/100)
	}
}

// TestCloseMeetsWriters closes while others write: what was accepted is kept,
// and the others learn that the record is closed.
func TestCloseMeetsWriters(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir)
	stream := begin(t, w)
	accepted := make([]int64, 4)
	var group sync.WaitGroup
	var started sync.WaitGroup
	started.Add(len(accepted))
	for i := range accepted {
		group.Go(func() {
			for n := int64(0); ; n++ {
				if err := w.Probe(stream, answer(n*int64(len(accepted))+int64(i))); err != nil {
					if err != ErrClosed {
						t.Error(err)
					}
					return
				}
				if accepted[i]++; n == 100 {
					started.Done()
				}
			}
		})
	}
	started.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	var want int64
	for _, n := range accepted {
		want += n
	}
	if got := must(open(t, dir).Counts(t.Context()))(t).Probes; got != want {
		t.Errorf("%d probes were kept, %d were accepted", got, want)
	}
}
