package evidence

import (
	"strings"
	"testing"
)

const (
	bundleText = `{"brink_bundle":1,"began":"2026-01-01T00:00:00Z","ended":"2026-01-01T00:00:10Z","trigger":"load > 1","triggered":"2026-01-01T00:00:05Z",
"pools":[{"Name":"gunicorn app:app","Server":"gunicorn sync","Seen":"live","Workers":{"number":2,"known":true,"unit":"events"},"Busy":{"number":7,"known":false}}],
"gaps":[{"what":"kernel log","why":"denied","from":{"file":"/dev/kmsg"}}]}`
	readingText = `{"kind":"brink reading","at":"2026-01-01T00:00:10Z","root":false,"container":true,"view":"host","page_bytes":65536,"own_cgroup":"/a"}`
)

func TestBundle(t *testing.T) {
	c := readFiles(t, map[string]string{
		"case.json": bundleText, "t0/reading.json": readingText, "t0/proc/meminfo": "MemTotal: 5 kB\n",
		"t0/sys/fs/cgroup/a/memory.max": "max\n",
	})
	wantWhole(t, c)
	r := c.Last()
	if r.At.Format("15:04:05") != "00:00:10" || r.View != ViewHost || r.Machine.InContainer != Yes || r.Machine.Root != No {
		t.Errorf("reading: %+v", r.Machine)
	}
	wantValue(t, "page", r.Machine.PageBytes, 65536, Bytes, "t0/reading.json page_bytes")
	if g := r.Cgroup("/a"); g == nil || !g.Own || !g.Memory.Max.Unlimited {
		t.Errorf("cgroups: %+v", r.Cgroups)
	}
	wantValue(t, "workers", c.Pools[0].Workers, 2, Events, "")
	wantMissing(t, "busy", c.Pools[0].Busy, NotSeen)
	for _, g := range c.Unseen() {
		if g.What == HasKernelLog && g.Why != Denied {
			t.Errorf("the kernel's log: %+v", g)
		}
	}
}

// Bundles before had the names of the program's fields, a number for what is not
// known, and a time of the year 1 for a trigger that was not there. Both forms say
// the same.
func TestBundlesWithTheNamesBeforeAreRead(t *testing.T) {
	before := `{"brink_bundle":1,"began":"2026-01-01T00:00:00Z","ended":"2026-01-01T00:00:10Z","triggered":"0001-01-01T00:00:00Z","pools":[
{"Name":"a","Server":"gunicorn sync","Seen":"live","PID":7,"BusyAtLeast":{"number":3,"known":true,"unit":"events"},"QueuedShare":{"number":50,"known":true,"unit":"%"},
"Service":{"number":0,"known":false,"why":"cannot tell","detail":"it was not seen long enough"},
"Sockets":[{"Address":"/run/u.sock","Unix":true,"Queue":{"number":4,"known":true,"unit":"events"}}],"Waits":[{"Peer":"10.0.0.5:5432","Call":"recvfrom","Workers":3,"Sure":true}],
"Members":[{"Name":"worker","PID":8,"State":"busy","RSS":{"number":4096,"known":true,"unit":"bytes"}}]}]}`
	now := `{"brink_bundle":1,"began":"2026-01-01T00:00:00Z","ended":"2026-01-01T00:00:10Z","pools":[
{"name":"a","server":"gunicorn sync","seen":"live","pid":7,"busy_at_least":{"number":3,"unit":"events"},"queued_share":{"number":50,"unit":"%"},
"service":{"why":"cannot tell","detail":"it was not seen long enough"},
"sockets":[{"address":"/run/u.sock","unix":true,"queue":{"number":4,"unit":"events"}}],"waits":[{"peer":"10.0.0.5:5432","call":"recvfrom","workers":3,"sure":true}],
"members":[{"name":"worker","pid":8,"state":"busy","rss":{"number":4096,"unit":"bytes"}}]}]}`
	for name, text := range map[string]string{"before": before, "now": now} {
		c := readFile(t, "case.json", text)
		wantWhole(t, c)
		if len(c.Pools) != 1 || len(c.Pools[0].Members) != 1 || len(c.Pools[0].Sockets) != 1 || len(c.Pools[0].Waits) != 1 {
			t.Fatalf("%s: %+v", name, c.Pools)
		}
		p := &c.Pools[0]
		wantValue(t, name+": busy at least", p.BusyAtLeast, 3, Events, "")
		wantValue(t, name+": queued share", p.QueuedShare, 50, Percent, "")
		wantMissing(t, name+": service", p.Service, CannotTell)
		wantMissing(t, name+": oldest", p.Oldest, NotSeen)
		wantValue(t, name+": queue", p.Sockets[0].Queue, 4, Events, "")
		wantValue(t, name+": memory of a worker", p.Members[0].RSS, 4096, Bytes, "")
		if p.PID != 7 || p.Members[0].PID != 8 || !p.Sockets[0].Unix || !p.Waits[0].Sure || p.Waits[0].Workers != 3 || c.Inputs[0].Note != "" {
			t.Errorf("%s: %+v, %+v", name, p, c.Inputs)
		}
	}
}

func TestBundlesOfANewerLayoutAreRefused(t *testing.T) {
	c := readFiles(t, map[string]string{"case.json": strings.Replace(bundleText, `"brink_bundle":1`, `"brink_bundle":2`, 1)})
	if len(c.Strangers) != 1 || !strings.Contains(c.Strangers[0].Why, "version 2") || len(c.Pools) > 0 {
		t.Errorf("strangers: %+v", c.Strangers)
	}
}

func FuzzBundle(f *testing.F) {
	fuzzFile(f, "case.json", bundleText, `{"brink_bundle":1,"pools":[{"name":"a","seen":"live","busy":{"number":7},"members":[{"pid":3}]}]}`)
}

func FuzzReadingOfABundle(f *testing.F) { fuzzFile(f, "t0/reading.json", readingText) }
