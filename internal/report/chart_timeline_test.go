package report

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// timelineInput is a plan of 1,855 MB on which six apps start, one after
// another, until swap fills: anonymous memory grows by 100 MB for each app, the
// file cache gives way, and what no longer fits goes to swap.
func timelineInput() TimelineInput {
	in := TimelineInput{ID: "timeline-6x75", Title: "6x75: memory, pressure and CPU, repetition 1", Swap: 1000}
	for i := range 300 {
		t := float64(i)
		anon := min(700+t*4, 1500)
		file := max(100, 600-t*3)
		p := TimelinePoint{T: t, Anon: anon, File: file, Slab: 60, Other: 80, SwapUsed: max(0, t*4-500),
			PSISome: math.Mod(t, 60), PSIFull: math.Mod(t, 40), AppsCPU: 20 + math.Mod(t, 50), PlatformCPU: 5, KswapdCPU: -1}
		p.Free = 1855 - p.Anon - p.File - p.Slab - p.Other
		if p.Free < 0 {
			p.Free = 0
		}
		in.Points = append(in.Points, p)
	}
	for i := range 6 {
		app := "site-" + string(rune('1'+i))
		in.Marks = append(in.Marks, TimelineMark{T: float64(i * 20), Kind: MarkStart, App: app})
		if i < 4 {
			in.Marks = append(in.Marks, TimelineMark{T: float64(i*20 + 15), Kind: MarkServing, App: app})
		}
	}
	in.Marks = append(in.Marks, TimelineMark{T: 230, Kind: MarkRestart, App: "site-5"}, TimelineMark{T: 231, Kind: MarkRestart, App: "site-6"}, TimelineMark{T: 260, Kind: MarkOOMKill, App: "site-6"})
	return in
}

func TestTimelineSharesOneAxis(t *testing.T) {
	c := must(t)(Timeline(timelineInput()))
	s := specOf(t, c)
	if len(s.VConcat) != 5 {
		t.Fatalf("%d panels, want marks, memory, swap, pressure and CPU", len(s.VConcat))
	}
	if n := strings.Count(string(c.Spec), `"domain":[0,299]`); n < 10 {
		t.Errorf("the axis from 0 to 299 s stands %d times, want it in every layer of every panel", n)
	}
	// Two restarts a second apart share a name.
	if !strings.Contains(string(c.Spec), `"a":"site-5 + 1"`) {
		t.Error("the names of two restarts at once cover each other")
	}
	// 6 starts, 2 restarts and 1 kill cross the four panels; serving does not.
	if n := strings.Count(string(c.Spec), `"k":"OOM kill"`); n != 6 {
		t.Errorf("the kill stands %d times, want as a mark, a name and in four panels", n)
	}
	if n := strings.Count(string(c.Spec), `"k":"serving"`); n != 8 {
		t.Errorf("serving stands %d times, want only as marks and names of 4 apps", n)
	}
	if want := "Over 299\u00a0s: 6 × start, 4 × serving, 2 × restart, 1 × OOM kill. Swap in use reached 696\u00a0MB of 1,000\u00a0MB."; !strings.HasPrefix(c.Alt, want) {
		t.Errorf("text alternative %q, want it to begin with %q", c.Alt, want)
	}
}

// What could not be read is said and not drawn as 0.
func TestTimelineSaysWhatCouldNotBeRead(t *testing.T) {
	c := must(t)(Timeline(timelineInput()))
	if !strings.Contains(c.Note, "CPU of the plan (kswapd) could not be read") {
		t.Errorf("note: %s", c.Note)
	}
	if strings.Contains(string(c.Spec), `"s":"kswapd"`) {
		t.Error("kswapd is drawn")
	}
	blind := TimelineInput{ID: "t", Points: make([]TimelinePoint, 3)}
	for i := range blind.Points {
		blind.Points[i] = TimelinePoint{T: float64(i), Anon: -1, File: -1, Slab: -1, Other: -1, Free: -1, SwapUsed: -1, PSISome: -1, PSIFull: -1, AppsCPU: -1, PlatformCPU: -1, KswapdCPU: -1}
	}
	if _, err := Timeline(blind); !errors.Is(err, errNothingToDraw) {
		t.Errorf("nothing could be read: %v", err)
	}
}

func TestTimelineBinsKeepPeaks(t *testing.T) {
	points := make([]TimelinePoint, 5000)
	for i := range points {
		points[i].T = float64(i)
	}
	points[1234].PSIFull, points[3210].KswapdCPU = 91, 77
	out := binnedTimeline(points)
	var full, kswapd float64
	for _, p := range out {
		full, kswapd = max(full, p.PSIFull), max(kswapd, p.KswapdCPU)
	}
	if len(out) != maxPoints || full != 91 || kswapd != 77 || out[len(out)-1].T != 4999 {
		t.Errorf("%d points, peaks %v and %v, the last at %v; want 240, 91, 77 and 4999", len(out), full, kswapd, out[len(out)-1].T)
	}
}
