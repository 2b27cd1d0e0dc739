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

func TestBundlesOfANewerLayoutAreRefused(t *testing.T) {
	c := readFiles(t, map[string]string{"case.json": strings.Replace(bundleText, `"brink_bundle":1`, `"brink_bundle":2`, 1)})
	if len(c.Strangers) != 1 || !strings.Contains(c.Strangers[0].Why, "version 2") || len(c.Pools) > 0 {
		t.Errorf("strangers: %+v", c.Strangers)
	}
}

func FuzzBundle(f *testing.F) { fuzzFile(f, "case.json", bundleText) }

func FuzzReadingOfABundle(f *testing.F) { fuzzFile(f, "t0/reading.json", readingText) }
