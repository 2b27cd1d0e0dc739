package evidence

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

const podYAML = `apiVersion: v1
kind: Pod
metadata:
  creationTimestamp: "2026-03-01T10:00:00Z"
  name: api-0
spec:
  containers:
  - command: ["gunicorn", "-w", "2", "app:app"]
    image: api:4
    livenessProbe:
      failureThreshold: 3
      httpGet:
        path: /live
        port: 8080
      timeoutSeconds: 2
    name: api
    resources:
      limits:
        cpu: 500m
        memory: 512Mi
status:
  containerStatuses:
  - containerID: containerd://1
    image: api:4
    lastState:
      terminated:
        exitCode: 137
        finishedAt: "2026-03-01T11:00:00Z"
        reason: OOMKilled
        startedAt: "2026-03-01T10:50:00Z"
    name: api
    ready: false
    restartCount: 7
    state:
      waiting:
        message: back-off 5m0s restarting failed container=api pod=api-0
        reason: CrashLoopBackOff
  qosClass: Burstable
`

const podTwinJSON = `{"apiVersion":"v1","kind":"Pod","metadata":{"creationTimestamp":"2026-03-01T10:00:00Z","name":"api-0"},"spec":{"containers":[{"command":["gunicorn","-w","2","app:app"],
"image":"api:4","livenessProbe":{"failureThreshold":3,"httpGet":{"path":"/live","port":8080},"timeoutSeconds":2},"name":"api","resources":{"limits":{"cpu":"500m","memory":"512Mi"}}}]},
"status":{"containerStatuses":[{"containerID":"containerd://1","image":"api:4","lastState":{"terminated":{"exitCode":137,"finishedAt":"2026-03-01T11:00:00Z","reason":"OOMKilled","startedAt":"2026-03-01T10:50:00Z"}},
"name":"api","ready":false,"restartCount":7,"state":{"waiting":{"message":"back-off 5m0s restarting failed container=api pod=api-0","reason":"CrashLoopBackOff"}}}],"qosClass":"Burstable"}}`

const eventYAML = `apiVersion: v1
items:
- apiVersion: v1
  count: 9
  involvedObject:
    name: api-0
  kind: Event
  lastTimestamp: "2026-03-05T04:10:20Z"
  message: Back-off restarting failed container
  reason: BackOff
  type: Warning
kind: List
metadata:
  resourceVersion: ""
`

// kubectl prints the same object either way (-o yaml, -o json), so that a case of
// one is a case of the other.
func TestPodsAsYAMLSayWhatTheySayAsJSON(t *testing.T) {
	want := readFile(t, "pod", podTwinJSON)
	indented := "apiVersion: v1\nitems:\n- " + strings.TrimSpace(strings.ReplaceAll(podYAML, "\n", "\n  ")) + "\nkind: List\n"
	for name, text := range map[string]string{
		"one": podYAML, "with a comment": "# the pod of that night\n---\n" + podYAML, "CRLF": strings.ReplaceAll(podYAML, "\n", "\r\n"), "list": indented,
	} {
		c := readFile(t, "pod", text)
		wantWhole(t, c)
		if !reflect.DeepEqual(c.Containers, want.Containers) {
			t.Errorf("%s: %+v, want %+v", name, c.Containers, want.Containers)
		}
		if len(c.Config.Start) != 1 || len(c.Config.Probes) != 1 {
			t.Errorf("%s: %+v", name, c.Config)
		}
	}
	if o := want.Containers[0]; o.OOMKilled != Yes || o.Reason != "CrashLoopBackOff" || o.Restarts.Number != 7 || o.MemoryLimit.Number != 512<<20 {
		t.Errorf("as JSON: %+v", o)
	}
	two := readFile(t, "pods", podYAML+"---\n"+strings.ReplaceAll(podYAML, "api-0", "api-1"))
	if len(two.Containers) != 2 || two.Containers[1].Name != "api-1/api" {
		t.Errorf("two documents: %+v", two.Containers)
	}
	_, status, _ := strings.Cut(podYAML, "containerStatuses:\n")
	part, _, _ := strings.Cut(status, "  qosClass")
	if c := readFile(t, "x", "containerStatuses:\n"+part); len(c.Containers) != 1 || c.Containers[0].LastReason != "OOMKilled" {
		t.Errorf("an excerpt: %+v", c.Containers)
	}
}

func TestKubeEventsAsYAML(t *testing.T) {
	c := readFile(t, "events", eventYAML)
	wantWhole(t, c)
	wantEvents(t, c, "2026-03-05T04:10:20 back-off app=api-0 reason=BackOff times=9")
}

// YAML can be made to unfold without end, and another file of Kubernetes tells
// nothing of its state.
func TestOtherYAMLIsRefusedInASentence(t *testing.T) {
	for want, text := range map[string]string{
		"anchors or aliases":      "kind: Pod\na: &a [x,x]\nb: [*a,*a]\nstatus:\n  containerStatuses: *a\n",
		"without a pod's status":  "apiVersion: v1\nkind: List\nitems:\n- kind: Service\n  restartCount: x\n",
		"in line 1 is no YAML":    "apiVersion: v1\nkind: Pod\nstatus:\n  containerStatuses:\n - [\n",
		"no format that is known": "apiVersion: v1\nkind: Service\nmetadata:\n  name: x\n",
	} {
		c := readFiles(t, map[string]string{"x": text})
		if len(c.Strangers) != 1 || !strings.Contains(c.Strangers[0].Why, want) || strings.Contains(c.Strangers[0].Why, "\n") {
			t.Errorf("%q: %+v, want %q", text, c.Strangers, want)
		}
	}
}

// A file of a few hundred KiB must not take long, whatever is in it. The limit is
// many times what it takes here.
func TestHostileYAMLTakesNoTime(t *testing.T) {
	keys := strings.Builder{}
	for i := range 50_000 {
		keys.WriteString("a" + strings.Repeat("b", i%7) + strconv.Itoa(i) + ": 1\n")
	}
	head := "kind: Pod\nstatus:\n  containerStatuses: "
	for name, text := range map[string]string{
		"brackets": head + strings.Repeat("[", 100_000), "braces": head + strings.Repeat("{", 100_000), "closed": head + strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000),
		"dashes": head + "\n  " + strings.Repeat("- ", 100_000), "a quote": head + "\"" + strings.Repeat("a\n", 100_000), "keys": "kind: Pod\n" + keys.String(),
		"blank lines": "kind: Pod\nx: |\n" + strings.Repeat("  \n", 100_000), "questions": "kind: Pod\n" + strings.Repeat("? ", 100_000),
	} {
		done := make(chan *Case, 1)
		go func() {
			c, _ := FromFiles(map[string][]byte{"x": []byte(text)})
			done <- c
		}()
		select {
		case c := <-done:
			if c == nil || len(c.Strangers) != 1 {
				t.Errorf("%s: %+v", name, c)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s takes longer than 20 s", name)
		}
	}
}

func FuzzKubeYAML(f *testing.F) { fuzzFile(f, "pod.yaml", podYAML, eventYAML) }

// A mark may have a comment behind it, and what is read before a fault stays.
func TestYAMLDocumentsAreReadUpToTheFault(t *testing.T) {
	c := readFile(t, "pods.yaml", podYAML+"--- # the next\n"+strings.Replace(podYAML, "name: api-0", "name: api-1", 1)+"---\nstatus: [\n")
	if len(c.Containers) != 2 {
		t.Errorf("%d containers, want 2", len(c.Containers))
	}
	lines := strings.Count(podYAML, "\n")
	want := fmt.Sprintf("what begins in line %d is no YAML as kubectl writes it: ", 2*lines+2)
	if note := c.Inputs[0].Note; !strings.HasPrefix(note, want) {
		t.Errorf("the note is %q, want %q", note, want)
	}
}
