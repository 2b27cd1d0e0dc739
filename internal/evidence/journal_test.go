package evidence

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

const (
	journalKill  = "Memory cgroup out of memory: Killed process 4411 (ingest) total-vm:2210304kB, anon-rss:519204kB, file-rss:2040kB, shmem-rss:0kB, UID:1000 pgtables:1200kB oom_score_adj:0"
	journalEvent = "oom kill pid=4411 comm=ingest anon=5.31664896e+08 global=no"
	journalDated = "2026-01-15T10:00:02 " + journalEvent
)

// One kill in the forms of journalctl(1) (-o) and dmesg(1) (-T, -x, -d, -e,
// --time-format, --json). Those with a date of their own have its time.
var journalForms = map[string]struct{ text, event string }{
	"short":           {"Jan 15 10:00:02 web1 kernel: " + journalKill, journalEvent},
	"short-iso":       {"2026-01-15T10:00:02+0000 web1 kernel: " + journalKill, journalDated},
	"short-full":      {"Thu 2026-01-15 10:00:02 UTC web1 kernel: " + journalKill, journalDated},
	"short-full zone": {"Thu 2026-01-15 11:00:02 +01 web1 kernel: " + journalKill, journalDated},
	"short-monotonic": {"[81234.512345] web1 kernel: " + journalKill, journalEvent},
	"short-delta":     {"[81234.512345 <    0.000012 >] web1 kernel: " + journalKill, journalEvent},
	"short-unix":      {"1768471202.123456 web1 kernel: " + journalKill, journalDated},
	"verbose": {"Thu 2026-01-15 10:00:02.123456 UTC [s=abc;i=12;b=def;m=1;t=2;x=3]\n    PRIORITY=3\n    _TRANSPORT=kernel\n    MESSAGE=" + journalKill + "\n    _HOSTNAME=web1\n" +
		"Thu 2026-01-15 10:00:03.123456 UTC [s=abc;i=13;b=def;m=1;t=2;x=3]\n    _TRANSPORT=stdout\n    MESSAGE=hello\n", journalDated},
	"export":      {"__CURSOR=s=abc;i=12\n__REALTIME_TIMESTAMP=1768471202123456\n__MONOTONIC_TIMESTAMP=81234512345\n_TRANSPORT=kernel\nMESSAGE=" + journalKill + "\n\n", journalDated},
	"json":        {`{"__REALTIME_TIMESTAMP":"1768471202123456","_TRANSPORT":"kernel","MESSAGE":"` + journalKill + `"}` + "\n" + `{"_TRANSPORT":"stdout","MESSAGE":"hello"}`, journalDated},
	"json-pretty": {"{\n\t\"__REALTIME_TIMESTAMP\" : \"1768471202123456\",\n\t\"_TRANSPORT\" : \"kernel\",\n\t\"MESSAGE\" : \"" + journalKill + "\"\n}\n{\n\t\"_TRANSPORT\" : \"stdout\",\n\t\"MESSAGE\" : \"hello\"\n}\n", journalDated},
	"dmesg -T":    {"[Thu Jan 15 10:00:02 2026] " + journalKill, journalDated},
	"dmesg -x":    {"kern  :err   : [81234.512345] " + journalKill, journalEvent},
	"dmesg -xT":   {"kern  :err   : [Thu Jan 15 10:00:02 2026] " + journalKill, journalDated},
	"dmesg -d":    {"[81234.512345 <    0.000012>] " + journalKill, journalEvent},
	"delta":       {"[<    0.000012>] " + journalKill, journalEvent},
	"dmesg -e":    {"[Jan15 10:00] " + journalKill + "\n[  +0.000012] oom_reaper: reaped process 4411 (ingest)", journalEvent},
	"dmesg -e 2":  {"[  +0.000012] " + journalKill, journalEvent},
	"iso":         {"2026-01-15T10:00:02,123456+00:00 " + journalKill, journalDated},
	"dmesg -J":    {"{\n   \"dmesg\": [\n      {\n         \"pri\": \"err\",\n         \"time\": 81234.512345,\n         \"msg\": \"" + journalKill + "\"\n      }\n   ]\n}\n", journalEvent},
}

func TestAKillInEveryFormOfTheJournalAndDmesg(t *testing.T) {
	for name, form := range journalForms {
		c := readFile(t, "x", form.text+"\n")
		wantWhole(t, c)
		c.Events = slices.DeleteFunc(c.Events, func(e Event) bool { return e.Kind == AppProgress })
		if len(c.Events) != 1 || eventLine(&c.Events[0]) != form.event {
			t.Errorf("%s: %d events", name, len(c.Events))
			wantEvents(t, c, form.event)
		}
		if len(c.Logs) != 1 || c.Logs[0].Origin != FromKernel {
			t.Errorf("%s: %+v", name, c.Logs)
		}
	}
}

// A time since boot is kept where the form has one, and none is invented.
func TestTimesSinceBootOfTheJournal(t *testing.T) {
	for _, name := range []string{"short-monotonic", "short-delta", "export", "dmesg -x", "dmesg -d", "dmesg -J"} {
		c := readFile(t, "x", journalForms[name].text+"\n")
		wantValue(t, name, c.Logs[0].Uptime, 81234.512345, Seconds, "")
	}
	for _, name := range []string{"delta", "dmesg -e", "dmesg -e 2", "json", "short-unix"} {
		c := readFile(t, "x", journalForms[name].text+"\n")
		wantMissing(t, name, c.Logs[0].Uptime, NotSeen)
	}
}

// What dmesg itself prints keeps its words: they may look like a machine's name and
// a program's.
func TestDmesgHasNoMachinesName(t *testing.T) {
	c := readFile(t, "x", "[   12.345678] TCP: request_sock_TCP: Possible SYN flooding on port 8000. Sending cookies.\n[   13.345678] usb 1-1: new high-speed USB device\n[   14.000000] systemd[1]: Inserted module 'autofs4'\n")
	wantEvents(t, c, "syn flood port=8000")
}

func FuzzJournal(f *testing.F) {
	var seeds []string
	for _, name := range slices.Sorted(maps.Keys(journalForms)) {
		seeds = append(seeds, journalForms[name].text+"\n")
	}
	fuzzFile(f, "x", append(seeds, strings.Join(seeds, ""))...)
}
