package evidence

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestTableOfSteps(t *testing.T) {
	c := readFile(t, "m.csv", "config,apps,MemoryPercentage,CpuPercentage,apps_1_6_ms,cold_start_s,Http5xx\n6x50MB,6,85.7,32,948,~135,0\n8x50MB,8,85.7,87.2,1070,,6\n")
	tab := c.TableWith("MemoryPercentage", "CpuPercentage")
	if tab == nil || len(tab.Rows) != 2 || tab.Rows[1].Label != "8x50MB" {
		t.Fatalf("table: %+v", tab)
	}
	wantValue(t, "cpu", tab.Value(1, "CpuPercentage"), 87.2, Percent, "m.csv:3 CpuPercentage")
	wantValue(t, "latency", tab.Value(0, "apps_1_6"), 948, Millis, "m.csv:2 apps_1_6_ms")
	wantValue(t, "start", tab.Value(0, "cold_start"), 135, Seconds, "m.csv:2 cold_start_s")
	wantMissing(t, "start", tab.Value(1, "cold_start"), Absent)
	wantMissing(t, "other", tab.Value(0, "DiskQueueLength"), NotSeen)
}

func TestMetricsOverTime(t *testing.T) {
	c := readFile(t, "m.csv", "TimeGenerated,WorkingSetBytes_MB_avg,RestartCount_max\n2026-04-10T14:09:00Z,33.9,1\n2026-04-10T14:08:00Z,202.9,\n")
	s := c.SeriesOf("WorkingSetBytes")
	if len(s) != 1 || s[0].Unit != "MB" || s[0].Of != "average" || len(s[0].Points) != 2 {
		t.Fatalf("series: %+v", c.Series)
	}
	wantValue(t, "largest", s[0].Max(), 202.9, "MB", "m.csv:3 WorkingSetBytes_MB_avg")
	wantValue(t, "last", s[0].Last(), 33.9, "MB", "m.csv:2 WorkingSetBytes_MB_avg")
	r := c.SeriesOf("RestartCount")
	if len(r) != 1 || r[0].Sparse != 1 || len(r[0].Points) != 1 {
		t.Errorf("restarts: %+v", r)
	}
}

func TestAppServiceHTTPLogs(t *testing.T) {
	// TimeTaken is in ms (azure-monitor/reference/tables/appservicehttplogs).
	c := readFile(t, "http.csv", "TimeGenerated,CsHost,CsUriStem,ScStatus,TimeTaken\n2026-04-04T05:36:31.767301Z,a.example,/heavy,499,1346\n2026-04-04T05:36:30.258936Z,a.example,/heavy,200,68\n,,,,\n")
	r := c.Requests[0]
	if r.As != "AppServiceHTTPLogs" || r.Outside || len(r.List) != 2 {
		t.Fatalf("requests: %+v", r)
	}
	if q := r.List[1]; q.Status != 499 || q.Seconds != 1.346 || q.App != "a.example" || q.Line != 2 {
		t.Errorf("request: %+v", q)
	}
	if r.To.Sub(r.From) != 1508365*time.Microsecond {
		t.Errorf("from %v to %v", r.From, r.To)
	}
	if !strings.Contains(c.Inputs[0].Note, "1 rows have neither") {
		t.Errorf("the empty row is not told: %+v", c.Inputs)
	}
}

func TestProbesOfTheReference(t *testing.T) {
	c := readFile(t, "traffic.csv", "timestamp,url,status,elapsed_ms\n2026-04-02T10:00:00Z,https://app1.example/health?code=secret,200,934.5\n2026-04-02T10:00:10Z,https://app1.example/health,000,16000\n")
	r := c.Requests[0]
	if !r.Outside || len(r.List) != 2 || r.List[0].Path != "/health" || r.List[0].App != "app1.example" || r.List[0].Seconds != 0.9345 {
		t.Errorf("requests: %+v", r)
	}
	if q := r.List[1]; q.Status != 0 || q.Outcome != "no answer" {
		t.Errorf("request without an answer: %+v", q)
	}
	// The file has when requests began; 934.5 ms later it was answered.
	if got := r.List[0].At.Format("05.0000"); got != "00.9345" {
		t.Errorf("answered at second %s", got)
	}
}

func TestBuckets(t *testing.T) {
	c := readFile(t, "probe.csv", "bucket,count\nunder_0.5s,196\n28.58s,1\n30s_timeout,1\nother,2\n")
	b := c.Requests[0].Buckets
	wantValue(t, "most", b[0].Most, 0.5, Seconds, "probe.csv:2 bucket")
	wantValue(t, "count", b[0].Count, 196, Events, "probe.csv:2 count")
	wantValue(t, "least", b[2].Least, 30, Seconds, "probe.csv:4 bucket")
	wantMissing(t, "most", b[2].Most, CannotTell)
	if !b[2].TimeOut || b[1].TimeOut {
		t.Errorf("buckets: %+v", b)
	}
	wantMissing(t, "least", b[3].Least, Absent)
}

func TestConsoleLogsOfATable(t *testing.T) {
	c := readFile(t, "console.csv", "TimeGenerated,Level,Host,ResultDescription\n2026-04-10T14:07:52Z,Error,h1,[2026-04-10 14:07:51 +0000] [1] [CRITICAL] WORKER TIMEOUT (pid:7)\n")
	wantEvents(t, c, "2026-04-10T14:07:51 worker timeout app=h1 pid=7")
	empty := readFile(t, "console.csv", "TimeGenerated,ResultDescription\n")
	if l := empty.LogOf("AppServiceConsoleLogs"); l == nil || l.Lines != 0 {
		t.Errorf("an empty console log is evidence: %+v", empty.Logs)
	}
}

func TestLogAnalyticsInItsShapes(t *testing.T) {
	api := `{"tables":[{"name":"PrimaryResult","columns":[{"name":"TimeGenerated","type":"datetime"},{"name":"ScStatus","type":"int"},{"name":"TimeTaken","type":"int"}],"rows":[["2026-04-04T05:36:31Z",503,1500]]}]}`
	az := `[{"TableName":"PrimaryResult","TimeGenerated":"2026-04-04T05:36:31Z","ScStatus":"503","TimeTaken":"1500"}]`
	for _, text := range []string{api, az} {
		c := readFile(t, "r.json", text)
		if len(c.Requests) != 1 || len(c.Requests[0].List) != 1 {
			t.Fatalf("%s: %+v", text, c.Requests)
		}
		if q := c.Requests[0].List[0]; q.Status != 503 || q.Seconds != 1.5 || q.At.IsZero() {
			t.Errorf("%s: %+v", text, q)
		}
	}
}

const azMetrics = `{"cost":1,"interval":"PT1M","value":[{"id":"/subscriptions/0/resourceGroups/g/providers/Microsoft.Web/serverfarms/plan1/providers/Microsoft.Insights/metrics/MemoryPercentage",
"name":{"value":"MemoryPercentage"},"unit":"Percent","timeseries":[{"data":[{"timeStamp":"2026-04-10T14:08:00Z","average":72.9,"maximum":75},{"timeStamp":"2026-04-10T14:09:00Z"}]}]}]}`

func TestAzureMetrics(t *testing.T) {
	c := readFile(t, "metrics.json", azMetrics)
	s := c.SeriesOf("MemoryPercentage")
	if len(s) != 2 || s[0].Of != "average" || s[0].App != "plan1" || s[0].Unit != "%" || s[0].Sparse != 1 {
		t.Fatalf("series: %+v", c.Series)
	}
	wantValue(t, "average", s[0].Last(), 72.9, Percent, "metrics.json MemoryPercentage average")
	wantValue(t, "maximum", s[1].Max(), 75, Percent, "")
}

func FuzzTables(f *testing.F) {
	fuzzFile(f, "a.csv", "config,apps,MemoryPercentage\n6x50MB,6,85.7\n", "TimeGenerated,CsHost,CsUriStem,ScStatus,TimeTaken\n2026-04-04T05:36:31Z,a,/,200,68\n",
		"timestamp,url,status,elapsed_ms\n2026-04-02T10:00:00Z,https://a/b,200,934\n", "bucket,count\nunder_0.5s,196\n",
		"TimeGenerated,MetricName,Average,Maximum,Resource\n2026-04-02T10:00:00Z,CpuPercentage,1,2,x\n")
}

func FuzzAzureJSON(f *testing.F) {
	fuzzFile(f, "a.json", azMetrics, `{"tables":[{"columns":[{"name":"TimeGenerated"},{"name":"ScStatus"}],"rows":[["x",503],[1]]}]}`, `[{"TimeGenerated":"x","ResultDescription":"a"},3]`)
}

func TestALongTableIsBounded(t *testing.T) {
	var text strings.Builder
	text.WriteString("TimeGenerated,CsUriStem,ScStatus,TimeTaken\n")
	for i := range mostRequests + 10 {
		fmt.Fprintf(&text, "2026-04-04T05:36:31Z,/,200,%d\n", i%100)
	}
	r := readFile(t, "http.csv", text.String()).Requests[0]
	if len(r.List) != mostRequests || r.Cut != 10 {
		t.Errorf("%d requests kept and %d cut, want %d and 10", len(r.List), r.Cut, mostRequests)
	}
}
