package evidence

import (
	"bytes"
	"strings"
)

var (
	topCPU   = expression(`^%?Cpu\(s\):`)
	topShare = expression(`([\d.,]+)[ %]*(us|sy|ni|id|wa|hi|si|st)`)
	topTasks = expression(`^(?:Tasks|Threads): +(\d+) total, +(\d+) running, +(\d+) sleeping, +(\d+) stopped, +(\d+) zombie`)
	topLoad  = expression(`load average: ([\d.]+), ([\d.]+), ([\d.]+)`)
)

// parseTop reads what top prints in batch mode, in whole or in part.
//
// https://man7.org/linux/man-pages/man1/top.1.html
func (b *builder) parseTop(f *file) bool {
	if len(f.data) > 8<<20 {
		return false
	}
	found, n := false, 0
	var heading []string
	memory := emptyReading("").Meminfo
	for line := range bytes.Lines(f.data) {
		n++
		text := strings.TrimSpace(string(line[:min(len(line), 4096)]))
		switch {
		case topCPU().MatchString(text):
			b.topActivity(f, n, text)
			found = true
		case topMemoryLine(&memory, Source{File: f.name, Line: n}, text):
		case topTasks().MatchString(text), topLoad().MatchString(text) && strings.HasPrefix(text, "top"):
			found = true
		case strings.HasPrefix(text, "PID "):
			heading = strings.Fields(text)
		case found && len(b.c.Processes) < mostEvents:
			if p, ok := topProcess(f.name, n, heading, strings.Fields(text)); ok {
				b.c.Processes = append(b.c.Processes, p)
				b.kswapdIn(p)
			}
		}
	}
	if found {
		if memory.MemTotal.Known {
			b.keepMemory(f, &memory)
		}
		b.input(f, "top", "")
	}
	return found
}

// kswapdIn gives the latest activity of top what it says of kswapd.
func (b *builder) kswapdIn(p Process) {
	a := &b.c.Activities
	if !strings.HasPrefix(p.Name, "kswapd") || len(*a) == 0 {
		return
	}
	last := &(*a)[len(*a)-1]
	if last.Tool != "top" {
		return
	}
	if last.Kswapd.Known {
		last.Kswapd = last.Kswapd.Plus(p.CPU)
	} else {
		last.Kswapd = p.CPU
	}
}

func (b *builder) topActivity(f *file, n int, text string) {
	at := Source{File: f.name, Line: n}
	none := Missing(Absent, "top does not tell", at)
	a := Activity{Tool: "top", From: at, Seconds: none, User: none, System: none, Idle: none, IOWait: none, Steal: none,
		SwapIn: none, SwapOut: none, BlockIn: none, BlockOut: none, Runnable: none, Blocked: none, Kswapd: none,
		ScanKswapd: none, ScanDirect: none, Refault: none}
	for _, m := range topShare().FindAllStringSubmatch(text, -1) {
		at.Field = m[2]
		v := parsedNumber(strings.Replace(m[1], ",", ".", 1), Percent, at)
		switch m[2] {
		case "us":
			a.User = v
		case "ni":
			a.User = a.User.Plus(v)
		case "sy":
			a.System = v
		case "hi", "si":
			a.System = a.System.Plus(v)
		case "id":
			a.Idle = v
		case "wa":
			a.IOWait = v
		case "st":
			a.Steal = v
		}
	}
	b.c.Activities = append(b.c.Activities, a)
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
		case "%CPU":
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
