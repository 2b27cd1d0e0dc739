package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"brink/internal/record"
	"brink/internal/wire"
)

// staticBrink builds brink as it is released. Guests run it, which the tests'
// own program cannot.
var staticBrink = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "brink-static-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "brink")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "brink/cmd/brink")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
})

// machines bounds the wait for the first guests, and for the image that they need.
const machines = 10 * time.Minute

// One run on virtual machines, from the command line: it is killed in its second
// step and taken up again, and then its record is asked for what happened in
// each. The subtests read one record. Nothing runs beside it: it needs all CPUs.
func TestVM(t *testing.T) {
	s := newSession(t)
	brink, err := staticBrink()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(filepath.Dir(brink)) })
	text, err := os.ReadFile(filepath.Join("testdata", "vm", "machine.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s.file("machine.yaml", string(text))
	cutRun(s, brink)
	r, err := record.Open(s.path("run"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m := &machineRun{t: t, r: r}
	m.read()
	t.Run("resume", m.resumed)
	t.Run("zip and container", m.modes)
	t.Run("ends", m.ends)
	t.Run("front end", m.held)
	t.Run("cascade", m.cascade)
}

// cutRun kills brink while the traffic of the second step is under way, checks
// what is left, and goes on to the end.
func cutRun(s *session, brink string) {
	s.t.Helper()
	var said bytes.Buffer
	start := func(args ...string) *exec.Cmd {
		cmd := s.command(args...)
		cmd.Path = brink
		cmd.Stdout, cmd.Stderr = &said, &said
		return cmd
	}
	cmd := start("run", "machine.yaml", "--seed", "1", "--out", "run")
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	limit := time.After(machines)
	for !s.answers("run", "SELECT 1 FROM repetitions WHERE position = 2 AND traffic_ns IS NOT NULL") {
		select {
		case <-ended:
			s.t.Fatalf("brink ended: %s", &said)
		case <-limit:
			s.t.Fatalf("the second step did not come to its traffic: %s", &said)
		case <-time.After(50 * time.Millisecond):
		}
	}
	if n := len(s.find("qemu-system")); n != 1 {
		s.t.Errorf("%d machines run, want 1", n)
	}
	if err := cmd.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	<-ended
	s.await("the end of the machine", func() bool { return len(s.marked()) == 0 })
	if err := start("run", "--resume", "run").Run(); err != nil {
		s.t.Fatalf("%v: %s", err, &said)
	}
	if left := s.marked(); len(left) > 0 {
		s.t.Errorf("processes %v are left", left)
	}
	if left, _ := filepath.Glob(s.path("runtime/brink/*")); len(left) > 0 {
		s.t.Errorf("left over: %v", left)
	}
}

// answers tells whether the record of a run has a row for the question.
func (s *session) answers(dir, question string) bool {
	r, err := record.Open(s.path(dir))
	if err != nil {
		return false
	}
	defer r.Close()
	_, rows, err := r.Query(s.t.Context(), question)
	if err != nil {
		return false
	}
	for range rows {
		return true
	}
	return false
}

// machineRun is the record of such a run.
type machineRun struct {
	t *testing.T
	r *record.Reader
	// steps has the repetition of each that was executed to its end, all of them
	// in all.
	steps map[string]record.Repetition
	all   []record.Repetition
}

func (m *machineRun) read() {
	m.t.Helper()
	steps, err := m.r.Steps(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	if m.all, err = m.r.Repetitions(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
	m.steps = map[string]record.Repetition{}
	for _, rep := range m.all {
		if rep.Status == record.Done {
			m.steps[steps[rep.StepID-1].Name] = rep
		}
	}
}

// resumed: each step was executed once, and the one that was cut a second time.
func (m *machineRun) resumed(t *testing.T) {
	var got []string
	for _, rep := range m.all {
		got = append(got, strconv.Itoa(rep.Position)+" "+rep.Status)
	}
	want := []string{"1 done", "2 interrupted", "2 done", "3 done", "4 done", "5 done"}
	if !slices.Equal(got, want) || len(m.steps) != 5 {
		t.Errorf("repetitions %v, want %v", got, want)
	}
	run, err := m.r.Run(t.Context())
	if err != nil || run.Status != record.Done || run.Host != "vm" || run.Accelerator == "none" {
		t.Errorf("run %+v, %v", run, err)
	}
	if n := m.count(t, "SELECT count(*) FROM resumptions"); n != 1 {
		t.Errorf("%d resumptions, want 1", n)
	}
	// What came after the cut belongs to the repetition that came after it.
	if n := m.count(t, "SELECT count(*) FROM events e JOIN repetitions r ON r.id = e.repetition_id WHERE e.at_ns < r.started_ns - 1000000000 OR e.at_ns > r.ended_ns + 60000000000"); n != 0 {
		t.Errorf("%d events lie outside of their repetition", n)
	}
	if n := m.count(t, "SELECT count(*) FROM facts WHERE name = 'speed factor' AND value > 0"); n != 1 {
		t.Errorf("%d speed factors, want 1", n)
	}
	if n := m.count(t, "SELECT count(DISTINCT repetition_id) FROM logs WHERE stream = 'clock' AND app = ''"); n != 6 {
		t.Errorf("the clocks of %d machines were compared, want 6", n)
	}
}

// modes: the same app either way, limited as a container, and answering.
func (m *machineRun) modes(t *testing.T) {
	rep := m.steps["modes"]
	for _, app := range []string{"zipped", "boxed"} {
		if n := m.count(t, fmt.Sprintf("SELECT count(*) FROM %s AND a.name = '%s' AND p.status = 200", probesOf(rep), app)); n != 10 {
			t.Errorf("%d requests to %s were answered, want 10", n, app)
		}
		// 20 MB were asked for, and a container may have 150.
		if mb := m.count(t, fmt.Sprintf("SELECT max(cg_memory) / 1048576 FROM samples WHERE repetition_id = %d AND app = '%s'", rep.ID, app)); mb < 20 || mb > 150 {
			t.Errorf("the cgroup of %s has %d MB", app, mb)
		}
	}
	if command := m.events(t, rep, "boxed", wire.Deployed)[0].Detail; !strings.Contains(command, "crun") {
		t.Errorf("the container was started by %q", command)
	}
	for _, want := range []string{`"Name":"memory","Wanted":"700 MB","Applied":true`, `"Name":"swap","Wanted":"100 MB","Applied":true`, `"Name":"front end"`} {
		if !strings.Contains(rep.Limits, want) {
			t.Errorf("limits %s, want %s", rep.Limits, want)
		}
	}
}

// ends: what kills an app is told apart, and the platform's rules hold.
func (m *machineRun) ends(t *testing.T) {
	rep := m.steps["ends"]
	exits := m.events(t, rep, "crash", wire.Exited)
	restarts := m.events(t, rep, "crash", wire.Restarted)
	if len(exits) != 3 || len(restarts) != 2 || len(m.events(t, rep, "crash", wire.GaveUp)) != 1 || len(m.events(t, rep, "crash", wire.OOMKilled)) != 0 {
		t.Fatalf("the app that crashes: %+v", m.events(t, rep, "crash"))
	}
	for i, e := range exits {
		if e.Code == nil || *e.Code != 7 || e.Signal != 0 {
			t.Errorf("exit %+v, want code 7", e)
		}
		if i < len(restarts) {
			// 1 s, then 2 s.
			if pause, want := time.Duration(restarts[i].AtNs-e.AtNs), time.Second<<i; pause < want {
				t.Errorf("restart %d came after %s, want a back-off of %s", i+1, pause, want)
			}
		}
	}
	greedy := m.events(t, rep, "greedy", wire.OOMKilled, wire.Exited)
	if len(greedy) != 6 {
		t.Fatalf("the app that takes too much: %+v", m.events(t, rep, "greedy"))
	}
	for i, e := range greedy {
		want := [...]wire.EventKind{wire.OOMKilled, wire.Exited}[i%2]
		if e.Kind != want || e.Signal != 9 || e.Kind == wire.OOMKilled && !strings.Contains(e.Detail, "cgroup was out of memory") {
			t.Errorf("event %+v, want %s with signal 9", e, want)
		}
	}
	killed := m.events(t, rep, "slow", wire.WorkerKilled)
	if len(killed) != 1 || killed[0].Detail != "worker time-out" || len(m.events(t, rep, "slow", wire.OOMKilled, wire.Exited, wire.Restarted)) != 0 {
		t.Errorf("the app whose worker is slow: %+v, want gunicorn's time-out and nothing of the platform's", m.events(t, rep, "slow"))
	}
	// The worker took its request with it; the app that was given up is refused.
	for app, status := range map[string]int{"slow": 502, "crash": 503} {
		if n := m.count(t, fmt.Sprintf("SELECT count(*) FROM %s AND a.name = '%s' AND p.status = %d", probesOf(rep), app, status)); n != 1 {
			t.Errorf("%d answers %d of %s, want 1", n, status, app)
		}
	}
}

// held: requests wait for an app that starts, for as long as the plan says.
func (m *machineRun) held(t *testing.T) {
	rep := m.steps["held"]
	healthy := m.events(t, rep, "late", wire.Healthy)
	if len(healthy) != 1 {
		t.Fatalf("events %+v", m.events(t, rep, "late"))
	}
	from := probesOf(rep)
	const hold = int64(3 * time.Second)
	refused := m.count(t, "SELECT count(*) FROM "+from+" AND p.status = 503")
	held := m.count(t, fmt.Sprintf("SELECT count(*) FROM %s AND p.status = 200 AND p.sent_ns < %d", from, healthy[0].AtNs))
	if refused == 0 || held == 0 || held > 7 { // one every 500 ms for 3 s
		t.Errorf("%d requests were refused and %d held until the app was up", refused, held)
	}
	if n := m.count(t, fmt.Sprintf("SELECT count(*) FROM %s AND p.status = 503 AND p.done_ns - p.sent_ns < %d", from, hold)); n != 0 {
		t.Errorf("%d requests were refused before their time", n)
	}
	if n := m.count(t, fmt.Sprintf("SELECT count(*) FROM %s AND p.status = 200 AND p.done_ns < %d", from, healthy[0].AtNs-int64(time.Second))); n != 0 {
		t.Errorf("%d requests were answered before the app was up", n)
	}
	if n := m.count(t, "SELECT count(*) FROM "+from+" AND p.status NOT IN (200, 503)"); n != 0 {
		t.Errorf("%d requests came to something else", n)
	}
}

// cascade: apps that start together within their limit on a plan that has room
// for them miss it on one that has not, and all are restarted by the platform,
// which alone ends them.
func (m *machineRun) cascade(t *testing.T) {
	roomy, tight := m.steps["roomy"], m.steps["tight"]
	apps := []string{"crowd-1", "crowd-2", "crowd-3"}
	for _, app := range apps {
		if got := m.events(t, roomy, app, wire.Restarted, wire.Healthy); len(got) != 1 || got[0].Kind != wire.Healthy {
			t.Errorf("%s with room: %+v, want it healthy at once", app, got)
		}
		stops := m.events(t, tight, app, wire.Stopped)
		if len(m.events(t, tight, app, wire.Restarted)) != 1 || len(stops) == 0 || !strings.Contains(stops[0].Detail, "it did not answer /health within 10s") {
			t.Errorf("%s without room: %+v, want it to miss its start limit and be restarted", app, m.events(t, tight, app))
		}
	}
	if n := m.count(t, fmt.Sprintf("SELECT count(*) FROM events WHERE repetition_id = %d AND kind IN ('oom_killed', 'exited')", tight.ID)); n != 0 {
		t.Errorf("%d apps ended otherwise than by the platform's rules", n)
	}
	const stalled = "SELECT (max(psi_mem_full) - min(psi_mem_full)) / 1000000 FROM samples WHERE app = '' AND repetition_id = %d"
	if with, without := m.count(t, fmt.Sprintf(stalled, roomy.ID)), m.count(t, fmt.Sprintf(stalled, tight.ID)); with > 1 || without < 5 {
		t.Errorf("everything stood still for memory for %d s with room and %d s without", with, without)
	}
}

// probesOf is the FROM of a query for the requests of a repetition, p, to apps,
// a.
func probesOf(rep record.Repetition) string {
	return fmt.Sprintf("probes p JOIN streams s ON s.id = p.stream_id JOIN apps a ON a.id = s.app_id WHERE s.repetition_id = %d", rep.ID)
}

// count is the only number that a query answers.
func (m *machineRun) count(t *testing.T, query string) int64 {
	t.Helper()
	_, rows, err := m.r.Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	for row, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.ParseInt(fmt.Sprint(row[0]), 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		return n
	}
	t.Fatalf("%s: no answer", query)
	return 0
}

func (m *machineRun) events(t *testing.T, rep record.Repetition, app string, kinds ...wire.EventKind) []wire.Event {
	t.Helper()
	list, err := m.r.Events(t.Context(), rep.ID)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(list, func(e wire.Event) bool {
		return e.App != app || len(kinds) > 0 && !slices.Contains(kinds, e.Kind)
	})
}
