package evidence

import "testing"

// The wording of each release is that of gunicorn's arbiter.py at its tag.
const (
	gunicorn20 = `[2026-04-10 14:07:50 +0000] [1] [INFO] Starting gunicorn 20.0.5
[2026-04-10 14:07:50 +0000] [1] [INFO] Listening at: http://0.0.0.0:8000 (1)
[2026-04-10 14:07:50 +0000] [1] [INFO] Using worker: sync
[2026-04-10 14:07:50 +0000] [7] [INFO] Booting worker with pid: 7
[2026-04-10 14:08:20 +0000] [1] [CRITICAL] WORKER TIMEOUT (pid:7)
[2026-04-10 14:08:21 +0000] [1] [ERROR] Worker (pid:7) was sent SIGKILL! Perhaps out of memory?
`
	gunicorn201 = `[2026-04-10 14:07:51 +0000] [1] [WARNING] Worker with pid 7 was terminated due to signal 9
[2026-04-10 14:07:52 +0000] [1] [WARNING] Worker with pid 8 was terminated due to signal 15
`
	gunicorn21 = `[2026-04-10 14:07:51 +0000] [1] [ERROR] Worker (pid:7) was sent code 134!
[2026-04-10 14:07:52 +0000] [1] [ERROR] Worker (pid:8) exited with code 3.
[2026-04-10 14:07:52 +0000] [1] [ERROR] Reason: Worker failed to boot.
[2026-04-10 14:07:52 +0000] [1] [ERROR] Shutting down: Master
[2026-04-10 14:07:53 +0000] [1] [INFO] Control socket listening at /tmp/gunicorn.ctl
[2026-04-10 14:07:53 +0000] [1] [ERROR] Connection in use: ('0.0.0.0', 8000)
`
	gunicornOld = `2010-08-01 10:00:00 [12] [INFO] Booting worker with pid: 12
`
)

func TestGunicornOf2005(t *testing.T) {
	c := readFile(t, "console.log", gunicorn20)
	wantEvents(t, c,
		"2026-04-10T14:07:50 server started version=20.0.5",
		"2026-04-10T14:07:50 listening port=8000 address=0.0.0.0:8000",
		"2026-04-10T14:07:50 worker boot pid=7",
		"2026-04-10T14:08:20 worker timeout pid=7",
		"2026-04-10T14:08:21 worker signalled pid=7 signal=9")
	l := c.LogOf("gunicorn")
	if l == nil || l.Version != "20.0.5" || l.Lines != 6 {
		t.Fatalf("log: %+v", l)
	}
	wantValue(t, "silence", l.Silence, 30, Seconds, "console.log:5")
}

func TestGunicornSaysHowAWorkerEnded(t *testing.T) {
	wantEvents(t, readFile(t, "g.log", gunicorn201),
		"2026-04-10T14:07:51 worker signalled pid=7 signal=9",
		"2026-04-10T14:07:52 worker signalled pid=8 signal=15")
	// 134 is 128 + SIGABRT.
	wantEvents(t, readFile(t, "g.log", gunicorn21),
		"2026-04-10T14:07:51 worker signalled pid=7 signal=6 code=134",
		"2026-04-10T14:07:52 worker boot failed pid=8 code=3",
		"2026-04-10T14:07:52 worker boot failed code=3",
		"2026-04-10T14:07:52 server stopping",
		"2026-04-10T14:07:53 address in use address=('0.0.0.0', 8000)")
}

func TestGunicornWithoutBrackets(t *testing.T) {
	wantEvents(t, readFile(t, "g.log", gunicornOld), "2010-08-01T10:00:00 worker boot pid=12")
}

func TestGunicornBehindShippers(t *testing.T) {
	c := readFile(t, "compose.log", "web_1  | [2026-04-10 14:07:51 +0000] [12] [INFO] Booting worker with pid: 12\n"+
		"web_1  | Error: 1-19 00:48:32 +0000] [12] [INFO] Booting\n")
	if len(c.Events) == 0 || eventLine(&c.Events[0]) != "2026-04-10T14:07:51 worker boot app=web_1 pid=12" {
		t.Errorf("events: %+v", c.Events)
	}
	// The shipper's time differs by an hour from the program's: the latter counts.
	wantEvents(t, readFile(t, "k.log", "2026-04-10T15:07:51.123456789Z stdout F [2026-04-10 14:07:51 +0000] [12] [INFO] Booting worker with pid: 12\n"),
		"2026-04-10T14:07:51 worker boot pid=12")
}

func FuzzGunicorn(f *testing.F) {
	fuzzFile(f, "gunicorn.log", gunicorn20, gunicorn201, gunicorn21, gunicornOld)
}
