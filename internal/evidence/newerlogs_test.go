package evidence

import (
	"strings"
	"testing"
)

const celeryLog = `[2024-03-11 02:14:08,112: INFO/MainProcess] worker ready.
[2024-03-11 02:17:21,150: ERROR/MainProcess] Process 'ForkPoolWorker-8' pid:41 exited with 'signal 9 (SIGKILL)'
[2024-03-11 02:17:21,164: ERROR/MainProcess] Task handler raised error: WorkerLostError('Worker exited prematurely: signal 9 (SIGKILL) Job: 7.')
billiard.exceptions.WorkerLostError: Worker exited prematurely: signal 9 (SIGKILL) Job: 7.
[2024-03-11 03:00:00,101: ERROR/MainProcess] Hard time limit (300s) exceeded for jobs.export[77d0]
[2024-03-11 03:00:00,211: ERROR/MainProcess] Process 'ForkPoolWorker-3' pid:19 exited with 'signal 9 (SIGKILL)'
[2024-03-11 03:10:00,211: ERROR/MainProcess] Process 'ForkPoolWorker-4' pid:20 exited with 'exitcode 1'
worker: Warm shutdown (MainProcess)
`

func TestCeleryTellsOfALostChildOnce(t *testing.T) {
	// Celery's documentation: a hard time limit kills the child with SIGKILL.
	wantEvents(t, readFile(t, "worker.log", celeryLog),
		"2024-03-11T02:17:21 worker signalled pid=41 signal=9",
		"2024-03-11T03:00:00 worker timeout pid=19 signal=9 limit=300",
		"2024-03-11T03:10:00 worker exit pid=20 code=1",
		"server stopping")
}

func TestCeleryBeforeFourTellsOfTheTaskAlone(t *testing.T) {
	wantEvents(t, readFile(t, "worker.log",
		`[2013-06-07 10:00:00,000: ERROR/MainProcess] Task handler raised error: WorkerLostError('Worker exited prematurely: exitcode -9.',)`+"\n"),
		"2013-06-07T10:00:00 worker signalled signal=9")
}

// logrotate's copytruncate leaves a hole before what is written next.
func TestALogThatWasCutBeginsWithAHole(t *testing.T) {
	wantEvents(t, readFile(t, "worker.log", strings.Repeat("\x00", 70_000)+
		"[2024-03-11 02:17:21,150: ERROR/MainProcess] Process 'ForkPoolWorker-8' pid:41 exited with 'signal 9 (SIGKILL)'\n"),
		"2024-03-11T02:17:21 worker signalled pid=41 signal=9")
}

func FuzzCelery(f *testing.F) { fuzzFile(f, "worker.log", celeryLog) }

const loopLog = `2023-09-14 11:04:31.907 WARN  [vertx-blocked-thread-checker] i.v.c.i.BlockedThreadChecker - Thread Thread[vert.x-eventloop-thread-1,5,main] has been blocked for 2871 ms, time limit is 2000 ms
2023-09-14 11:04:40.000 WARN  [vertx-blocked-thread-checker] i.v.c.i.BlockedThreadChecker - Thread Thread[#31,vert.x-eventloop-thread-2,5,main] has been blocked for 3000 ms, time limit is 2000 ms
2023-09-14 11:05:31.907 WARN  [vertx-blocked-thread-checker] i.v.c.i.BlockedThreadChecker - Thread Thread[vert.x-worker-thread-4,5,main] has been blocked for 61988 ms, time limit is 60000
2024-01-19 09:05:33,930 WARNING asyncio Executing <Handle _SelectorSocketTransport._read_ready()> took 5.270 seconds
`

func TestLoopsTellHowLongTheyWereHeld(t *testing.T) {
	// Worker threads of Vert.x are made to be blocked.
	wantEvents(t, readFile(t, "app.log", loopLog),
		"2023-09-14T11:04:31 loop blocked comm=vert.x-eventloop-thread-1 elapsed=2.871 limit=2",
		"2023-09-14T11:04:40 loop blocked comm=vert.x-eventloop-thread-2 elapsed=3 limit=2",
		"2023-09-14T11:05:31 app progress",
		"2024-01-19T09:05:33 loop blocked elapsed=5.27")
}

func FuzzLoopLog(f *testing.F) { fuzzFile(f, "app.log", loopLog) }

const siteLog = `2025-02-11T07:00:09.801Z Starting container: web_5a1c.
2025-02-11T07:00:10.220Z Container is running.
2025-02-11T07:00:14.000Z Container has finished running with exit code: 1.
2025-02-11T07:00:14.100Z Site container: web terminated during site startup.
2025-02-11T07:01:00.000Z Starting container: web_5a1d.
2025-02-11T07:04:50.612Z Site startup probe failed after 230.39 seconds.
2025-02-11T07:04:50.614Z Failed to start site. Revert by stopping site.
2025-02-11T07:04:51.614Z Container has finished running with exit code: 137.
2025-02-11T07:05:00.000Z Starting container: web_5a1e.
2025-02-11T07:05:13.300Z Site startup probe succeeded after 13.3 seconds.
`

func TestThePlatformsNewerMessagesCountAnEndOnce(t *testing.T) {
	// The second container is ended by the platform: 137 is its SIGKILL.
	wantEvents(t, readFile(t, "docker.log", siteLog),
		"2025-02-11T07:00:09 container started app=web",
		"2025-02-11T07:00:14 container exited app=web code=1",
		"2025-02-11T07:01:00 container started app=web",
		"2025-02-11T07:04:50 start timeout app=web elapsed=230.39",
		"2025-02-11T07:04:50 container stopped app=web",
		"2025-02-11T07:04:51 container stopped app=web code=137",
		"2025-02-11T07:05:00 container started app=web",
		"2025-02-11T07:05:13 container ready app=web elapsed=13.3")
}

func FuzzSiteLog(f *testing.F) { fuzzFile(f, "docker.log", siteLog) }

const systemLog = `Jan 12 03:04:05 host systemd[1]: web.service: A process of this unit has been killed by the OOM killer.
Jan 12 03:04:05 host systemd[1]: web.service: Failed with result 'oom-kill'.
Jan 12 03:05:05 host systemd-oomd[611]: Killed /user.slice/app.scope due to memory pressure for /user.slice being 62.31% > 50.00% for > 20s with reclaim activity
Jan 12 03:06:05 host earlyoom[611]: sending SIGTERM to process 4012 uid 1000 "java": badness 812, VmRSS 5012 MiB
`

func TestServicesOfTheMachineTellOfTheirKills(t *testing.T) {
	c := readFile(t, "journal.txt", systemLog)
	wantEvents(t, c,
		"container oom killed app=web.service reason=systemd",
		"container oom killed app=/user.slice/app.scope reason=systemd-oomd",
		"container oom killed pid=4012 comm=java anon=5.255462912e+09 reason=earlyoom")
}

func FuzzSystemLog(f *testing.F) { fuzzFile(f, "journal.txt", systemLog) }

func TestALevelIsNoMachine(t *testing.T) {
	c := readFile(t, "app.log", "2024-06-02T08:14:55.001306Z FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n")
	wantEvents(t, c, "2024-06-02T08:14:55 app error reason=JavaScript heap out of memory")
}
