package evidence

import (
	"bytes"
	"strings"
)

// vmstatUnit is the option that says in what vmstat has memory and swap, where the
// command stands with what it printed.
var vmstatUnit = expression(`\bvmstat\b.* (?:-\w*S|--unit)[ =]?([kKmM])`)

// parseVmstatTool reads the program vmstat. Its first line holds averages since
// boot; si and so are in KiB/s unless -S says otherwise, which no column tells.
//
// https://man7.org/linux/man-pages/man8/vmstat.8.html
func (b *builder) parseVmstatTool(f *file) bool {
	head := f.data[:min(len(f.data), 4<<10)]
	if !bytes.Contains(head, []byte("procs")) || !bytes.Contains(head, []byte(" swpd ")) {
		return false
	}
	var columns []string
	unit := ""
	if m := vmstatUnit().FindStringSubmatch(f.name); m != nil {
		unit = m[1]
	}
	first, n, found := true, 0, false
	for line := range bytes.Lines(f.data) {
		n++
		words := strings.Fields(string(line[:min(len(line), 1024)]))
		switch {
		case len(words) > 4 && words[0] == "r" && words[1] == "b":
			columns = words
			continue
		case len(words) == 0 || len(columns) == 0 || !numeric(words[0]):
			continue
		}
		a := vmstatRow(f.name, n, columns, words)
		vmstatSwap(&a, unit, vmstatMemory(f.name, n, columns, words))
		a.SinceBoot, first = first, false
		if len(b.c.Activities) < mostListed {
			b.c.Activities = append(b.c.Activities, a)
		}
		found = true
	}
	if !found {
		return false
	}
	b.input(f, "vmstat", "its first line is the average since boot")
	return true
}

// vmstatMemory adds up the columns of memory.
func vmstatMemory(file string, n int, columns, words []string) Value {
	sum := Known(0, NoUnit)
	for i, c := range columns[:min(len(columns), len(words))] {
		switch c {
		case "swpd", "free", "buff", "cache", "inact", "active":
			sum = sum.Plus(parsedNumber(words[i], NoUnit, Source{File: file, Line: n, Field: c}))
		}
	}
	return sum
}

// vmstatSwap gives the columns of swap their unit. Where nothing tells it, and what
// is in memory and swap would be less than any machine has that swaps if it were in
// KiB, they may be MiB, and are not taken for a thousandth of what they are.
func vmstatSwap(a *Activity, unit string, memory Value) {
	const leastKiB = 64 << 10
	for _, v := range []*Value{&a.SwapIn, &a.SwapOut} {
		switch {
		case unit == "m":
			*v = v.Times(1e6/1024, v.Unit)
		case unit == "M":
			*v = v.Times(1024, v.Unit)
		case unit == "k":
			*v = v.Times(1000.0/1024, v.Unit)
		case unit == "" && v.Above(0) && memory.Below(leastKiB):
			*v = Missing(CannotTell, "it may be in MiB/s (vmstat -S M), by how little memory there is", v.From...)
		}
	}
}

func vmstatRow(file string, n int, columns, words []string) Activity {
	value := func(column string, unit Unit) Value {
		from := Source{File: file, Line: n, Field: column}
		for i, c := range columns {
			if c == column && i < len(words) {
				return parsedNumber(words[i], unit, from)
			}
		}
		return Missing(Absent, "vmstat does not have the column", from)
	}
	none := Missing(Absent, "vmstat does not tell", Source{File: file, Line: n})
	return Activity{
		Tool: "vmstat", From: Source{File: file, Line: n},
		Seconds: Missing(NoInterval, "vmstat does not say how long a line stands for", Source{File: file, Line: n}),
		User:    value("us", Percent), System: value("sy", Percent), Idle: value("id", Percent), IOWait: value("wa", Percent), Steal: value("st", Percent),
		SwapIn: value("si", KiB.PerSecond()), SwapOut: value("so", KiB.PerSecond()),
		BlockIn: value("bi", KiB.PerSecond()), BlockOut: value("bo", KiB.PerSecond()),
		Runnable: value("r", Events), Blocked: value("b", Events),
		Kswapd: none, ScanKswapd: none, ScanDirect: none, Refault: none,
	}
}
