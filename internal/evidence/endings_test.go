package evidence

import (
	"strings"
	"testing"
)

const composeText = `web-1  | [2026-03-20 06:00:01 +0000] [1] [INFO] Starting gunicorn 21.2.0
web-1  | [2026-03-20 06:00:05 +0000] [1] [ERROR] Shutting down: Master
web-1 exited with code 3
web-1  | [2026-03-20 06:00:09 +0000] [1] [INFO] Starting gunicorn 21.2.0
web-1 exited with code 3 (restarting)
web-1  | [2026-03-20 06:00:19 +0000] [1] [INFO] Starting gunicorn 21.2.0
web-1 exited with code 3
seed-1  | no rows
seed-1 exited with code 1
migrate-1 exited with code 0
app_cache_1 exited with code 143
Gracefully stopping... (press Ctrl+C again to force)
web-1 exited with code 137
`

// Compose prints an end without a time, and that of a job as that of a service: one
// that is told of once is no loop.
func TestComposeTellsOfEnds(t *testing.T) {
	c := readFile(t, "compose.log", composeText)
	wantWhole(t, c)
	var ends []string
	for _, e := range c.EventsOf(ContainerExited) {
		ends = append(ends, eventLine(e))
	}
	want := []string{
		"2026-03-20T06:00:05 container exited app=web-1 code=3 elapsed=4 reason=docker compose",
		"2026-03-20T06:00:09 container exited app=web-1 code=3 elapsed=0 reason=docker compose",
		"2026-03-20T06:00:19 container exited app=web-1 code=3 elapsed=0 reason=docker compose",
	}
	if strings.Join(ends, "\n") != strings.Join(want, "\n") {
		t.Errorf("ends:\n%s\nwant:\n%s", strings.Join(ends, "\n"), strings.Join(want, "\n"))
	}
	if len(c.Containers) != 1 || c.Containers[0].Name != "seed-1" || c.Containers[0].State != "exited" || c.Containers[0].ExitCode.Number != 1 {
		t.Errorf("containers: %+v", c.Containers)
	}
}

// Each line has the count so far: the sum over the lines is the latest of it. After
// a count that is no larger, another event of the same words counts anew.
func TestRunningCountsAreNotAddedUp(t *testing.T) {
	line := func(at, count string) string {
		return `{"TimeStamp":"2026-03-09 05:` + at + ` +0000 UTC","Type":"Warning","ReplicaName":"a--1-x","Msg":"startup probe failed: connection refused","Reason":"ReplicaUnhealthy","Count":` + count + "}\n"
	}
	for _, text := range []string{
		line("45:13", "12") + line("45:43", "42") + line("46:13", "72") + line("56:00", "5") + line("56:30", "8"),
		line("56:30", "8") + line("56:00", "5") + line("46:13", "72") + line("45:43", "42") + line("45:13", "12"), // newest first
	} {
		sum := 0.0
		for _, e := range readFile(t, "system.json", text).EventsOf(ProbeFailed) {
			sum += e.Times.Number
		}
		if sum != 72+8 {
			t.Errorf("%v refusals, want %v, in\n%s", sum, 72+8, text)
		}
	}
}

// The words are those of arch/x86 (show_signal_msg and do_trap) of Linux 5 and 6.
func TestKernelTellsOfFaults(t *testing.T) {
	c := readFile(t, "dmesg.txt", `[ 4101.100000] ocr[41231]: segfault at 0 ip 00007f2b1a8120a0 sp 00007ffd12345678 error 4 in libtess.so.5[7f2b1a800000+200000]
[ 4102.100000] python3[77]: segfault at 8 ip 00007f2b1a8120a0 sp 00007ffd12345678 error 4 in libc.so.6[28a5e,7f2b1a800000+195000] likely on CPU 1 (core 1, socket 0)
[ 4103.100000] traps: indexer[9121] general protection fault ip:7f0b1c8120a0 sp:7ffc52345678 error:0 in libstdc++.so.6.0.30[7f0b1c800000+200000]
[ 4104.100000] traps: sum[12] trap divide error ip:401126 sp:7ffc52345678 error:0 in sum[401000+1000]
[ 4105.100000] usb 1-1: new device, segfault at nothing
`)
	wantWhole(t, c)
	wantEvents(t, c, "faulted pid=41231 comm=ocr reason=segfault", "faulted pid=77 comm=python3 reason=segfault",
		"faulted pid=9121 comm=indexer reason=general protection", "faulted pid=12 comm=sum reason=divide error")
	for i, in := range []string{"libtess.so.5", "libc.so.6", "libstdc++.so.6.0.30", "sum"} {
		if c.Events[i].Frame != in {
			t.Errorf("event %d was in %q, want %q", i, c.Events[i].Frame, in)
		}
	}
}

// systemd prints a span in its own units (format_timespan).
func TestUnitsThatTheirWatchdogEnds(t *testing.T) {
	wantEvents(t, readFile(t, "journal.txt", `2026-06-02T07:00:00+0000 host1 systemd[1]: feed.service: Watchdog timeout (limit 1min 30s)!
2026-06-02T07:00:01+0000 host1 systemd[1]: feed.service: Main process exited, code=dumped, status=6/ABRT
2026-06-02T07:00:01+0000 host1 systemd[1]: feed.service: Failed with result 'watchdog'.
2026-06-02T07:00:06+0000 host1 systemd[1]: feed.service: Scheduled restart job, restart counter is at 1.
2026-06-02T07:05:01+0000 host1 systemd[1]: feed.service: Main process exited, code=exited, status=1/FAILURE
2026-06-02T07:05:01+0000 host1 systemd[1]: feed.service: Failed with result 'exit-code'.
2026-06-02T07:05:06+0000 host1 systemd[1]: feed.service: Scheduled restart job, restart counter is at 2.
`),
		"2026-06-02T07:00:06 container exited app=feed.service signal=6 limit=90 reason=watchdog",
		"2026-06-02T07:05:06 container exited app=feed.service code=1 reason=exit-code")
}

func TestRuntimesTellThatNothingWasRun(t *testing.T) {
	for _, text := range []string{
		"exec /usr/local/bin/docker-entrypoint.sh: exec format error",
		"standard_init_linux.go:228: exec user process caused: exec format error",
		`standard_init_linux.go:178: exec user process caused "no such file or directory"`,
		"exec /app/start.sh: permission denied",
		"exec container process `/app/start.sh`: Exec format error",
	} {
		c := readFile(t, "web.log", text+"\n")
		if got := c.EventsOf(AppError); len(got) != 1 || got[0].Error != text {
			t.Errorf("%s gave %+v", text, got)
		}
	}
	if got := readFile(t, "web.log", "exec plan: cache of 3, no such file or directory yet\n").EventsOf(AppError); len(got) != 0 {
		t.Errorf("a program's own words are no failure to run it: %+v", got)
	}
}

func TestPumaTellsWhyItGivesWorkersUp(t *testing.T) {
	c := readFile(t, "puma.log", `[1] *      Workers: 2
[1] ! Terminating timed out worker (Worker 0 failed to boot within 60 seconds): 21
2026-05-01T10:19:00Z [1] ! Terminating timed out worker (worker failed to check in within 45 seconds): 30
`)
	wantEvents(t, c, "worker timeout pid=21 limit=60", "2026-05-01T10:19:00 worker timeout pid=30 limit=45")
	wantValue(t, "Workers", c.Logs[0].Workers, 2, Events, "puma.log:1 Workers")
}

// The two forms are those of the command line (az containerapp, 2.x).
func TestIngressNamesThePortThatIsAsked(t *testing.T) {
	for text, field := range map[string]string{
		`{"targetPort": 8080, "external": true, "transport": "Auto"}`:                                                       "targetPort",
		`{"name":"invoices","properties":{"configuration":{"ingress":{"fqdn":"invoices.example.test","targetPort":8080}}}}`: "properties.configuration.ingress.targetPort",
	} {
		c := readFile(t, "ingress.json", text)
		s, ok := c.Config.Setting(TargetPort)
		if !ok {
			t.Fatalf("no port in %s", text)
		}
		wantValue(t, "port", s.Value, 8080, NoUnit, "ingress.json "+field)
	}
	if _, ok := readFile(t, "ingress.json", `{"targetPort": 0, "external": true}`).Config.Setting(TargetPort); ok {
		t.Error("port 0 names none")
	}
}

func FuzzCompose(f *testing.F) { fuzzFile(f, "compose.log", composeText) }
