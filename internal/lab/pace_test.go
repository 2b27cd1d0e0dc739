package lab

import (
	"testing"
	"time"
)

func TestEachStepIsExpectedToTakeWhatItTook(t *testing.T) {
	p := newPace(time.Minute)
	p.left["quick"], p.left["slow"], p.left["unseen"] = 3, 2, 1
	if got := p.remaining(); got != 6*time.Minute {
		t.Errorf("before anything was seen: %s, want six times what the design says", got)
	}
	p.saw("quick", 9*time.Second)
	p.saw("quick", 11*time.Second)
	p.saw("slow", 400*time.Second)
	// 3 × 10 s, 2 × 400 s, and the mean of the three, 140 s
	if got, want := p.remaining(), 970*time.Second; got != want {
		t.Errorf("it expects %s, want %s", got, want)
	}
}

// What an earlier run has executed is not left, wherever in the order it is: one
// that was extended has its first steps of all rounds, and none of the others.
func TestAResumedRunExpectsOnlyWhatIsLeft(t *testing.T) {
	dir := t.TempDir()
	cutAt(t, dir, executions/2, nil, begin(t, dir))
	earlier, w := resumed(t, dir)
	l := &lab{Options: Options{Design: everything(), Record: w, Seed: 7, Earlier: earlier}, stepIDs: map[string]int64{}}
	for _, s := range earlier.steps {
		l.stepIDs[s.Name] = s.ID
	}
	l.lookAhead(order(l.Design, l.Seed))
	left := 0
	for _, n := range l.tracker.pace.left {
		left += n
	}
	// The unit that was cut is executed anew from its beginning.
	if done := l.tracker.now.Index; done+left != executions || done > executions/2 || done < executions/2-3 {
		t.Errorf("%d executions are done and %d left, of %d, cut in the %dth", done, left, executions, executions/2+1)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
