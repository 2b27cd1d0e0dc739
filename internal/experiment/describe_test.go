package experiment

import "testing"

func TestStepsAreDescribed(t *testing.T) {
	steps := expand(t, `
  - {name: a, runtime: flask, worker_class: gthread, workers: 2, threads: 8}
  - {name: b, runtime: go, alloc_mb: 50}
  - {name: c, runtime: command, command: [/bin/app, -v]}`, `
  - {name: one, apps: [a], traffic: {kind: batch, count: 5, path: /x}}
  - name: all
    traffic:
      - {app: b, kind: steady, path: /s, every: 100ms, duration: 2s}
      - {app: c, kind: rate, path: /r, rate: 2.5, arrivals: poisson, count: 9}
      - {app: a, kind: batch, count: 3, stagger: 5ms, path: /b}
      - {app: a, kind: sequential, count: 4, path: /q}`, "")
	for _, tc := range []struct{ got, want string }{
		{steps[0].AppsText(), "a (gunicorn gthread, 2×8 threads)"},
		{steps[0].TrafficText(), "5 at once: /x"},
		{steps[1].AppsText(), "a (gunicorn gthread, 2×8 threads), b (brink, 1 worker, 50 MB), c (/bin/app, 1 worker)"},
		{steps[1].TrafficText(), "one every 100ms for 2s: /s at b, 2.5/s poisson, at most 9: /r at c, 3, 5ms apart: /b at a, 4 in a row: /q at a"},
	} {
		if tc.got != tc.want {
			t.Errorf("got  %s\nwant %s", tc.got, tc.want)
		}
	}
}

func TestCopiesAreDescribedTogether(t *testing.T) {
	steps := expand(t, `
  - {name: web, runtime: node, copies: 3, alloc_mb: 50}
  - {name: api, runtime: node, alloc_mb: 60}`, `
  - name: all
    traffic: [{app: web, kind: batch, count: 5, path: /x}, {app: api, kind: batch, count: 5, path: /x}]
  - name: one
    apps: [api]
    traffic: [{app: api, kind: batch, count: 5, path: /x}, {app: api, kind: batch, count: 5, path: /x}]`, "")
	for _, tc := range []struct{ got, want string }{
		{steps[0].AppsText(), "web-1 to web-3 (node, 1 worker, 50 MB), api (node, 1 worker, 60 MB)"},
		{steps[0].TrafficText(), "5 at once: /x at web-1 to web-3, 5 at once: /x at api"},
		{steps[1].TrafficText(), "5 at once: /x, 5 at once: /x"},
	} {
		if tc.got != tc.want {
			t.Errorf("got  %s\nwant %s", tc.got, tc.want)
		}
	}
}

func TestSubstituteKeepsWorkersAndLimits(t *testing.T) {
	a := App{Name: "api", Runtime: "flask", WorkerClass: "gthread", Workers: 4, Threads: 8, Backlog: 9}
	a.SubstituteWith("go")
	if want := (App{Name: "api", Runtime: "go", Workers: 4, Threads: 1, Backlog: 9}); a.Server() != "brink" || a.Runtime != want.Runtime ||
		a.WorkerClass != "" || a.Threads != 1 || a.Workers != want.Workers || a.Backlog != want.Backlog {
		t.Errorf("got %+v, want %+v", a, want)
	}
}
