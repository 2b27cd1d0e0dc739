package evidence

import (
	"strings"
	"testing"
)

const dockerLog = `2022-03-01T10:00:00.000Z INFO  - docker run -d -p 5000:8000 --name app1_0_ab12 -e WEBSITES_PORT=8000 -e SECRET_KEY=hunter2 img
2022-03-01T10:00:15.060Z INFO  - Waiting for response to warmup request for container app1_0_ab12. Elapsed time = 15.0600000 sec
2022-03-01T10:00:16.100Z ERROR - Container app1_0_ab12 for site app1 has exited, failing site start
2019-05-31 04:03:19.158 ERROR - Container app1_0 for site app1 did not start within expected time limit. Elapsed time = 230.4403647 sec
2019-05-31 04:03:19.160 ERROR - Container app1_0 didn't respond to HTTP pings on port: 443, failing site start. See container logs for debugging.
2019-05-31 04:05:00.000 INFO  - Container app1_0 for site app1 initialized successfully and is ready to serve requests.
`

func TestAppServiceDockerLogInBothForms(t *testing.T) {
	c := readFile(t, "docker.log", dockerLog)
	wantEvents(t, c,
		"2019-05-31T04:03:19 start timeout app=app1_0 elapsed=230.4403647",
		"2019-05-31T04:03:19 ping failed app=app1_0 port=443",
		"2019-05-31T04:05:00 container ready app=app1_0",
		"2022-03-01T10:00:00 container created app=app1_0_ab12 port=8000",
		"2022-03-01T10:00:15 start waiting app=app1_0_ab12 elapsed=15.06",
		"2022-03-01T10:00:16 container exited app=app1_0_ab12")
	for _, e := range c.Events {
		if e.Kind == ContainerCreated && e.Text != "docker run …" {
			t.Errorf("the command with its settings was kept: %q", e.Text)
		}
	}
}

func FuzzDockerLog(f *testing.F) { fuzzFile(f, "docker.log", dockerLog) }

// Exports have the newest row first; LastError stays after later starts.
const platformCSV = `TimeGenerated [UTC],Level,SiteName,Message
"4/11/2026, 11:39:02.000 AM",Informational,site1,"Container site1_0 for site site1 initialized successfully and is ready to serve requests. LastError: ContainerTimeout, LastErrorTimestamp: 04/10/2026 08:00:00, x"
"4/11/2026, 11:39:01.000 AM",Error,site1,"Container site1_0 didn't respond to HTTP pings on port: 80. Failing site start."
"4/11/2026, 11:39:00.000 AM",Informational,site1,"State: Starting, Action: None, LastErrorTimestamp: 01/01/0001 00:00:00"
`

func TestPlatformLogsNewestFirst(t *testing.T) {
	c := readFile(t, "query_data.csv", platformCSV)
	wantEvents(t, c,
		"2026-04-11T11:39:00 container started app=site1 reason=Starting",
		"2026-04-11T11:39:01 ping failed app=site1_0 port=80",
		"2026-04-11T11:39:02 container ready app=site1_0 reason=LastError ContainerTimeout, which is of 2026-04-10T08:00:00Z")
	if l := c.LogOf("AppServicePlatformLogs"); l == nil || l.Lines != 3 || l.Origin != FromPlatform {
		t.Errorf("log: %+v", l)
	}
}

func FuzzPlatformLogs(f *testing.F) { fuzzFile(f, "query_data.csv", platformCSV) }

const acaLog = `2026-04-12T15:32:44Z Warning ProbeFailed Readiness probe timed out after 3 seconds
2026-04-12T15:32:54Z Warning ProbeFailed Readiness probe failed 3 consecutive times
2026-04-12T15:33:10Z Warning ContainerTerminated Container terminated with reason 'ProbeFailure' (liveness)
2026-04-12T15:33:11Z Warning ContainerTerminated Container 'a' was terminated with exit code '137' and reason 'OOMKilled'
2026-04-12T15:33:59Z Normal  ContainerCreated Created container
`

func TestContainerAppsSystemLog(t *testing.T) {
	wantEvents(t, readFile(t, "system.log", acaLog),
		"2026-04-12T15:32:44 probe failed limit=3 probe=readiness reason=timeout",
		"2026-04-12T15:32:54 probe failed probe=readiness reason=ProbeFailed times=3",
		"2026-04-12T15:33:10 container killed probe=liveness reason=ProbeFailure",
		"2026-04-12T15:33:11 container oom killed reason=ContainerTerminated",
		"2026-04-12T15:33:59 container created reason=ContainerCreated")
	rows := `[{"TimeGenerated":"2026-04-12T15:32:44Z","Reason_s":"ProbeFailed","Type_s":"Warning","Log_s":"Liveness probe failed","Count_d":7,"ReplicaName_s":"app--1"}]`
	wantEvents(t, readFile(t, "logs.json", rows), "2026-04-12T15:32:44 probe failed app=app--1 probe=liveness reason=ProbeFailed times=7")
}

func FuzzContainerApps(f *testing.F) { fuzzFile(f, "system.log", acaLog) }

const kubeEventsText = `Warning  Unhealthy  2m (x3 over 5m)   kubelet  Liveness probe failed: Get "http://10.0.0.1:8080/health": context deadline exceeded (Client.Timeout exceeded while awaiting headers)
Warning  Unhealthy  1m   kubelet  Readiness probe failed: HTTP probe failed with statuscode: 503
Normal   Killing    2m   kubelet  Container app failed liveness probe, will be restarted
Warning  BackOff    1m   kubelet  Back-off restarting failed container
2m13s    Warning   FailedScheduling   pod/web-0   0/3 nodes are available
`

func TestKubernetesEventsAsText(t *testing.T) {
	wantEvents(t, readFile(t, "events.txt", kubeEventsText),
		"probe failed port=8080 address=10.0.0.1:8080 probe=liveness reason=timeout times=3",
		"probe failed code=503 probe=readiness reason=status",
		"container killed probe=liveness reason=Killing",
		"back-off reason=BackOff",
		"not scheduled app=web-0 reason=0/3 nodes are available")
}

func FuzzKubeEvents(f *testing.F) { fuzzFile(f, "events.txt", kubeEventsText) }

const kubeEventsJSONText = `{"kind":"List","items":[{"kind":"Event","type":"Warning","reason":"Unhealthy","message":"Liveness probe failed: dial tcp 10.0.0.1:8080: connect: connection refused",
"count":12,"lastTimestamp":"2026-04-12T15:33:10Z","involvedObject":{"kind":"Pod","name":"web-0"}}]}`

func TestKubernetesEventsAsJSON(t *testing.T) {
	wantEvents(t, readFile(t, "events.json", kubeEventsJSONText), "2026-04-12T15:33:10 probe failed app=web-0 probe=liveness reason=refused times=12")
}

const podText = `{"kind":"Pod","metadata":{"name":"web-0"},"spec":{"containers":[{"name":"app","command":["gunicorn"],"args":["-w","3","--timeout=60","-b","0.0.0.0:8000","app:app"],
"ports":[{"containerPort":8000}],"resources":{"limits":{"memory":"512Mi","cpu":"200m"}},
"livenessProbe":{"httpGet":{"path":"/health","port":8000},"timeoutSeconds":2}}]},
"status":{"qosClass":"Burstable","containerStatuses":[{"name":"app","restartCount":4,"ready":false,
"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled","finishedAt":"2026-04-12T15:33:10Z"}}}]}}`

func TestPod(t *testing.T) {
	c := readFile(t, "pod.json", podText)
	if len(c.Containers) != 1 {
		t.Fatalf("containers: %+v", c.Containers)
	}
	k := c.Containers[0]
	if k.Name != "web-0/app" || k.State != "waiting" || k.Reason != "CrashLoopBackOff" || k.OOMKilled != Yes || k.Ready != No || k.QOS != "Burstable" {
		t.Errorf("container: %+v", k)
	}
	wantValue(t, "restarts", k.Restarts, 4, Events, "pod.json status.containerStatuses[0].restartCount")
	wantValue(t, "last exit code", k.LastExitCode, 137, NoUnit, "")
	wantValue(t, "memory limit", k.MemoryLimit, 512<<20, Bytes, "")
	wantValue(t, "CPU limit", k.CPULimit, 0.2, NoUnit, "")
	p := c.Config.Probes[0]
	wantValue(t, "timeout", p.Timeout, 2, Seconds, "")
	// https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes: defaults.
	wantValue(t, "period", p.Period, 10, Seconds, "Kubernetes' default periodSeconds")
	s := c.Config.Start[0]
	if s.Server != "gunicorn" || s.Port != 8000 {
		t.Errorf("start: %+v", s)
	}
	wantValue(t, "workers", s.Workers, 3, Events, "")
	wantValue(t, "timeout", s.Timeout, 60, Seconds, "")
}

func FuzzKubeJSON(f *testing.F) { fuzzFile(f, "pod.json", podText, kubeEventsJSONText) }

const inspectText = `[{"Id":"x","Name":"/web","RestartCount":1,"Path":"gunicorn","Args":["--workers=2","app:app","--password","hunter2"],
"State":{"Status":"running","OOMKilled":false,"ExitCode":0,"StartedAt":"2026-04-12T15:33:10.123456789Z","Health":{"Status":"healthy"}},"HostConfig":{"Memory":0,"NanoCpus":500000000}}]`

func TestDockerInspect(t *testing.T) {
	c := readFile(t, "inspect.json", inspectText)
	k := c.Containers[0]
	if k.Name != "web" || k.OOMKilled != No || k.Health != "healthy" || k.Started.IsZero() {
		t.Errorf("container: %+v", k)
	}
	wantValue(t, "restarts", k.Restarts, 1, Events, "inspect.json RestartCount")
	wantMissing(t, "memory limit", k.MemoryLimit, Absent)
	wantValue(t, "CPU limit", k.CPULimit, 0.5, NoUnit, "")
	if got, want := c.Config.Start[0].Text, "gunicorn --workers=2 app:app --password ***"; got != want {
		t.Errorf("command %q, want %q", got, want)
	}
}

func FuzzDockerInspect(f *testing.F) { fuzzFile(f, "inspect.json", inspectText) }

func TestReplica(t *testing.T) {
	c := readFile(t, "replica.json", `{"restartCount":0,"runningState":"Running","startedAt":"2026-04-10T14:06:53Z"}`)
	wantValue(t, "restarts", c.Containers[0].Restarts, 0, Events, "replica.json restartCount")
	if c.Containers[0].OOMKilled != Unsure {
		t.Errorf("a replica does not tell of OOM kills: %+v", c.Containers[0])
	}
}

func TestProbeText(t *testing.T) {
	c := readFile(t, "probe.txt", "liveness: http-get /health delay=0s timeout=1s period=10s #success=1 #failure=3\n")
	p := c.Config.Probes[0]
	if p.Kind != "liveness" || p.Path != "/health" {
		t.Errorf("probe: %+v", p)
	}
	wantValue(t, "timeout", p.Timeout, 1, Seconds, "probe.txt:1 timeout")
	wantValue(t, "failure", p.Failure, 3, Events, "probe.txt:1 #failure")
}

func FuzzProbeText(f *testing.F) {
	fuzzFile(f, "probe.txt", "Liveness: http-get http://:8080/health delay=0s timeout=1s period=10s #success=1 #failure=3\n")
}

// The form that learn.microsoft.com/azure/container-apps/log-streaming shows.
const containerAppsConsoleText = `{"TimeStamp":"2026-01-15T10:00:01.71776","Log":"Connecting to the container 'api'..."}
{"TimeStamp":"2026-01-15T10:00:01.90451","Log":"Successfully Connected to container: 'api' [Revision: 'api--1', Replica: 'api--1-6d']"}
{"TimeStamp":"2026-01-15T10:00:02.12345+00:00","Log":"F [2026-01-15 10:00:02 +0000] [1] [CRITICAL] WORKER TIMEOUT (pid:8)"}
`

func TestConsoleOfContainerAppsInJSON(t *testing.T) {
	for _, text := range []string{containerAppsConsoleText, containerAppsConsoleText[strings.LastIndex(containerAppsConsoleText, "{"):]} {
		c := readFile(t, "x.json", text)
		wantEvents(t, c, "2026-01-15T10:00:02 worker timeout pid=8")
	}
}

// docker system events --format json, of docs.docker.com: Type, Action, Actor and
// timeNano.
const dockerEventsJSON = `{"status":"oom","id":"4f1c2d3e4b5a","from":"api:4","Type":"container","Action":"oom","Actor":{"ID":"4f1c2d3e4b5a","Attributes":{"image":"api:4","name":"api"}},"scope":"local","time":1768471202,"timeNano":1768471202123456789}
{"status":"die","id":"4f1c2d3e4b5a","from":"api:4","Type":"container","Action":"die","Actor":{"ID":"4f1c2d3e4b5a","Attributes":{"exitCode":"137","image":"api:4","name":"api"}},"scope":"local","time":1768471202,"timeNano":1768471202223456789}
`

func TestDockerEventsInJSON(t *testing.T) {
	c := readFile(t, "x.json", dockerEventsJSON)
	wantEvents(t, c, "2026-01-15T10:00:02 container oom killed app=api", "2026-01-15T10:00:02 container exited app=api code=137")
	first, _, _ := strings.Cut(dockerEventsJSON, "\n")
	wantEvents(t, readFile(t, "x.json", first), "2026-01-15T10:00:02 container oom killed app=api")
}

func TestAnEmptyListOfKubectl(t *testing.T) {
	c := readFile(t, "events.json", `{"apiVersion":"v1","items":[],"kind":"List","metadata":{"resourceVersion":""}}`)
	if c.Inputs[0].As != "kubectl, an empty list" {
		t.Errorf("%+v", c.Inputs)
	}
}

// What loggers and shippers call the message: Serilog, GELF (Graylog), Google's
// logging, OpenTelemetry and structlog.
func TestMessagesOfLogsInJSON(t *testing.T) {
	for _, key := range []string{"message", "msg", "log", "RenderedMessage", "short_message", "textPayload", "body", "event", "@message"} {
		line := `{"timestamp":"2026-01-15T10:00:02Z","` + key + `":"[2026-01-15 10:00:02 +0000] [1] [CRITICAL] WORKER TIMEOUT (pid:8)"}` + "\n"
		c := readFile(t, "x.json", line+line)
		wantEvents(t, c, "2026-01-15T10:00:02 worker timeout pid=8", "2026-01-15T10:00:02 worker timeout pid=8")
	}
}

func FuzzConsoleOfContainerApps(f *testing.F) {
	fuzzFile(f, "x.json", containerAppsConsoleText, dockerEventsJSON)
}
