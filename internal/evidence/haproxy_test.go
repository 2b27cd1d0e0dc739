package evidence

import "testing"

// The first line is the example of HAProxy's manual (8.2.3): timers 10/0/30/69/109
// ms, status 200. The others are of the same form: a request that has waited 4.1 s
// behind 7 others, one that was given up in the queue after 5 s, one whose server
// sent no answer in time, one that it refused, and one for which there was none.
const haproxyText = `Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /index.html?token=1 HTTP/1.1"
Feb  6 12:14:20 localhost haproxy[14389]: 10.0.1.2:33318 [06/Feb/2009:12:14:16.000] http-in app/web1 0/4100/1/5000/9101 200 120 - - ---- 12/12/10/2/0 3/4 "POST /order HTTP/1.1"
Feb  6 12:14:21 localhost haproxy[14389]: 10.0.1.2:33319 [06/Feb/2009:12:14:16.500] http-in app/<NOSRV> 0/5000/-1/-1/5000 503 212 - - sQ-- 12/12/10/0/0 0/9 "GET / HTTP/1.1"
Feb  6 12:14:50 localhost haproxy[14389]: 10.0.1.2:33320 [06/Feb/2009:12:14:20.000] http-in app/web1 0/0/1/-1/30001 504 194 - - sH-- 3/3/2/2/0 0/0 "GET /slow HTTP/1.1"
Feb  6 12:15:00 localhost haproxy[14389]: 10.0.1.2:33321 [06/Feb/2009:12:15:00.000] http-in app/web2 0/0/-1/-1/3002 503 212 - - SC-- 3/3/2/0/+3 0/0 "GET / HTTP/1.1"
Feb  6 12:15:04 localhost haproxy[14389]: 10.0.1.2:33322 [06/Feb/2009:12:15:04.000] http-in app/<NOSRV> 0/-1/-1/-1/0 503 212 - - SC-- 3/3/2/0/0 0/0 "GET / HTTP/1.1"
`

func TestHAProxy(t *testing.T) {
	c := readFile(t, "haproxy.log", haproxyText)
	wantWhole(t, c)
	if len(c.Requests) != 1 || len(c.Requests[0].List) != 6 || c.Requests[0].As != "HAProxy" || c.Requests[0].Outside {
		t.Fatalf("requests: %+v", c.Requests)
	}
	q := c.Requests[0].List[0]
	if q.Seconds != 0.109 || q.Status != 200 || q.Path != "/index.html" || !q.Asks || q.App != "static" || q.Line != 1 || q.At.Format("15:04:05") != "12:14:14" {
		t.Errorf("the first: %+v", q)
	}
	wantEvents(t, c,
		"2009-02-06T12:14:16 queued at proxy app=app elapsed=4.1 queue=7 address=web1",
		"2009-02-06T12:14:16 queued at proxy app=app elapsed=5 queue=9 reason=queue time-out",
		"2009-02-06T12:14:20 upstream timeout app=app address=web1",
		"2009-02-06T12:15:00 upstream refused app=app address=web2",
		"2009-02-06T12:15:04 no live upstream app=app")
}

func FuzzHAProxy(f *testing.F) { fuzzFile(f, "haproxy.log", haproxyText) }
