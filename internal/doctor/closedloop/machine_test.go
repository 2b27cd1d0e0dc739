//go:build linux

package closedloop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"brink/internal/agent/agenttest"
	"brink/internal/doctor"
	"brink/internal/experiment"
	"brink/internal/guest"
	"brink/internal/host"
	"brink/internal/host/vm"
	"brink/internal/wire"
)

// releasedBrink builds brink as it is released, which guests run.
var releasedBrink = sync.OnceValues(func() (string, error) {
	path := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "released-brink")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "brink/cmd/brink")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
})

func brinkProgram(t *testing.T) string {
	t.Helper()
	path, err := releasedBrink()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// machine is a guest in which doctor runs.
type machine struct {
	host.Session
	seen *agenttest.Seen
	mu   sync.Mutex
	apps int
}

// patience is how long anything in a guest may take, which may be emulated and
// short of memory.
const patience = 4 * time.Minute

func boot(t *testing.T, plan experiment.Plan) *machine {
	t.Helper()
	began := time.Now()
	h := vm.New(vm.Options{Program: "brink test", Brink: brinkProgram(t), Progress: func(line string) { t.Log(line) }})
	m := &machine{seen: agenttest.NewSeen()}
	var err error
	if m.Session, err = h.Open(t.Context(), plan, time.Second, m.seen); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// How a machine ends says nothing of what was found in it; package vm's
		// tests want it to end well.
		if err := m.Close(); err != nil {
			t.Logf("Close: %v", err)
		}
		t.Logf("the machine was there for %s", time.Since(began).Round(time.Second))
	})
	return m
}

// lastSample is the latest that the agent took of the guest.
func (m *machine) lastSample() wire.Sample {
	all := m.seen.Samples("")
	if len(all) == 0 {
		return wire.Sample{}
	}
	return all[len(all)-1]
}

// name makes the name of another app.
func (m *machine) name(what string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.apps++
	return fmt.Sprintf("%s-%d", what, m.apps)
}

// said returns what an app has written to standard output.
func (m *machine) said(app string) string {
	var b strings.Builder
	for _, l := range m.seen.Logs() {
		if l.App == app && l.Stream == "stdout" {
			b.WriteString(l.Line + "\n")
		}
	}
	return b.String()
}

// everything returns what an app has written to both streams.
func (m *machine) everything(app string) string {
	var b strings.Builder
	for _, l := range m.seen.Logs() {
		if l.App == app {
			b.WriteString(l.Line + "\n")
		}
	}
	return b.String()
}

// command is an app that runs to its end and answers nobody.
func command(name string, argv ...string) experiment.App {
	return experiment.App{Name: name, Runtime: "command", Command: argv, StartLimit: experiment.Duration(patience)}
}

// run runs an app to its end and returns what it wrote.
func (m *machine) run(t *testing.T, app experiment.App) string {
	t.Helper()
	_, err := m.Deploy(t.Context(), app)
	var ended *host.StartError
	if !errors.As(err, &ended) {
		t.Fatalf("%s: %v, want it to end", app.Name, err)
	}
	if !slices.ContainsFunc(m.seen.Events(wire.Exited), func(e wire.Event) bool { return e.App == app.Name }) {
		t.Fatalf("%s did not end by itself: %v\n%s", app.Name, err, m.everything(app.Name))
	}
	return m.said(app.Name)
}

// shell runs a script to its end.
func (m *machine) shell(t *testing.T, script string) string {
	t.Helper()
	app := command(m.name("shell"), "sh", "-ec", script)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%.40q said:\n%.4000s", script, m.everything(app.Name))
		}
	})
	return m.run(t, app)
}

// holding ends the states that it holds.
const holding = `
hold() { echo ready; until [ -e /tmp/$NAME.stop ]; do sleep 0.3; done; kill $(jobs -p) 2>/dev/null; exit 1; }
`

// hold runs a script that sets a state up and then calls hold, and returns when
// it has. The state lasts until end.
func (m *machine) hold(t *testing.T, what, script string) (end func()) {
	t.Helper()
	app := command(m.name(what), "sh", "-c", holding+script)
	app.Env = map[string]string{"NAME": app.Name}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s said:\n%.4000s", what, m.everything(app.Name))
		}
	})
	ended := make(chan error, 1)
	go func() {
		_, err := m.Deploy(context.WithoutCancel(t.Context()), app)
		ended <- err
	}()
	for deadline := time.Now().Add(patience); !strings.Contains(m.said(app.Name), "ready\n"); time.Sleep(100 * time.Millisecond) {
		select {
		case err := <-ended:
			t.Fatalf("%s ended: %v\n%s", what, err, m.everything(app.Name))
		default:
			if time.Now().After(deadline) {
				t.Fatalf("%s was not ready in %s\n%s", what, patience, m.everything(app.Name))
			}
		}
	}
	return func() {
		m.shell(t, "touch /tmp/"+app.Name+".stop")
		<-ended
	}
}

// viewer is who looks.
type viewer string

const (
	root      viewer = "root"
	ordinary  viewer = "nobody"
	container viewer = "a container"
)

// doctor has brink doctor look at the guest it runs in.
func (m *machine) doctor(t *testing.T, who viewer, lasts time.Duration) *doctor.Report {
	t.Helper()
	argv := []string{guest.Program, "doctor", "--json", "--for", lasts.String()}
	if who == ordinary {
		argv = append([]string{"setpriv", "--reuid", fmt.Sprint(nobody), "--regid", fmt.Sprint(nobody), "--clear-groups", "env", "HOME=/tmp"}, argv...)
	}
	app := command(m.name("doctor"), argv...)
	if who == container {
		app.Deploy, app.MemoryLimitMB = "container", 200
	}
	out := m.run(t, app)
	r := &doctor.Report{}
	if err := json.Unmarshal([]byte(out), r); err != nil {
		t.Fatalf("doctor as %s: %v\n%s", who, err, m.everything(app.Name))
	}
	return r
}

// doctors has all kinds of viewers look at once.
func (m *machine) doctors(t *testing.T, lasts time.Duration) map[viewer]*doctor.Report {
	t.Helper()
	reports := map[viewer]*doctor.Report{}
	var wg sync.WaitGroup
	for _, who := range []viewer{root, ordinary, container} {
		wg.Go(func() {
			r := m.doctor(t, who, lasts)
			m.mu.Lock()
			reports[who] = r
			m.mu.Unlock()
		})
	}
	wg.Wait()
	if len(reports) < 3 {
		t.FailNow()
	}
	return reports
}

// modes are the modes of a report's findings, with their subjects.
func modes(r *doctor.Report) []string {
	list := []string{}
	for _, f := range r.Findings {
		list = append(list, strings.TrimSpace(string(f.Mode)+" "+f.Subject))
	}
	return list
}

// tries is how often a state that is held is looked at until all viewers have
// named it.
const tries = 8

// wantModes has all viewers look until each has found what it should, by "mode
// subject". Nothing else may be found in any look, but for what follows from it,
// and for what an emulated machine has when the real one's CPUs are not its own:
// a look with that is taken again.
func (m *machine) wantModes(t *testing.T, lasts time.Duration, want func(who viewer) []string) {
	t.Helper()
	var missed []string
	others := theNeighbours()
	for range tries {
		missed = nil
		for who, r := range m.doctors(t, lasts) {
			for _, f := range r.Findings {
				found := strings.TrimSpace(string(f.Mode) + " " + f.Subject)
				switch {
				case slices.Contains(want(who), found):
				case f.CausedBy != "" && slices.ContainsFunc(want(who), func(w string) bool { return strings.HasPrefix(w, string(f.CausedBy)) }):
				case f.Mode == doctor.CPUContention, others.crowd(t):
					missed = append(missed, fmt.Sprintf("%s found %s", who, found))
				default:
					t.Errorf("%s found %q:\n%s", who, found, sayAll(r))
				}
			}
			for _, w := range want(who) {
				if !slices.Contains(modes(r), w) {
					missed = append(missed, fmt.Sprintf("%s did not find %q but %q:\n%s", who, w, modes(r), sayAll(r)))
				}
			}
			t.Logf("%s found %q", who, modes(r))
		}
		if len(missed) == 0 {
			return
		}
	}
	t.Errorf("in each of %d looks something was missed, in the last:\n%s", tries, strings.Join(missed, "\n"))
}

// all wants the same of all viewers.
func all(want ...string) func(viewer) []string { return func(viewer) []string { return want } }

// client asks the apps of a guest.
func (m *machine) client() *http.Client {
	return &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) { return m.Dial()(ctx, addr) }}}
}
