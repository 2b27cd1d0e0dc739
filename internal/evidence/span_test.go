package evidence

import (
	"testing"
	"time"
)

func pswpin(r *Reading) Value { return r.Vmstat.Pswpin }

func TestRatesNeedTwoReadingsAndTheTimeBetween(t *testing.T) {
	one := readFiles(t, map[string]string{"proc/vmstat": "pswpin 163021\n"})
	wantMissing(t, "one reading", one.Rate(pswpin), OneReading)

	files := map[string]string{"t0/proc/vmstat": "pswpin 163021\n", "t1/proc/vmstat": "pswpin 248242\n"}
	c := readFiles(t, files)
	wantMissing(t, "no time", c.Rate(pswpin), NoInterval)
	wantValue(t, "delta", c.Delta(pswpin), 85221, Pages, "t1/proc/vmstat:1 pswpin")

	files["dt_s"] = "203\n"
	c = readFiles(t, files)
	wantValue(t, "rate", c.Rate(pswpin), 85221.0/203, "pages/s", "t1/proc/vmstat:1 pswpin")
	if !c.Has(HasSwapRate) || c.Has(HasRefaultRate) {
		t.Error("there is a rate of swapping and none of refaults")
	}

	delete(files, "dt_s")
	files["t0/proc/uptime"], files["t1/proc/uptime"] = "1697.00 1.00\n", "1900.00 2.00\n"
	wantValue(t, "by uptime", readFiles(t, files).Rate(pswpin), 85221.0/203, "pages/s", "")
}

func TestACounterThatFellWasReset(t *testing.T) {
	c := readFiles(t, map[string]string{"dt_s": "10", "t0/proc/vmstat": "pswpin 9\n", "t1/proc/vmstat": "pswpin 3\n"})
	wantMissing(t, "rate", c.Rate(pswpin), Reset)
}

func TestAFrozenSourceHasNoRates(t *testing.T) {
	files := map[string]string{"dt_s": "60"}
	for _, r := range []string{"t0", "t1"} {
		files[r+"/proc/uptime"] = "124.08 932.80\n"
		files[r+"/proc/vmstat"] = "pswpin 0\npgfault 176973\n"
	}
	c := readFiles(t, files)
	if !c.Readings[0].Frozen || !c.Readings[1].Frozen {
		t.Fatal("a source whose uptime stands still is frozen")
	}
	wantMissing(t, "rate", c.Rate(pswpin), Frozen)
	if c.Has(HasSwapRate) {
		t.Error("a frozen source tells no rate")
	}
}

func TestAMachineWithoutSwapTrafficIsNotFrozen(t *testing.T) {
	c := readFiles(t, map[string]string{"dt_s": "60", "t0/proc/vmstat": "pswpin 5\n", "t1/proc/vmstat": "pswpin 5\n"})
	wantValue(t, "rate", c.Rate(pswpin), 0, "pages/s", "")
}

func TestReadingsAreInTheOrderOfTheirNumbers(t *testing.T) {
	files := map[string]string{}
	for _, r := range []string{"t0", "t2", "t10"} {
		files["x/"+r+"/proc/vmstat"] = "pswpin " + r[1:] + "\n"
	}
	c := readFiles(t, files)
	got := []string{c.Readings[0].Name, c.Readings[1].Name, c.Readings[2].Name}
	if got[0] != "t0" || got[1] != "t2" || got[2] != "t10" {
		t.Errorf("order: %v", got)
	}
	if len(c.Spans()) != 2 {
		t.Errorf("%d spans", len(c.Spans()))
	}
}

func TestSharesOfTheCPU(t *testing.T) {
	// user nice system idle iowait irq softirq steal, in ticks of 10 ms: of the
	// 1,000 ticks in between 100 + 50, 200 + 10 + 40, 500, 80, 20.
	c := readFiles(t, map[string]string{
		"dt_s": "10", "t0/proc/stat": "cpu  1000 0 1000 1000 100 0 0 0 0 0\n", "t1/proc/stat": "cpu  1100 50 1200 1500 180 10 40 20 0 0\n",
	})
	a := c.Activities[0]
	wantValue(t, "user", a.User, 15, Percent, "")
	wantValue(t, "system", a.System, 25, Percent, "")
	wantValue(t, "idle", a.Idle, 50, Percent, "")
	wantValue(t, "wait", a.IOWait, 8, Percent, "")
	wantValue(t, "steal", a.Steal, 2, Percent, "")
}

func TestWhatStandsBesideTheReadingsIsOfTheLast(t *testing.T) {
	c := readFiles(t, map[string]string{"proc/meminfo": "MemTotal: 5 kB\n", "t0/proc/vmstat": "pswpin 1\n", "t1/proc/vmstat": "pswpin 1\n"})
	if len(c.Readings) != 2 || c.First().Meminfo.MemTotal.Known || !c.Last().Meminfo.MemTotal.Known {
		t.Errorf("readings: %d", len(c.Readings))
	}
}

func TestValues(t *testing.T) {
	a, b := Known(30, Bytes, Source{File: "a"}), Known(120, Bytes, Source{File: "b"})
	wantValue(t, "share", a.PercentOf(b), 25, Percent, "a")
	wantMissing(t, "share of nothing", a.PercentOf(Known(0, Bytes)), Implausible)
	missing := Missing(Denied, "x")
	wantMissing(t, "sum", a.Plus(missing), Denied)
	wantMissing(t, "difference", missing.Minus(a), Denied)
	for name, yes := range map[string]bool{
		"at least": missing.AtLeast(0), "above": missing.Above(-1), "at most": missing.AtMost(1), "below": missing.Below(1),
	} {
		if yes {
			t.Errorf("what is missing compares: %s", name)
		}
	}
	if got := len(a.Plus(a).Plus(a).From); got != 1 {
		t.Errorf("a source is named %d times", got)
	}
	for want, s := range map[string]Source{"a:3 b": {"a", 3, "b"}, "a b": {"a", 0, "b"}, "a:3": {"a", 3, ""}, "b": {"", 0, "b"}} {
		if s.String() != want {
			t.Errorf("%q, want %q", s, want)
		}
	}
}

func TestUnseenNamesTheReason(t *testing.T) {
	c := &Case{Gaps: []Gap{{What: HasKernelLog, Why: Denied, Detail: "not root"}}}
	for _, g := range c.Unseen() {
		want := NotSeen
		if g.What == HasKernelLog {
			want = Denied
		}
		if g.Why != want {
			t.Errorf("%s: %s, want %s", g.What, g.Why, want)
		}
	}
	if len(c.Unseen()) != len(Signals()) {
		t.Error("of an empty case nothing is seen")
	}
}

func TestIntervalCoversEverythingWithATime(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := &Case{Events: []Event{{}, {At: at}}, Series: []Series{{Points: []Point{{At: at.Add(time.Hour)}}}}}
	if from, to := c.Interval(); !from.Equal(at) || !to.Equal(at.Add(time.Hour)) {
		t.Errorf("from %v to %v", from, to)
	}
}
