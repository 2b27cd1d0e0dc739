package agent

import "testing"

// BenchmarkTick is one sample of the plan and of two apps of three processes.
func BenchmarkTick(b *testing.B) {
	a := inProcess(b)
	deployHere(b, a, flask("one"))
	deployHere(b, a, flask("two"))
	s, err := newSampler(a)
	if err != nil {
		b.Fatal(err)
	}
	defer s.close()
	b.ReportAllocs()
	for b.Loop() {
		if err := s.tick(); err != nil {
			b.Fatal(err)
		}
	}
}
