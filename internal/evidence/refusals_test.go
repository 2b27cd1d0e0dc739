package evidence

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// /proc/meminfo has whole numbers of kB, below 2^64 (Documentation/filesystems/proc.rst).
func TestMeminfoThatCannotBe(t *testing.T) {
	c := readFiles(t, map[string]string{"meminfo": "MemTotal: -5 kB\nMemAvailable: 99999999999999999999999 kB\nMemFree: abc\nSwapTotal: 4 kB\n"})
	m := &c.Last().Meminfo
	wantMissing(t, "MemTotal", m.MemTotal, Unreadable)
	wantMissing(t, "MemAvailable", m.MemAvailable, Unreadable)
	wantMissing(t, "MemFree", m.MemFree, Unreadable)
	wantMissing(t, "Cached", m.Cached, Absent)
	wantValue(t, "SwapTotal", m.SwapTotal, 4<<10, Bytes, "meminfo:4 SwapTotal")
	if got := why(c, "meminfo"); !strings.HasPrefix(got, `line 1: MemTotal is "-5 kB", and it has to be `) {
		t.Errorf("told: %q", got)
	}
	i := slices.IndexFunc(c.Unseen(), func(g Gap) bool { return g.What == HasAvailable })
	if i < 0 || c.Unseen()[i].Why != Unreadable {
		t.Errorf("unseen: %+v", c.Unseen())
	}
}

func TestCellsThatCannotBe(t *testing.T) {
	for name, test := range map[string]struct {
		text, told string
		points     []float64
	}{
		"not a number": {"Time,Memory Percentage (Avg)\n2026-04-01T10:00:00Z,91\n2026-04-01T10:01:00Z,\n2026-04-01T10:02:00Z,NaN\n2026-04-01T10:03:00Z,foo\n",
			`line 4: Memory Percentage (Avg) is "NaN", and it has to be a number: it and 1 more with what cannot be were not read`, []float64{91}},
		"too large": {"Time,Memory Percentage (Avg)\n2026-04-01T10:00:00Z,91\n2026-04-01T10:03:00Z,1e400\n",
			`line 3: Memory Percentage (Avg) is "1e400", and it has to be a number: it was not read`, []float64{91}},
		"month 13": {"Time,Memory Percentage (Avg)\n2026-13-01T10:00:00Z,92\n2026-04-01T10:00:00Z,91\n",
			`line 2: Time is "2026-13-01T10:00:00Z", and it has to be a time: it was not read`, []float64{91}},
		"AzureMetrics": {"TimeGenerated,MetricName,Average,UnitName,Resource\n2026-04-01T10:00:00Z,MemoryPercentage,92.5,Percent,P\n2026-04-01T10:01:00Z,MemoryPercentage,x,Percent,P\n",
			`line 3: Average is "x", and it has to be a number: it was not read`, []float64{92.5}},
		"az monitor": {`{"value":[{"name":{"value":"MemoryPercentage"},"unit":"Percent","timeseries":[{"data":[{"timeStamp":"2026-01-01T00:00:00Z","average":70.0},{"timeStamp":"2026-13-01T00:00:00Z","average":71.0},{"timeStamp":"2026-01-01T00:02:00Z"}]}]}]}`,
			`value 2: timeStamp is "2026-13-01T00:00:00Z", and it has to be a time: it was not read`, []float64{70}},
	} {
		c := readFiles(t, map[string]string{"m": test.text})
		if got := why(c, "m"); got != test.told || len(c.Strangers) != 1 {
			t.Errorf("%s: told %q", name, c.Strangers)
		}
		var points []float64
		for _, p := range c.Series[0].Points {
			points = append(points, p.Number)
		}
		if !slices.Equal(points, test.points) {
			t.Errorf("%s: %v, want %v", name, points, test.points)
		}
	}
	c := readFiles(t, map[string]string{"ladder.csv": "apps,mem_pct,http_5xx\n4,84.9,0\n6,85.0,x\n"})
	if got := why(c, "ladder.csv"); got != `line 3: http_5xx is "x", and it has to be a number: it was not read` {
		t.Errorf("ladder: %q", got)
	}
}

// The statuses of HTTP are 100 to 599 (RFC 9110, 15); curl writes 000 for none.
func TestRequestsThatCannotBe(t *testing.T) {
	c := readFiles(t, map[string]string{"traffic.csv": `timestamp,url,status,latency_ms
2026-06-11T10:00:00Z,/health,200,3
2026-06-11T10:00:01Z,/health,abc,3
2026-06-11T10:00:02Z,/health,999,3
2026-06-11T10:00:03Z,/health,200,-3
2026-06-11T10:00:04Z,/health,200,abc
nonsense,/health,200,3
2026-06-11T10:00:06Z,/health,000,-1
2026-06-11T10:00:07Z,/health,timeout,
2026-06-11T10:00:08Z,/health,503,12
`})
	var statuses []int
	for _, q := range c.Requests[0].List {
		statuses = append(statuses, q.Status)
	}
	if !slices.Equal(statuses, []int{200, 0, 0, 503}) {
		t.Errorf("statuses %v", statuses)
	}
	want := `line 3: status is "abc", and it has to be ` + statusWant + ", or a word for what kept the answer away: it and 4 more with what cannot be were not read"
	if got := why(c, "traffic.csv"); got != want {
		t.Errorf("told %q", got)
	}
	if note := c.Inputs[0].Note; note != "5 rows hold what cannot be and were not read" {
		t.Errorf("note %q", note)
	}
}

func TestRowsOfLogAnalyticsThatCannotBe(t *testing.T) {
	const head = `{"tables":[{"name":"PrimaryResult","columns":[{"name":"TimeGenerated"},{"name":"ScStatus"},{"name":"TimeTaken"}],"rows":[`
	const good, bad = `["2026-06-12T09:00:05Z",200,5020]`, `["x",null,"abc"],"str",{"a":1}`
	c := readFiles(t, map[string]string{"la.json": head + good + "," + bad + "]}]}"})
	if len(c.Requests) != 1 || len(c.Requests[0].List) != 1 {
		t.Fatalf("requests: %+v", c.Requests)
	}
	if got := why(c, "la.json"); got != `row 2: TimeGenerated is "x", and it has to be a time: it and 2 more with what cannot be were not read` {
		t.Errorf("told %q", got)
	}
	if !slices.ContainsFunc(c.Unseen(), func(g Gap) bool { return g.What == HasRequests && g.Detail == "3 of 4 rows hold what cannot be" }) {
		t.Errorf("unseen %+v", c.Unseen())
	}
	// Nothing is left of which "none failed" could be said.
	c = readFiles(t, map[string]string{"la.json": head + bad + "]}]}"})
	if c.Has(HasRequests) || !slices.ContainsFunc(c.Unseen(), func(g Gap) bool { return g.What == HasRequests && g.Why == Unreadable }) {
		t.Errorf("requests %+v, unseen %+v", c.Requests, c.Unseen())
	}
}

func TestTheEndOfALongStreamIsKept(t *testing.T) {
	for _, test := range []struct {
		most int64
		want string
		cut  int64
	}{{100, "one\ntwo\nthree\n", 0}, {14, "one\ntwo\nthree\n", 0}, {12, "two\nthree\n", 4}, {7, "three\n", 8}, {3, "", 14}} {
		data, cut, err := endOf(bytes.NewReader([]byte("one\ntwo\nthree\n")), test.most)
		if string(data) != test.want || cut != test.cut || err != nil {
			t.Errorf("%d: %q, %d cut, %v; want %q, %d", test.most, data, cut, err, test.want, test.cut)
		}
	}
}
