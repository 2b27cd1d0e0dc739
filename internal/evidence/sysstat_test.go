package evidence

import "testing"

// The columns are those of iostat(1), pidstat(1) and mpstat(1) of sysstat 12; the
// figures are made up.
const (
	iostatText = `Linux 5.15.0-105-generic (web1) 	01/15/2026 	_x86_64_	(2 CPU)

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           3,11    0,00    1,02    0,55    0,10   95,22

Device            r/s     rkB/s   w/s     wkB/s  aqu-sz  %util
sda              1,20     22,10  2,10     33,00    0,01   0,40

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           4,04    1,00    9,09   84,86    0,00    1,01

Device            r/s     rkB/s   w/s     wkB/s  aqu-sz  %util
sda            812,00  41200,00 410,00  36400,00  30,40 100,00
`
	pidstatText = `Linux 5.15.0-105-generic (web1) 	01/15/2026 	_x86_64_	(2 CPU)

10:00:01      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
10:00:02     1000      4411   66.04    2.97    0.00    0.99   69.01     1  node
10:00:02        0        71    0.00   12.87    0.00    0.00   12.87     0  kswapd0

10:00:01      UID       PID  minflt/s  majflt/s     VSZ     RSS   %MEM  Command
10:00:02     1000      4411      0.99    320.00  612345   81234   4.00  node

10:00:01      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command
10:00:02     1000      4411      0.00      3.96      0.00       0  node

10:00:02      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
10:00:03     1000      4411   97.00    2.00    0.00    1.00   99.00     1  node

Average:      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
Average:     1000      4411   81.52    2.49    0.00    1.00   84.00     -  node
`
	pidstatInOne = `Linux 5.15.0-105-generic (web1) 	01/15/2026 	_x86_64_	(2 CPU)

# Time        UID       PID    %usr %system  %guest   %wait    %CPU   CPU  minflt/s  majflt/s     VSZ     RSS   %MEM  Command
10:00:02     1000      4411   96.04    2.97    0.00    0.99   99.01     1      0.99      0.00  612345   81234   4.00  node
`
	pidstatOnce = `Linux 5.15.0-105-generic (web1) 	01/15/2026 	_x86_64_	(2 CPU)

10:00:01 AM   UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
10:00:01 AM  1000      4411   66.04    2.97    0.00    0.99   69.01     1  node
`
	mpstatOnce = `Linux 5.15.0-105-generic (web1) 	01/15/2026 	_x86_64_	(2 CPU)

10:00:01     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
10:00:01     all    4.04    0.00    9.09   85.86    0.00    0.00    0.00    0.00    0.00    1.01
`
)

func TestIostat(t *testing.T) {
	c := readFile(t, "iostat.txt", iostatText)
	wantWhole(t, c)
	if len(c.Activities) != 2 || !c.Activities[0].SinceBoot || c.Activities[1].SinceBoot {
		t.Fatalf("%+v", c.Activities)
	}
	a := &c.Activities[1]
	wantValue(t, "user", a.User, 5.04, Percent, "iostat.txt:10 %user")
	wantValue(t, "system", a.System, 9.09, Percent, "iostat.txt:10 %system")
	wantValue(t, "wait", a.IOWait, 84.86, Percent, "iostat.txt:10 %iowait")
	wantValue(t, "idle", a.Idle, 1.01, Percent, "iostat.txt:10 %idle")
	wantMissing(t, "swap", a.SwapIn, Absent)
	wantValue(t, "CPUs", c.Last().Machine.CPUs, 2, Events, "iostat.txt:1")
}

func TestPidstat(t *testing.T) {
	for name, text := range map[string]string{"sections": pidstatText, "in one": pidstatInOne} {
		c := readFile(t, "pidstat.txt", text)
		wantWhole(t, c)
		p := &c.Processes[0]
		if p.PID != 4411 || p.Name != "node" || c.Inputs[0].As != "pidstat" {
			t.Errorf("%s: %+v", name, p)
		}
		wantValue(t, name+" memory", p.RSS, 81234<<10, Bytes, "")
	}
	c := readFile(t, "pidstat.txt", pidstatText)
	if len(c.Processes) != 2 {
		t.Fatalf("%+v", c.Processes)
	}
	wantValue(t, "the last look", c.Processes[0].CPU, 99, Percent, "pidstat.txt:14 %CPU")
	wantValue(t, "kswapd", c.Processes[1].CPU, 12.87, Percent, "pidstat.txt:5 %CPU")
	wantMissing(t, "without an interval", readFile(t, "pidstat.txt", pidstatOnce).Processes[0].CPU, CannotTell)
}

// mpstat(1): without an interval it is the mean since the boot, which is no rate.
func TestMpstatWithoutAnInterval(t *testing.T) {
	c := readFile(t, "mpstat.txt", mpstatOnce)
	if len(c.Activities) != 1 || !c.Activities[0].SinceBoot || c.Has(HasCPURate) {
		t.Errorf("%+v", c.Activities)
	}
}

func FuzzIostat(f *testing.F) { fuzzFile(f, "iostat.txt", iostatText) }

func FuzzPidstat(f *testing.F) {
	fuzzFile(f, "pidstat.txt", pidstatText, pidstatInOne, pidstatOnce, mpstatOnce)
}
