package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"brink/internal/agent/agenttest"
	"brink/internal/clock"
	"brink/internal/experiment"
	"brink/internal/host"
	"brink/internal/measure"
	"brink/internal/record"
	"brink/internal/wire"
)

func TestMain(m *testing.M) { agenttest.Main(m, nil) }

func repetition(id int64) *record.Repetition { return &record.Repetition{ID: id} }

// fakeHost is a host whose apps are one HTTP server in the test. It can fail in
// ways in which a real one does not on demand.
type fakeHost struct {
	addr string
	// open and deploy are called first; what they return is an error of the host.
	open   func(ctx context.Context) error
	deploy func(ctx context.Context, app experiment.App) error
	// asked is called for every request but those that hang.
	asked func(*http.Request)
	// closing is the error of every Close, listen that of every Listen.
	closing, listen error
	// dial is what Dial returns.
	dial host.Dialer
	// presses tells whether the host says that it can put plans under pressure;
	// press is called for each of a Presser's methods and returns its error.
	presses bool
	press   func(what string) error

	mu       sync.Mutex
	sessions []*fakeSession
	pids     int
}

// newFakeHost starts the server: /ping answers, /hang does not before the client
// is gone, and calls hanging.
func newFakeHost(t *testing.T, hanging func()) *fakeHost {
	t.Helper()
	h := &fakeHost{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			if hanging != nil {
				hanging()
			}
			<-r.Context().Done()
			return
		}
		if h.asked != nil {
			h.asked(r)
		}
		w.Header().Set("X-Brink-Pid", "77")
		w.Header().Set("X-Brink-Served-Ns", "1000")
		fmt.Fprintln(w, "{}")
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // one test takes its files away
	server.Start()
	t.Cleanup(server.Close)
	h.addr = strings.TrimPrefix(server.URL, "http://")
	return h
}

// sharedServer is for tests that need many hosts.
var sharedServer = sync.OnceValue(func() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "{}") }))
})

// newSharedHost is a host whose apps only answer.
func newSharedHost(testing.TB) *fakeHost {
	return &fakeHost{addr: strings.TrimPrefix(sharedServer().URL, "http://")}
}

func stepText(t *testing.T, s experiment.Step) string {
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (*fakeHost) Kind() string { return "fake" }

func (*fakeHost) Check(context.Context, experiment.Plan, []experiment.App) ([]host.Missing, error) {
	return nil, nil
}

func (*fakeHost) Environment(context.Context) ([]host.Fact, error) {
	return []host.Fact{{Name: "cpus", Value: "3"}, {Name: "kernel", Value: "6.1"}}, nil
}

func (h *fakeHost) CanPress() bool { return h.presses }

func (h *fakeHost) Open(ctx context.Context, plan experiment.Plan, _ time.Duration, o host.Observer) (host.Session, error) {
	if h.open != nil {
		if err := h.open(ctx); err != nil {
			return nil, err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &fakeSession{host: h, plan: plan, observer: o}
	h.sessions = append(h.sessions, s)
	return s, nil
}

// closes lists how often each session was closed.
func (h *fakeHost) closes() []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	var n []int
	for _, s := range h.sessions {
		n = append(n, s.closed)
	}
	return n
}

type fakeSession struct {
	host     *fakeHost
	plan     experiment.Plan
	observer host.Observer
	deployed []string
	closed   int
}

func (s *fakeSession) Limits() []host.Limit {
	return []host.Limit{{Name: "cpus", Wanted: strconv.Itoa(s.plan.CPUs), Applied: true}}
}

func (s *fakeSession) Deploy(ctx context.Context, app experiment.App) (host.Endpoint, error) {
	s.host.mu.Lock()
	s.deployed = append(s.deployed, app.Name)
	s.host.pids++
	pid := s.host.pids
	s.host.mu.Unlock()
	s.tell(app.Name, wire.Deployed, 0)
	s.tell(app.Name, wire.Started, pid)
	if s.host.deploy != nil {
		if err := s.host.deploy(ctx, app); err != nil {
			return host.Endpoint{}, err
		}
	}
	s.tell(app.Name, wire.Healthy, pid)
	return host.Endpoint{Addr: s.host.addr, Pid: pid}, nil
}

func (s *fakeSession) Listen(ctx context.Context) (net.Listener, string, error) {
	if s.host.listen != nil {
		return nil, "", s.host.listen
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	return l, l.Addr().String(), nil
}

func (s *fakeSession) Dial() host.Dialer { return s.host.dial }

func (s *fakeSession) Inflate(_ context.Context, mb int, every time.Duration) error {
	return s.host.press(fmt.Sprintf("inflate %d MB every %s", mb, every))
}

func (s *fakeSession) Deflate(context.Context) error { return s.host.press("deflate") }

func (s *fakeSession) SwapIn(context.Context) error { return s.host.press("swap in") }

func (s *fakeSession) tell(app string, kind wire.EventKind, pid int) {
	now := clock.Real.Now().UnixNano()
	s.observer.Event(wire.Event{App: app, AtNs: now, Kind: kind, Pid: pid})
	s.observer.Log(wire.Log{App: app, AtNs: now, Stream: "stdout", Line: string(kind)})
	var x wire.Sample
	x.Clear()
	x.App, x.AtNs = app, now
	s.observer.Sample(&x)
}

func (s *fakeSession) Close() error {
	s.host.mu.Lock()
	s.closed++
	names := slices.Clone(s.deployed)
	s.host.mu.Unlock()
	for _, name := range names {
		s.tell(name, wire.Stopped, 0)
	}
	return s.host.closing
}

// hookedClock is the machine's time, but asks before it sleeps: the sleep is
// left out when the hook says so.
type hookedClock struct {
	clock.Clock
	skip func(d time.Duration) bool
}

func (c hookedClock) Sleep(ctx context.Context, d time.Duration) error {
	if c.skip(d) {
		return ctx.Err()
	}
	return c.Clock.Sleep(ctx, d)
}

// hurried leaves out every pause of the lab.
var hurried = hookedClock{clock.Real, func(time.Duration) bool { return true }}

// app is a fake or built-in app.
func app(name string) experiment.App {
	return experiment.App{
		Name: name, Runtime: "go", Workers: 2, Timeout: experiment.Duration(30 * time.Second), Backlog: 64,
		KeepAlive: experiment.Duration(2 * time.Second), StartLimit: experiment.Duration(30 * time.Second),
	}
}

// pings are requests at an app, one after another: such traffic has no rate that
// a busy machine could miss.
func pings(name string, n int) experiment.Traffic {
	return experiment.Traffic{App: name, Kind: "sequential", Path: "/ping", Count: n, Timeout: experiment.Duration(20 * time.Second)}
}

// plain is a step with one app of its own.
func plain(name string) experiment.Step {
	return experiment.Step{Name: name, Apps: []experiment.App{app("site")}, Traffic: []experiment.Traffic{pings("site", 3)}}
}

func design(repetitions int, steps ...experiment.Step) *experiment.Design {
	return &experiment.Design{Experiment: &experiment.Experiment{Name: "test"}, Repetitions: repetitions, Steps: steps}
}

// ran is a run that has ended, and what it left.
type ran struct {
	t testing.TB
	Result
	err error
	*record.Reader
}

// run executes a design and opens its record.
func run(t testing.TB, ctx context.Context, o Options) ran {
	t.Helper()
	w, err := record.Create(t.TempDir(), record.Run{ID: "r", Experiment: "test", StartedNs: clock.Real.Now().UnixNano(), Seed: o.Seed})
	if err != nil {
		t.Fatal(err)
	}
	if o.Clock == nil {
		o.Clock = hurried
	}
	o.Record = w
	r := ran{t: t}
	r.Result, r.err = Run(ctx, o)
	path := w.Path()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if r.Reader, err = record.Open(path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Reader.Close() })
	return r
}

func (r ran) ended(status, reason string) {
	r.t.Helper()
	got, err := r.Run(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	if got.Status != status || got.Reason != reason || got.EndedNs == 0 {
		r.t.Errorf("the run ended %s (%s) at %d, want %s (%s)", got.Status, got.Reason, got.EndedNs, status, reason)
	}
}

func (r ran) repetitions() []record.Repetition {
	r.t.Helper()
	list, err := r.Repetitions(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

// stepNames maps ids to names.
func (r ran) stepNames() map[int64]string {
	r.t.Helper()
	steps, err := r.Steps(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	names := map[int64]string{}
	for _, s := range steps {
		names[s.ID] = s.Name
	}
	return names
}

func (r ran) apps(rep int64) []record.App {
	r.t.Helper()
	list, err := r.Apps(context.Background(), rep)
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

func (r ran) streams(rep int64) []record.Stream {
	r.t.Helper()
	list, err := r.Streams(context.Background(), rep)
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

// probes are the requests of all streams of a repetition.
func (r ran) probes(rep int64) []record.Probe {
	r.t.Helper()
	var list []record.Probe
	for _, s := range r.streams(rep) {
		for p, err := range r.Probes(context.Background(), s.ID) {
			if err != nil {
				r.t.Fatal(err)
			}
			list = append(list, *p)
		}
	}
	return list
}

// events are those of a repetition of the given kinds, or all.
func (r ran) events(rep int64, kinds ...wire.EventKind) []wire.Event {
	r.t.Helper()
	list, err := r.Events(context.Background(), rep)
	if err != nil {
		r.t.Fatal(err)
	}
	if len(kinds) == 0 {
		return list
	}
	return slices.DeleteFunc(list, func(e wire.Event) bool { return !slices.Contains(kinds, e.Kind) })
}

func (r ran) table() *measure.Table {
	r.t.Helper()
	table, err := measure.Load(context.Background(), r.Reader, measure.Options{})
	if err != nil {
		r.t.Fatal(err)
	}
	return table
}
