package evidence

import (
	"fmt"
	"strings"
	"testing"
)

// In the form of sysstat 12 (sar -u -r -S -W -q -B), columns as sar(1) has them: the
// machine has 2,000,000 KiB, of which 1,000,000 are 50 %; it swaps in the last ten
// minutes and did nothing in those before.
const sarText = `Linux 5.15.0-100-generic (web1) 	2026-01-15 	_x86_64_	(2 CPU)

10:00:01        CPU     %user     %nice   %system   %iowait    %steal     %idle
10:10:01        all      1.00      0.00      1.00      0.00      0.00     98.00
10:10:01          0      2.00      0.00      1.00      0.00      0.00     97.00
10:20:01        all     10.00      1.00     20.00     60.00      2.00      7.00
Average:        all      5.50      0.50     10.50     30.00      1.00     52.50

10:00:01    kbmemfree   kbavail kbmemused  %memused kbbuffers  kbcached  kbcommit   %commit  kbactive   kbinact   kbdirty
10:10:01       900000   1500000    500000     25.00     10000    500000    900000     30.00    100000    100000       100
10:20:01        80000     60000   1000000     50.00      1000     90000   3000000     97.00    900000    100000        12

10:00:01    kbswpfree kbswpused  %swpused  kbswpcad   %swpcad
10:20:01       100000    900000     90.00     50000      5.56

10:00:01     pswpin/s pswpout/s
10:10:01         0.00      0.00
10:20:01      1500.50   1800.25

10:00:01      runq-sz  plist-sz   ldavg-1   ldavg-5  ldavg-15   blocked
10:20:01            3       180      9.50      8.20      4.10        11

10:00:01     pgpgin/s pgpgout/s   fault/s  majflt/s  pgfree/s pgscank/s pgscand/s pgsteal/s    %vmeff
10:20:01      9000.00   7300.00   5000.00    900.00   4000.00   2500.00   1200.00   1100.00     29.73
`

func TestSar(t *testing.T) {
	c := readFile(t, "sar.txt", sarText)
	wantWhole(t, c)
	if len(c.Activities) != 1 || len(c.Readings) != 1 || !strings.HasPrefix(c.Inputs[0].Note, "3 rows are more than ten minutes before") {
		t.Fatalf("%d activities, %d readings, %+v", len(c.Activities), len(c.Readings), c.Inputs)
	}
	a := &c.Activities[0]
	if a.Tool != "sar" || a.SinceBoot {
		t.Errorf("%+v", a)
	}
	wantValue(t, "lasted", a.Seconds, 600, Seconds, "sar.txt:6")
	wantValue(t, "user", a.User, 11, Percent, "")
	wantValue(t, "iowait", a.IOWait, 60, Percent, "sar.txt:6 %iowait")
	wantValue(t, "swap in", a.SwapIn, 1500.5, "pages/s", "sar.txt:18 pswpin/s")
	wantValue(t, "swap out", a.SwapOut, 1800.25, "pages/s", "sar.txt:18 pswpout/s")
	wantValue(t, "blocked", a.Blocked, 11, Events, "sar.txt:21 blocked")
	wantValue(t, "scan", a.ScanDirect, 1200, "pages/s", "sar.txt:24 pgscand/s")
	wantValue(t, "read", a.BlockIn, 9000, "KiB/s", "sar.txt:24 pgpgin/s")
	m := &c.Last().Meminfo
	wantValue(t, "total", m.MemTotal, 2_000_000<<10, Bytes, "sar.txt:11 kbmemused")
	wantValue(t, "available", m.MemAvailable, 60_000<<10, Bytes, "sar.txt:11 kbavail")
	wantValue(t, "swap", m.SwapTotal, 1_000_000<<10, Bytes, "sar.txt:14 kbswpfree")
	wantValue(t, "CPUs", c.Last().Machine.CPUs, 2, Events, "sar.txt:1")
	wantValue(t, "load", c.Last().Machine.Load1, 9.5, NoUnit, "sar.txt:21 ldavg-1")
}

// With an interval of a second, twelve hours, and the line about the machine cut
// off: all rows are about now. Midnight lies between two of them.
func TestSarInSecondsOverMidnight(t *testing.T) {
	c := readFile(t, "x", "11:59:58 PM  pswpin/s pswpout/s\n11:59:59 PM      1.00      2.00\n12:00:00 AM      3,00      4,00\n12:00:01 AM      5.00      6.00\nAverage:         3.00      4.00\n")
	wantWhole(t, c)
	if len(c.Activities) != 3 {
		t.Fatalf("%+v", c.Activities)
	}
	wantValue(t, "with a comma", c.Activities[1].SwapIn, 3, "pages/s", "x:3 pswpin/s")
	for i := range c.Activities {
		wantValue(t, "lasted", c.Activities[i].Seconds, 1, Seconds, "")
	}
}

// sar -A has sections that are not read, some with as many columns.
func TestSarOfOtherSections(t *testing.T) {
	c := readFile(t, "x", "10:00:01     pswpin/s pswpout/s\n10:01:01         1.00      2.00\n\n10:00:01       proc/s   cswch/s\n10:01:01        77.00   9999.00\n\n"+
		"10:00:01        IFACE   rxpck/s   txpck/s\n10:01:01         eth0      1.00      2.00\n\n10:00:01      runq-sz  plist-sz   ldavg-1   ldavg-5  ldavg-15   blocked\n10:01:01            3       180      9.50      8.20      4.10        11\n")
	if len(c.Activities) != 1 {
		t.Fatalf("%+v", c.Activities)
	}
	wantValue(t, "swap in", c.Activities[0].SwapIn, 1, "pages/s", "x:2 pswpin/s")
	wantValue(t, "blocked", c.Activities[0].Blocked, 11, Events, "x:11 blocked")
}

// What was before a restart is of another boot.
func TestSarOverARestart(t *testing.T) {
	c := readFile(t, "x", "10:00:01     pswpin/s pswpout/s\n10:01:01      1500.50   1800.25\n\n10:02:00     LINUX RESTART\t(2 CPU)\n\n10:02:00     pswpin/s pswpout/s\n10:03:01         0.00      0.00\n")
	if len(c.Activities) != 1 {
		t.Fatalf("%+v", c.Activities)
	}
	wantValue(t, "swap in", c.Activities[0].SwapIn, 0, "pages/s", "x:7 pswpin/s")
	wantValue(t, "lasted", c.Activities[0].Seconds, 61, Seconds, "")
}

func FuzzSar(f *testing.F) { fuzzFile(f, "sar.txt", sarText) }

// A day of rows at one a second is more than is kept: the last ten minutes of it
// are judged, and the same ten minutes of the day before are not.
func TestSarOfTwoDaysInSeconds(t *testing.T) {
	var text strings.Builder
	text.WriteString("00:00:00     pswpin/s pswpout/s\n")
	for second := 1; second <= 2*86400; second++ {
		day, of := second/86400, second%86400
		fmt.Fprintf(&text, "%02d:%02d:%02d         %d.00      0.00\n", of/3600, of/60%60, of%60, 1000*day)
	}
	c := readFile(t, "sar.txt", text.String())
	if len(c.Activities) != 600 {
		t.Fatalf("%d activities, want those of 600 s", len(c.Activities))
	}
	wantValue(t, "the oldest", c.Activities[0].SwapIn, 1000, "pages/s", "")
	wantValue(t, "the last", c.Activities[599].SwapIn, 2000, "pages/s", "")
	if note := c.Inputs[0].Note; !strings.HasPrefix(note, "172200 rows") {
		t.Errorf("the note is %q, want 172800 - 600 rows", note)
	}
}
