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
		t.Fatalf("%d panels, want marks, memory, swap, pressure and CPU; kswapd's could not be read", len(s.VConcat))
	}
	if n := strings.Count(string(c.Spec), `"domain":[0,299]`); n < 10 {
		t.Errorf("the axis from 0 to 299 s stands %d times, want it in every layer of every panel", n)
	}
	// Only the last panel has an axis with numbers, and all of its layers agree.
	for i, v := range s.VConcat {
		for _, l := range v.Layer {
			x, _ := l.Encoding["x"].(map[string]any)
			if bare := x["axis"] != nil; bare == (i == len(s.VConcat)-1) {
				t.Errorf("panel %d: axis %v", i, x)
			}
		}
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
	if !strings.Contains(c.Note, "CPU of kswapd could not be read") {
		t.Errorf("note: %s", c.Note)
	}
	if strings.Contains(string(c.Spec), "kswapd") {
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

// A reader must see each peak and each dip, however short, and shares of memory
// that add up to all of it.
func TestTimelineBinsKeepExtremes(t *testing.T) {
	points := make([]TimelinePoint, 5000)
	for i := range points {
		points[i] = TimelinePoint{T: float64(i), Anon: 1000 + float64(i%700), PSIFull: 50, AppsCPU: 30, PSISome: -1}
		points[i].Free = 1855 - points[i].Anon
	}
	points[1234].PSIFull, points[3210].KswapdCPU, points[4000].AppsCPU = 91, 77, 2
	points[2222].Anon, points[2222].Free = 1850, 5
	out := binnedTimeline(points)
	full, kswapd, apps, free := 0.0, 0.0, 100.0, 1855.0
	for i, p := range out {
		full, kswapd, apps, free = max(full, p.PSIFull), max(kswapd, p.KswapdCPU), min(apps, p.AppsCPU), min(free, p.Free)
		if p.Anon+p.Free != 1855 || p.PSISome != -1 {
			t.Fatalf("point %d: %v MB and pressure %v", i, p.Anon+p.Free, p.PSISome)
		}
		if i > 0 && p.T < out[i-1].T {
			t.Fatalf("point %d lies before the one before it", i)
		}
	}
	if len(out) != maxPoints || full != 91 || kswapd != 77 || apps != 2 || free != 5 || out[0].T != 0 || out[len(out)-1].T != 4999 {
		t.Errorf("%d points from %v to %v; pressure %v, kswapd %v, apps %v, free %v; want 240 from 0 to 4999, 91, 77, 2 and 5", len(out), out[0].T, out[len(out)-1].T, full, kswapd, apps, free)
	}
}
