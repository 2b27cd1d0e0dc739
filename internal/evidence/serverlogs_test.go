package evidence

import (
	"strings"
	"testing"
)

const nginxLog = `2016/01/01 10:00:00 [error] 100#0: *1 connect() to unix:/run/fcgi.sock failed (11: Resource temporarily unavailable) while connecting to upstream, client: 10.0.0.2, server: example.test, request: "GET /tile HTTP/1.1", upstream: "fastcgi://unix:/run/fcgi.sock:", host: "example.test"
2016/01/01 10:00:01 [error] 100#0: *2 connect() failed (111: Connection refused) while connecting to upstream, client: 10.0.0.2, upstream: "http://127.0.0.1:8000/"
2016/01/01 10:00:02 [error] 100#0: *3 upstream timed out (110: Connection timed out) while reading response header from upstream, upstream: "http://127.0.0.1:8000/x"
2016/01/01 10:00:03 [error] 100#0: *4 upstream prematurely closed connection while reading response header from upstream, upstream: "http://127.0.0.1:8000/x"
2016/01/01 10:00:04 [alert] 100#0: worker process 12 exited on signal 9
2016/01/01 10:00:05 [notice] 100#0: signal process started
`

func TestNginxTellsWhyTheUpstreamDidNotAnswer(t *testing.T) {
	// errno(3): 11 EAGAIN, 111 ECONNREFUSED, 110 ETIMEDOUT.
	wantEvents(t, readFile(t, "error.log", nginxLog),
		"2016-01-01T10:00:00 upstream busy code=11 address=/run/fcgi.sock",
		"2016-01-01T10:00:01 upstream refused code=111 port=8000 address=127.0.0.1:8000",
		"2016-01-01T10:00:02 upstream timeout code=110 port=8000 address=127.0.0.1:8000",
		"2016-01-01T10:00:03 upstream closed port=8000 address=127.0.0.1:8000",
		"2016-01-01T10:00:04 worker signalled signal=9")
}

func FuzzNginx(f *testing.F) { fuzzFile(f, "error.log", nginxLog) }

const phpfpmLog = `[28-May-2018 10:32:10] NOTICE: fpm is running, pid 1
[28-May-2018 10:32:12.101874] DEBUG: pid 1, fpm_pctl_perform_idle_server_maintenance(), line 379: [pool www] currently 4 active children, 1 spare children, 5 running children. Spawning rate 1
[28-May-2018 10:32:13] WARNING: [pool www] server reached pm.max_children setting (5), consider raising it
[28-May-2018 10:32:14] WARNING: [pool www] child 7 exited on signal 9 (SIGKILL) after 5.1 seconds from start
[28-May-2018 10:32:15] WARNING: [pool www] child 8, script '/x.php' (request: "GET /x.php") execution timed out (30.5 sec), terminating
`

func TestPHPFPM(t *testing.T) {
	c := readFile(t, "php-fpm.log", phpfpmLog)
	wantEvents(t, c,
		"2018-05-28T10:32:10 server started",
		"2018-05-28T10:32:12 pool state app=www active=4 idle=1",
		"2018-05-28T10:32:13 pool at limit app=www limit=5",
		"2018-05-28T10:32:14 worker signalled app=www pid=7 signal=9",
		"2018-05-28T10:32:15 worker timeout app=www pid=8 elapsed=30.5")
	if len(c.Pools) != 1 || c.Pools[0].Seen != PoolLog {
		t.Fatalf("pools: %+v", c.Pools)
	}
	wantValue(t, "workers", c.Pools[0].Workers, 5, Events, "php-fpm.log:2 running")
	wantMissing(t, "queued", c.Pools[0].Queued, Absent)
}

func FuzzPHPFPM(f *testing.F) { fuzzFile(f, "php-fpm.log", phpfpmLog) }

const uwsgiLog = `*** Starting uWSGI 2.0.21 (64bit) on [Tue Jan 14 10:34:00 2020] ***
mapped 145840 bytes (142 KB) for 4 cores
spawned uWSGI worker 1 (pid: 12, cores: 4)
WSGI app 0 (mountpoint='') ready in 7 seconds on interpreter 0x55 pid: 12 (default app)
Tue Jan 14 10:34:11 2020 - *** uWSGI listen queue of socket "0.0.0.0:8000" (fd: 9) full !!! (101/100) ***
Tue Jan 14 10:34:12 2020 - *** HARAKIRI ON WORKER 1 (pid: 12, try: 1) ***
DAMN ! worker 1 (pid: 12) died, killed by signal 9 :( trying respawn ...
`

func TestUWSGI(t *testing.T) {
	c := readFile(t, "uwsgi.log", uwsgiLog)
	wantEvents(t, c,
		"server started version=2.0.21",
		"worker boot pid=12",
		"worker ready elapsed=7",
		"2020-01-14T10:34:11 queue full limit=100 queue=101 port=8000 address=0.0.0.0:8000",
		"2020-01-14T10:34:12 worker timeout pid=12",
		"worker signalled pid=12 signal=9")
	wantValue(t, "cores", c.Pools[0].Max, 4, Events, "uwsgi.log:2 cores")
}

func FuzzUWSGI(f *testing.F) { fuzzFile(f, "uwsgi.log", uwsgiLog) }

const pumaLog = `[1] Puma starting in cluster mode...
[1] * Puma version: 6.4.2 (ruby 3.2.2-p53) ("The Eagle of Durin")
[1] * Listening on http://0.0.0.0:3000
[1] - Worker 0 (PID: 12) booted in 2.51s, phase: 0
[1] ! Terminating timed out worker (worker failed to check in within 60 seconds): 12
`

func TestPuma(t *testing.T) {
	wantEvents(t, readFile(t, "puma.log", pumaLog),
		"server started version=6.4.2", "listening port=3000 address=0.0.0.0:3000", "worker ready pid=12 elapsed=2.51", "worker timeout pid=12 limit=60")
}

func FuzzPuma(f *testing.F) { fuzzFile(f, "puma.log", pumaLog) }

const apacheLog = `[Tue Jan 14 10:34:11.123456 2020] [mpm_prefork:error] [pid 10] AH00161: server reached MaxRequestWorkers setting, consider raising the MaxRequestWorkers setting
[Tue Jan 14 10:34:12.123456 2020] [core:notice] [pid 10] AH00052: child pid 12 exit signal Killed (9)
[Tue Jan 14 10:34:13.123456 2020] [proxy:error] [pid 10:tid 99] (111)Connection refused: AH00957: HTTP: attempt to connect to 127.0.0.1:8080 (localhost) failed
`

func TestApache(t *testing.T) {
	wantEvents(t, readFile(t, "apache_error.log", apacheLog),
		"2020-01-14T10:34:11 pool at limit reason=MaxRequestWorkers",
		"2020-01-14T10:34:12 worker signalled pid=12 signal=9",
		"2020-01-14T10:34:13 upstream refused")
}

func FuzzApache(f *testing.F) { fuzzFile(f, "apache_error.log", apacheLog) }

const tomcatLog = `2007-3-18 1:08:26 org.apache.tomcat.util.threads.ThreadPool logFull
SEVERE: All threads (150) are currently busy, waiting. Increase maxThreads (150) or check the servlet status
15-Mar-2020 10:00:00.123 INFO [main] org.apache.catalina.startup.Catalina.start Server startup in [4123] milliseconds
15-Mar-2020 10:00:01.123 ERROR [x] o.h.SqlHelper HikariPool-1 - Connection is not available, request timed out after 30000ms.
`

func TestTomcat(t *testing.T) {
	c := readFile(t, "catalina.out", tomcatLog)
	wantEvents(t, c,
		"2007-03-18T01:08:26 pool at limit limit=150 active=150",
		"2020-03-15T10:00:00 worker ready elapsed=4.123",
		"2020-03-15T10:00:01 client timeout elapsed=30 reason=a database connection from the pool")
	wantValue(t, "idle", c.Pools[0].Idle, 0, Events, "")
}

func FuzzTomcat(f *testing.F) { fuzzFile(f, "catalina.out", tomcatLog) }

const dotnetLog = `info: Microsoft.Hosting.Lifetime[14]
      Now listening on: http://[::]:8080
StackExchange.Redis.RedisTimeoutException: Timeout awaiting response (outbound=0KiB, inbound=0KiB, 20873ms elapsed, timeout is 5000ms), command=GET, IOCP: (Busy=0,Free=1000,Min=2,Max=1000), WORKER: (Busy=6,Free=32761,Min=2,Max=32767)
`

func TestDotNet(t *testing.T) {
	c := readFile(t, "app.log", dotnetLog)
	wantEvents(t, c, "listening port=8080 address=[::]:8080", "client timeout elapsed=20.873 limit=5 reason=Redis")
	if len(c.Pools) != 2 || c.Pools[1].Name != "WORKER" {
		t.Fatalf("pools: %+v", c.Pools)
	}
	wantValue(t, "busy", c.Pools[1].Busy, 6, Events, "app.log:3 WORKER Busy")
	wantValue(t, "min", c.Pools[1].Min, 2, Events, "app.log:3 WORKER Min")
	wantMissing(t, "workers", c.Pools[1].Workers, CannotTell)
}

func FuzzDotNet(f *testing.F) { fuzzFile(f, "app.log", dotnetLog) }

const postgresLog = `2026-04-25 23:56:39.612 UTC [1] LOG:  background writer process (PID 31) was terminated by signal 9: Killed
2026-04-25 23:56:40.612 UTC [90] FATAL:  sorry, too many clients already
2026-04-25 23:56:50.599 UTC [1] LOG:  database system is ready to accept connections
`

func TestPostgres(t *testing.T) {
	wantEvents(t, readFile(t, "postgres.log", postgresLog),
		"2026-04-25T23:56:39 worker signalled pid=31 comm=background writer process signal=9",
		"2026-04-25T23:56:40 pool at limit reason=max_connections", "2026-04-25T23:56:50 worker ready")
}

func FuzzPostgres(f *testing.F) { fuzzFile(f, "postgres.log", postgresLog) }

const uvicornLog = `INFO:     Started server process [31]
INFO:     Application startup complete.
INFO:     Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)
INFO:     Child process [32] died
`

func TestUvicorn(t *testing.T) {
	wantEvents(t, readFile(t, "uvicorn.log", uvicornLog), "worker boot pid=31", "worker ready", "listening port=8000 address=0.0.0.0:8000", "worker exit pid=32")
}

func FuzzUvicorn(f *testing.F) { fuzzFile(f, "uvicorn.log", uvicornLog) }

const nodeLog = `> start
Server listening on port 3000
FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory
Error: listen EADDRINUSE: address already in use :::3000
`

func TestNode(t *testing.T) {
	wantEvents(t, readFile(t, "console.log", nodeLog),
		"listening port=3000", "app error reason=JavaScript heap out of memory", "address in use address=:::3000", "app progress")
}

func FuzzNode(f *testing.F) { fuzzFile(f, "console.log", nodeLog) }

func TestRepeatedLinesAreCounted(t *testing.T) {
	line := `2016/01/01 10:00:00 [error] 100#0: *1 connect() to unix:/a failed (11: Resource temporarily unavailable) while connecting to upstream` + "\n"
	c := readFiles(t, map[string]string{"error.log": strings.Repeat(line, 25_000)})
	sum := 0.0
	for _, e := range c.EventsOf(UpstreamBusy) {
		sum += e.Times.Number
	}
	if len(c.Events) != 20_000 || sum != 25_000 {
		t.Errorf("%d events stand for %v lines, want 20000 for 25000", len(c.Events), sum)
	}
	const told = "the first 20,000 of its 25,000 lines of one kind (upstream busy) are kept, and the last of these counts for the others"
	if why(c, "error.log") != told || c.Inputs[0].Note != told {
		t.Errorf("told: %q, note %q", why(c, "error.log"), c.Inputs[0].Note)
	}
}
