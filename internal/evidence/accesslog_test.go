package evidence

import (
	"strings"
	"testing"
)

// The common and combined formats of Apache and nginx (the first is of Apache's own
// manual), with a virtual host before and the time of nginx's
// $request_time behind, and what Werkzeug prints.
const accessText = `127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326
10.0.1.2 - - [15/Jan/2026:10:00:02 +0000] "GET /order?token=1 HTTP/1.1" 502 150 "-" "Mozilla/5.0"
shop:443 10.0.1.2 - - [15/Jan/2026:10:00:03 +0000] "POST /order HTTP/1.1" 200 3290 "-" "Mozilla/5.0" rt=5.123 uct=0.001
10.0.1.2 - - [15/Jan/2026 10:00:04] "GET /health HTTP/1.1" 200 -
10.0.1.2 - - [15/Jan/2026:10:00:05 +0000] "-" 400 0 "-" "-"
`

func TestAccessLog(t *testing.T) {
	c := readFile(t, "access.log", accessText)
	wantWhole(t, c)
	if len(c.Requests) != 1 || len(c.Requests[0].List) != 5 || c.Requests[0].As != "access log" || len(c.Events) != 0 || c.Logs[0].As != "access log" {
		t.Fatalf("%+v, %+v, %+v", c.Requests, c.Events, c.Logs)
	}
	list := c.Requests[0].List
	if q := list[0]; q.Path != "/apache_pb.gif" || q.Status != 200 || q.Seconds != -1 || q.At.Format("15:04:05") != "20:55:36" {
		t.Errorf("%+v", q)
	}
	if q := list[1]; q.Path != "/order" || !q.Asks || q.Status != 502 {
		t.Errorf("%+v", q)
	}
	if q := list[2]; q.Seconds != 5.123 || q.Line != 3 {
		t.Errorf("%+v", q)
	}
	if q := list[3]; q.Path != "/health" || q.At.Format("15:04:05") != "10:00:04" {
		t.Errorf("%+v", q)
	}
	if l := c.Logs[0]; l.From != list[0].At || l.To != list[4].At {
		t.Errorf("it covers %v to %v", l.From, l.To)
	}
}

// A server's own lines among them name the log.
func TestAccessLogAmongLinesOfAServer(t *testing.T) {
	c := readFile(t, "console.log", accessText+"[2026-05-20 10:00:30 +0000] [1] [CRITICAL] WORKER TIMEOUT (pid:8)\n")
	if c.Logs[0].As != "gunicorn" || len(c.Requests) != 1 || len(c.EventsOf(WorkerTimeout)) != 1 {
		t.Errorf("%+v, %+v", c.Logs, c.Events)
	}
}

// The fields of IIS (learn.microsoft.com, W3C Logging), as App Service writes them:
// time-taken in ms. CloudFront has seconds.
const (
	w3cText = `#Software: Microsoft Internet Information Services 8.0
#Fields: date time s-sitename cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs-host sc-status sc-substatus sc-win32-status time-taken
2026-01-15 10:00:02 SHOP GET /order token=1&X-ARR-LOG-ID=1 443 - 10.0.1.2 Mozilla/5.0 shop.azurewebsites.net 200 0 0 5123
2026-01-15 10:00:03 SHOP GET /order - 443 - 10.0.1.2 Mozilla/5.0 shop.azurewebsites.net 502 3 12002 230012
cut
`
	cloudFrontText = "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status time-taken\n" +
		"2026-01-15\t10:00:02\tFRA2-C1\t182\t192.0.2.10\tGET\td111.cloudfront.net\t/order\t200\t1.030\n"
)

func TestW3CLog(t *testing.T) {
	c := readFile(t, "w3c.log", w3cText)
	r := c.Requests[0]
	if len(r.List) != 2 || r.As != "W3C log" || len(c.Events) != 0 || c.Inputs[0].Note != "1 of its lines do not have the fields that it names" {
		t.Fatalf("%+v, %+v, %+v", r, c.Events, c.Inputs)
	}
	if q := r.List[0]; q.Path != "/order" || !q.Asks || q.Seconds != 5.123 || q.Status != 200 || q.App != "shop.azurewebsites.net" || q.At.Format("15:04:05") != "10:00:02" || q.Line != 3 {
		t.Errorf("%+v", q)
	}
	if q := r.List[1]; q.Asks || q.Status != 502 || q.Seconds != 230.012 {
		t.Errorf("%+v", q)
	}
	if q := readFile(t, "cf.log", cloudFrontText).Requests[0].List[0]; q.Seconds != 1.03 || q.Status != 200 {
		t.Errorf("CloudFront: %+v", q)
	}
}

// CloudWatch, Splunk and Datadog export a log as a table.
func TestLogsInTables(t *testing.T) {
	const line = `"[2026-01-15 10:00:02 +0000] [1] [CRITICAL] WORKER TIMEOUT (pid:8)"`
	for name, text := range map[string]string{
		"CloudWatch": "timestamp,message\n1768471202123," + line + "\n",
		"Splunk":     "_time,host,_raw\n2026-01-15T10:00:02.000+0000,web1," + line + "\n",
		"Datadog":    "Date,Host,Service,Message\n2026-01-15T10:00:02.000Z,web1,shop," + line + "\n",
	} {
		c := readFile(t, "x.csv", text)
		if e := c.EventsOf(WorkerTimeout); len(e) != 1 || e[0].At.Format("15:04:05") != "10:00:02" {
			t.Errorf("%s: %+v, %+v", name, c.Inputs, c.Events)
		}
	}
	c := readFile(t, "x.csv", "Time,log\n2026-01-15T10:00:02Z,5\n2026-01-15T10:01:02Z,6\n")
	if len(c.Logs) != 0 || len(c.Series) != 1 {
		t.Errorf("numbers are no log: %+v", c.Logs)
	}
}

func FuzzAccessLog(f *testing.F) { fuzzFile(f, "access.log", accessText) }

func FuzzW3CLog(f *testing.F) {
	fuzzFile(f, "w3c.log", w3cText, cloudFrontText, strings.ReplaceAll(w3cText, "5123", "-1"))
}
