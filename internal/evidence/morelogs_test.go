package evidence

import (
	"strings"
	"testing"
	"time"
)

const poolLog = `2026-01-05 10:00:00,000 ERROR sqlalchemy.exc.TimeoutError: QueuePool limit of size 4 overflow 6 reached, connection timed out, timeout 20.00
2026-01-05 10:00:01,000 ERROR The connection pool has been exhausted, either raise 'Max Pool Size' (currently 100) or 'Timeout' (currently 15 seconds) in your connection string.
2026-01-05 10:00:02,000 ERROR ActiveRecord::ConnectionTimeoutError: could not obtain a connection from the pool within 5.000 seconds (waited 5.002 seconds); all pooled connections were in use
2026-01-05 10:00:03,000 ERROR HikariPool-1 - Connection is not available, request timed out after 30001ms.
2026-01-05 10:00:04,000 ERROR Timed out fetching a new connection from the connection pool. More info: x (Current connection pool timeout: 10, connection limit: 9)
2026-01-05 10:00:05,000 ERROR [t-1] Timeout: Pool empty. Unable to fetch a connection in 30 seconds, none available[size:100; busy:100; idle:0; lastwait:30000].
2026-01-05 10:00:06,000 ERROR Timeout acquiring a connection. The pool is probably full. Are you missing a .transacting(trx) call?
2026-01-05 10:00:07,000 ERROR psycopg_pool.PoolTimeout: couldn't get a connection after 30.00 sec
`

func TestPoolsOfConnectionsThatAreUsedUp(t *testing.T) {
	// The messages are those of the libraries' own sources.
	const reason = " reason=a database connection from the pool"
	wantEvents(t, readFile(t, "app.log", poolLog),
		"2026-01-05T10:00:00 client timeout elapsed=20 limit=10"+reason,
		"2026-01-05T10:00:01 client timeout elapsed=15 limit=100"+reason,
		"2026-01-05T10:00:02 client timeout elapsed=5"+reason,
		"2026-01-05T10:00:03 client timeout elapsed=30.001"+reason,
		"2026-01-05T10:00:04 client timeout elapsed=10 limit=9"+reason,
		"2026-01-05T10:00:05 client timeout elapsed=30 limit=100"+reason,
		"2026-01-05T10:00:06 client timeout"+reason,
		"2026-01-05T10:00:07 client timeout elapsed=30"+reason)
}

func TestFrameworksTellHowLongTheyStarted(t *testing.T) {
	wantEvents(t, readFile(t, "app.log", `2026-01-05T10:00:00.000Z  INFO 1 --- [main] a.B : Started B in 61.5 seconds (process running for 63)
2026-01-05 10:00:01,000 INFO  [io.quarkus] (main) shop 1.0 on JVM (powered by Quarkus 3.8) started in 2.145s. Listening on: http://0.0.0.0:8080
2026-01-05 10:00:02,000 INFO  Startup completed in 812ms. Server Running: http://localhost:8080
`), "2026-01-05T10:00:00 worker ready elapsed=61.5", "2026-01-05T10:00:01 worker ready elapsed=2.145", "2026-01-05T10:00:02 worker ready elapsed=0.812")
}

const unitLog = `2026-06-02T07:00:01+0000 host systemd[1]: relay.service: Main process exited, code=exited, status=2/INVALIDARGUMENT
2026-06-02T07:00:06+0000 host systemd[1]: relay.service: Scheduled restart job, restart counter is at 1.
2026-06-02T07:00:07+0000 host systemd[1]: relay.service: Main process exited, code=killed, status=9/KILL
2026-06-02T07:00:12+0000 host systemd[1]: relay.service: Scheduled restart job, restart counter is at 2.
2026-06-02T07:00:13+0000 host systemd[1]: backup.service: Main process exited, code=exited, status=1/FAILURE
2026-06-02T07:00:14+0000 host systemd[1]: relay.service: Start request repeated too quickly.
`

func TestUnitsThatSystemdStartsAgain(t *testing.T) {
	// A job that fails and is not started again is no loop.
	wantEvents(t, readFile(t, "journal.txt", unitLog),
		"2026-06-02T07:00:06 container exited app=relay.service code=2 reason=Scheduled restart job",
		"2026-06-02T07:00:12 container exited app=relay.service signal=9 reason=Scheduled restart job",
		"2026-06-02T07:00:14 back-off app=relay.service reason=Start request repeated too quickly")
}

func TestContainerAppsAsTheCommandLinePrints(t *testing.T) {
	wantEvents(t, readFile(t, "system.json", `{"TimeStamp":"2026-03-09 05:45:13 +0000 UTC","Type":"Warning","ReplicaName":"a--1-x","Msg":"startup probe failed: connection refused","Reason":"ReplicaUnhealthy","Count":12}
{"TimeStamp":"2026-03-09 05:49:52 +0000 UTC","Type":"Warning","ReplicaName":"a--1-x","Msg":"Container a failed startup probe, will be restarted","Reason":"StoppingContainer","Count":1}
{"TimeStamp":"2026-03-09 06:49:52 +0000 UTC","Type":"Normal","ReplicaName":"a--1-x","Msg":"Stopping container a","Reason":"StoppingContainer","Count":1}
`),
		"2026-03-09T05:45:13 probe failed app=a--1-x probe=startup reason=refused times=12",
		"2026-03-09T05:49:52 container killed app=a--1-x probe=startup reason=StoppingContainer",
		"2026-03-09T06:49:52 container stopped app=a--1-x reason=StoppingContainer")
}

func TestStoppedIsNotKilled(t *testing.T) {
	// The kubelet writes Killing for every pod that is deleted or replaced.
	wantEvents(t, readFile(t, "events.txt", "2m   Normal   Killing   pod/a-1   Stopping container a\n2m   Normal   Killing   pod/b-1   Container b failed liveness probe, will be restarted\n"),
		"container stopped app=a-1 reason=Killing", "container killed app=b-1 probe=liveness reason=Killing")
}

func TestIdsOfContainersAndTheirApps(t *testing.T) {
	rows := func(messages ...string) string {
		text := "TimeGenerated,ContainerId,Message,Level\n"
		for i, m := range messages {
			text += time.Date(2026, 3, 5, 2, 10*i, 0, 0, time.UTC).Format(time.RFC3339) + "," + m + ",Error\n"
		}
		return text
	}
	const failed = ",Site startup probe failed after 230.1 seconds."
	for name, want := range map[string][]string{
		rows("shop-7Hq2Z"+failed, "shop-9Kw1P"+failed):                                     {"shop", "shop"},
		rows("web-1"+failed, "web-2"+failed, "web-1"+failed, "web-2"+failed):               {"web-1", "web-2", "web-1", "web-2"},
		rows("0123456789ab_cart"+failed, "ba9876543210_cart"+failed):                       {"cart", "cart"},
		rows("0123456789abcdef0123456789abcdef"+failed, "fedcba9876543210fedcba98"+failed): {"", ""},
	} {
		c := readFile(t, "platform.csv", name)
		for i, e := range c.EventsOf(StartTimeout) {
			if e.App != want[i] {
				t.Errorf("row %d of\n%sis of %q, want %q", i+1, name, e.App, want[i])
			}
		}
	}
}

func TestTimesAsThePortalWritesThem(t *testing.T) {
	// With a clock of 24 hours the day comes first, with AM and PM the month.
	want := time.Date(2026, 4, 3, 17, 5, 9, 120e6, time.UTC)
	for _, text := range []string{"4/3/2026, 5:05:09.120 PM", "3/4/2026, 17:05:09.120", "03/04/2026, 17:05:09.120", "3.4.2026, 17:05:09.120", "03.04.2026 17:05:09.120",
		"2026-04-03, 17:05:09.120", "2026/4/3 17:05:09.120", "2026-04-03 17:05:09.120 +0000 UTC"} {
		if at, ok := parseTime(text); !ok || !at.Equal(want) {
			t.Errorf("%q is read as %v (%t), want %v", text, at, ok, want)
		}
	}
}

func TestHeadingsOfMetrics(t *testing.T) {
	for name, want := range map[string]Column{
		"Memory Percentage (Avg), plan-a": {Metric: "MemoryPercentage", Unit: "%", Of: "average"},
		"mem_pct":                         {Metric: "MemoryPercentage", Unit: "%"},
		"memory_used_mb":                  {Metric: "memory_used", Unit: "MB"},
		"n_apps":                          {Metric: "apps"},
		"app_count":                       {Metric: "apps", Of: "count"},
		"cold_start_ms":                   {Metric: "cold_start", Unit: "ms"},
		"http_5xx":                        {Metric: "Http5xx"},
	} {
		got := columnOfName(name)
		if want.Name = name; got != want {
			t.Errorf("%q is %+v, want %+v", name, got, want)
		}
	}
}

func FuzzConnectionPools(f *testing.F) { fuzzFile(f, "app.log", poolLog) }
func FuzzUnits(f *testing.F)           { fuzzFile(f, "journal.txt", unitLog) }

func TestServersBehindOtherCommands(t *testing.T) {
	for command, want := range map[string]string{
		"pip install -r requirements.txt && gunicorn -w 3 app:app":              "gunicorn",
		"python manage.py migrate --noinput; gunicorn --bind=0.0.0.0 shop.wsgi": "gunicorn",
		"cd /home/site/wwwroot && python -m uvicorn main:app --port 8000":       "uvicorn",
		"GUNICORN_CMD_ARGS=--timeout=600 gunicorn app:app":                      "gunicorn",
		"python manage.py migrate":                                              "",
		"/home/site/wwwroot/startup.sh":                                         "",
	} {
		if got := serverOf(strings.Fields(command)); got != want {
			t.Errorf("%q starts %q, want %q", command, got, want)
		}
	}
}

func TestLinesOfDmesgWithTimes(t *testing.T) {
	// An old Apache's log has the same time, and a level in brackets behind it.
	kernel := readFile(t, "x", "[Sun Mar  1 09:00:00 2026] EXT4-fs (sda1): mounted filesystem.\n[Sun Mar  1 11:00:00 2026] docker0: port 1(veth12) entered blocking state\n")
	if !kernel.Has(HasKernelLog) {
		t.Errorf("logs: %+v", kernel.Logs)
	}
	apache := readFile(t, "x", "[Sun Mar  1 09:00:00 2026] [error] [client 10.0.0.1] File does not exist: /var/www/favicon.ico\n")
	if apache.Has(HasKernelLog) {
		t.Errorf("logs: %+v", apache.Logs)
	}
}

func TestALogOfOneObject(t *testing.T) {
	wantEvents(t, readFile(t, "x", `{"TimeStamp":"2026-03-09 05:45:13 +0000 UTC","Type":"Warning","Msg":"startup probe failed: connection refused","Reason":"ReplicaUnhealthy","Count":2}`),
		"2026-03-09T05:45:13 probe failed probe=startup reason=refused times=2")
}

func TestDecimalCommas(t *testing.T) {
	c := readFile(t, "x.csv", "apps;mem_pct;cold_start_s\n2;75,5;18,25\n4;84;33\n")
	wantValue(t, "memory", c.Tables[0].Value(0, "MemoryPercentage"), 75.5, "%", "x.csv:2 mem_pct")
	wantValue(t, "start", c.Tables[0].Value(0, "cold_start"), 18.25, Seconds, "x.csv:2 cold_start_s")
}

func TestColoursOfATerminal(t *testing.T) {
	wantEvents(t, readFile(t, "x.log", "\x1b[36mweb-1  | \x1b[0m[2026-05-20 10:00:30 +0000] [1] [CRITICAL] WORKER TIMEOUT (pid:8)\n"),
		"2026-05-20T10:00:30 worker timeout app=web-1 pid=8")
}

func TestCurlsTimes(t *testing.T) {
	c := readFile(t, "x.csv", "time,url,http_code,time_total\n2026-06-12 09:00:00,http://x.test/a,200,3.5\n")
	if r := c.Requests[0].List[0]; r.Seconds != 3.5 || r.Path != "/a" || !r.At.Equal(time.Date(2026, 6, 12, 9, 0, 3, 500e6, time.UTC)) {
		t.Errorf("%+v", r)
	}
}
