package evidence

import (
	"bytes"
	"strings"
)

var (
	topCPU   = expression(`^(?:%?Cpu\(s\):|CPU: +\d+% usr )`) // of procps, and of BusyBox
	topShare = expression(`([\d.,]+)[ %]*(sirq|irq|us|sy|ni|id|io|wa|hi|si|st)`)
	topTasks = expression(`^(?:Tasks|Threads): +(\d+) total, +(\d+) running, +(\d+) sleeping, +(\d+) stopped, +(\d+) zombie`)
)

// parseTop reads what top prints in batch mode, in whole or in part. The shares of
// its first iteration are since the boot, or since a process began, so that they
// say nothing of now where a later one follows.
//
// https://man7.org/linux/man-pages/man1/top.1.html
// https://gitlab.com/procps-ng/procps/-/blob/master/src/top/top.c (the first
// frame has nothing to compare with)
func (b *builder) parseTop(f *file) bool {
	if len(f.data) > 8<<20 {
		return false
	}
	t := topFrames{file: f.name, r: emptyReading(listenersOnly + readingOf(f.name))}
	n := 0
	for line := range bytes.Lines(f.data) {
		n++
		t.line(n, strings.TrimSpace(string(line[:min(len(line), 4096)])))
	}
	if !t.found {
		return false
	}
	t.first()
	for i := range t.frames {
		b.c.Activities = append(b.c.Activities, t.frames[i].activity...)
	}
	b.c.Processes = append(b.c.Processes, t.processes()...)
	if t.r.Meminfo.MemTotal.Known || t.r.Machine.Load1.Known {
		b.c.Readings = append(b.c.Readings, t.r)
	}
	note := ""
	if len(t.frames) > 1 {
		note = "the CPU's shares of its first iteration are since the boot"
	}
	b.input(f, "top", note)
	return true
}

// topFrames is what was read of top so far.
type topFrames struct {
	file    string
	r       Reading // memory and load, of the last iteration that has them
	frames  []topFrame
	heading []string
	found   bool
}

// topFrame is one iteration.
type topFrame struct {
	activity  []Activity // one, or none where the line is not there
	processes []Process
}

// frame is the iteration that is read.
func (t *topFrames) frame() *topFrame {
	if len(t.frames) == 0 {
		t.frames = append(t.frames, topFrame{})
	}
	return &t.frames[len(t.frames)-1]
}

func (t *topFrames) line(n int, text string) {
	at := Source{File: t.file, Line: n}
	switch {
	case strings.HasPrefix(text, "top") && loadAverages(&t.r.Machine, at, text):
		t.found = true
		if len(t.frames) < mostListed {
			t.frames = append(t.frames, topFrame{})
		}
	case topCPU().MatchString(text):
		t.found = true
		if len(t.frame().activity) > 0 && len(t.frames) < mostListed { // lines that grep has picked
			t.frames = append(t.frames, topFrame{})
		}
		t.frame().activity = []Activity{topActivity(at, text)}
	case topMemoryLine(&t.r.Meminfo, at, text), busyboxMemory(&t.r.Meminfo, at, text):
	case busyboxLoad(&t.r.Machine, at, text):
		t.found = true
	case topTasks().MatchString(text):
		t.found = true
	case strings.HasPrefix(text, "PID "):
		t.heading = strings.Fields(text)
	case t.found && len(t.frame().processes) < mostListed:
		if p, ok := topProcess(t.file, n, t.heading, strings.Fields(text)); ok {
			t.frame().take(p)
		}
	}
}

// take takes in a process, and gives the activity what it says of kswapd.
func (t *topFrame) take(p Process) {
	t.processes = append(t.processes, p)
	if !strings.HasPrefix(p.Name, "kswapd") || len(t.activity) == 0 {
		return
	}
	a := &t.activity[0]
	if a.Kswapd.Known {
		a.Kswapd = a.Kswapd.Plus(p.CPU)
	} else {
		a.Kswapd = p.CPU
	}
}

// first marks what the first iteration tells as of the time since the boot, where
// there is a later one.
func (t *topFrames) first() {
	if len(t.frames) < 2 {
		return
	}
	for i := range t.frames[0].activity {
		t.frames[0].activity[i].SinceBoot = true
	}
	for i := range t.frames[0].processes {
		p := &t.frames[0].processes[i]
		p.CPU = Missing(CannotTell, "the share of top's first iteration is since the process began", p.CPU.From...)
	}
}

// processes are those of the last iteration that lists any.
func (t *topFrames) processes() []Process {
	for i := len(t.frames) - 1; i >= 0; i-- {
		if len(t.frames[i].processes) > 0 {
			return t.frames[i].processes
		}
	}
	return nil
}

// share takes in one of the shares of the CPUs' time, by the name that top or
// iostat has for it. The user's comes before what is added to it.
func (a *Activity) share(name string, v Value) {
	switch name {
	case "us", "user":
		a.User = v
	case "ni", "nice":
		a.User = a.User.Plus(v)
	case "sy", "system":
		a.System = v
	case "hi", "si", "irq", "sirq":
		a.System = a.System.Plus(v)
	case "id", "idle":
		a.Idle = v
	case "wa", "io", "iowait":
		a.IOWait = v
	case "st", "steal":
		a.Steal = v
	}
}

func topActivity(at Source, text string) Activity {
	a := emptyActivity("top", at)
	for _, m := range topShare().FindAllStringSubmatch(text, -1) {
		at.Field = m[2]
		v := parsedNumber(strings.Replace(m[1], ",", ".", 1), Percent, at)
		a.share(m[2], v)
	}
	return a
}

// topProcess reads "PID USER PR NI VIRT RES SHR S %CPU %MEM TIME+ COMMAND",
// where an excerpt has no heading.
func topProcess(file string, n int, heading, words []string) (Process, bool) {
	if len(heading) == 0 {
		heading = []string{"PID", "USER", "PR", "NI", "VIRT", "RES", "SHR", "S", "%CPU", "%MEM", "TIME+", "COMMAND"}
	}
	if len(words) < len(heading)-1 || len(words) == 0 || !isPID(words[0]) {
		return Process{}, false
	}
	p := Process{From: Source{File: file, Line: n}}
	for i, h := range heading[:min(len(heading), len(words))] {
		at := Source{File: file, Line: n, Field: h}
		switch h {
		case "PID":
			p.PID = atoi(words[i])
		case "S":
			p.State = shorten(words[i])
		case "STAT": // BusyBox
			p.State = words[i][:1]
		case "%CPU":
			if strings.HasSuffix(words[i], "%") {
				p.CPU = Missing(CannotTell, "BusyBox has shares of all CPUs", at)
				break
			}
			p.CPU = parsedNumber(strings.Replace(words[i], ",", ".", 1), Percent, at)
		case "RES":
			p.RSS = topSize(words[i], at)
		case "COMMAND":
			p.Name = strings.Trim(shorten(words[i]), "[]")
		}
	}
	if p.Name == "" {
		// Some versions print %CPU and %MEM in one column of an excerpt.
		p.Name = strings.Trim(shorten(words[len(words)-1]), "[]")
	}
	return p, p.PID > 0
}

// topSize reads KiB, or an amount with a suffix: "1.2g".
func topSize(text string, from Source) Value {
	for suffix, factor := range map[string]float64{"m": 1 << 20, "g": 1 << 30, "t": 1 << 40} {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			return parsedNumber(strings.Replace(number, ",", ".", 1), Bytes, from).Times(factor, Bytes)
		}
	}
	return parsedNumber(text, Bytes, from).Times(1024, Bytes)
}
