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

// The first line is the example of HAProxy's manual (8.2.2): 0/0/5007 ms, and three
// retries. The others are of the same form: a connection that has waited 3 s behind
// 12 others, one that was given up in the queue, one that was refused, one that the
// server has reset, one that was idle for too long, and one without fault.
const haproxyTCPText = `Feb  6 12:12:56 localhost haproxy[14387]: 10.0.1.2:33313 [06/Feb/2009:12:12:51.443] fnt bck/srv1 0/0/5007 212 -- 0/0/0/0/3 0/0
Feb  6 12:13:01 localhost haproxy[14387]: 10.0.1.2:33314 [06/Feb/2009:12:12:57.000] fnt bck/srv1 3000/1/4100 212 -- 9/9/9/2/0 4/8
Feb  6 12:13:06 localhost haproxy[14387]: 10.0.1.2:33315 [06/Feb/2009:12:13:01.000] fnt bck/<NOSRV> 5000/-1/5000 0 sQ 9/9/9/0/0 0/9
Feb  6 12:13:07 localhost haproxy[14387]: 10.0.1.2:33316 [06/Feb/2009:12:13:04.000] fnt bck/srv2 0/-1/3001 0 SC 2/2/2/0/3 0/0
Feb  6 12:13:09 localhost haproxy[14387]: 10.0.1.2:33317 [06/Feb/2009:12:13:08.000] fnt bck/srv2 0/1/900 12 SD 2/2/2/0/0 0/0
Feb  6 12:14:09 localhost haproxy[14387]: 10.0.1.2:33318 [06/Feb/2009:12:13:09.000] fnt bck/srv2 0/1/60001 12 sD 2/2/2/0/0 0/0
Feb  6 12:14:10 localhost haproxy[14387]: 10.0.1.2:33319 [06/Feb/2009:12:14:09.000] fnt bck/srv2 0/1/+2 0 -- 2/2/2/0/+0 0/0
`

// It tells the queue and the ends, and no request.
func TestHAProxyOfConnections(t *testing.T) {
	c := readFile(t, "haproxy.log", haproxyTCPText)
	wantWhole(t, c)
	if len(c.Requests) != 0 || len(c.Logs) != 1 || c.Logs[0].As != "HAProxy" || c.Logs[0].Lines != 7 {
		t.Errorf("requests %+v, logs %+v", c.Requests, c.Logs)
	}
	wantEvents(t, c,
		"2009-02-06T12:12:51 connect retried app=bck address=srv1",
		"2009-02-06T12:12:57 queued at proxy app=bck elapsed=3 queue=12 address=srv1",
		"2009-02-06T12:13:01 queued at proxy app=bck elapsed=5 queue=9 reason=queue time-out",
		"2009-02-06T12:13:04 upstream refused app=bck address=srv2",
		"2009-02-06T12:13:08 upstream closed app=bck address=srv2")
	wantValue(t, "retries", c.Events[0].Counter, 3, Events, "haproxy.log:1 retries")
}

// The manual's 8.4 defines the timers: -1 is the only value below 0, and the total
// holds the others. Tq of a format of one's own holds the idle time as well.
func TestHAProxyRefusesWhatCannotBe(t *testing.T) {
	const head, tail = `10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 `, ` "GET / HTTP/1.1"` + "\n"
	good := head + "10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0" + tail
	for row, why := range map[string]string{
		head + "0/0/1/-99/5 200 9 - - ---- 1/1/1/1/0 0/0" + tail:                    "line 2: Tr is -99 ms, and a timer is -1 where it did not come to that, or 0 and more: it was not read",
		head + "0/0/1/5000/100 200 9 - - ---- 1/1/1/1/0 0/0" + tail:                 "line 2: Ta is 100 ms, and it is at least the sum of Tw + Tc + Tr, which is 5001 ms: it was not read",
		head + "0/0/1/5/6 200 9 - - ---- 1/1/1/1/0 -3/0" + tail:                     "line 2: srv_queue is -3, and it counts from 0 to 4294967295: it was not read",
		head + "0/0/1/5/6 200 9 - - ---- 1/1/1/1/0 0/99999999999" + tail:            "line 2: backend_queue is 99999999999, and it counts from 0 to 4294967295: it was not read",
		head + "500/1/100 9 -- 1/1/1/1/0 0/0\n":                                     "line 2: Tt is 100 ms, and it is at least the sum of Tw + Tc, which is 501 ms: it was not read",
		head + "0/-2/100 9 -- 1/1/1/1/0 0/0\n" + head + "0/-2/1 9 -- 1/1/1/1/0 0/0": "line 2: Tc is -2 ms, and a timer is -1 where it did not come to that, or 0 and more: it and 1 more with what cannot be were not read",
	} {
		c := readFiles(t, map[string]string{"haproxy.log": good + row})
		wantWhole(t, c)
		if len(c.Strangers) != 1 || c.Strangers[0].Why != why || c.Strangers[0].File != "haproxy.log" {
			t.Errorf("%s\n got %+v\nwant %s", row, c.Strangers, why)
		}
		if len(c.Events) != 0 || len(c.Requests) != 1 || len(c.Requests[0].List) != 1 {
			t.Errorf("%s was read: %+v, %+v", row, c.Events, c.Requests)
		}
	}
	c := readFile(t, "haproxy.log", head+"3315/0/1/25/28 200 120 - - ---- 12/12/10/2/0 0/0"+tail)
	if q := c.Requests[0].List[0]; q.Seconds != 0.028 {
		t.Errorf("with an idle time before it: %+v", q)
	}
}

func FuzzHAProxy(f *testing.F) { fuzzFile(f, "haproxy.log", haproxyText, haproxyTCPText) }
