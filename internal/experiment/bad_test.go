package experiment

import (
	"errors"
	"strings"
	"testing"
)

// good is a file without mistakes; each bad file is this one with a part
// replaced.
const good = `name: worker
title: A test
type: performance
question: Does it load?
hypotheses:
  - id: H1
    claim: Rounds.
    form: law
    metric: last_answer_s
    steps: held-*
    formula: ceil(requests / workers) * hold
    tolerance: 10%
plan: {cpus: 1}
apps:
  - name: api
    runtime: flask
    workers: 4
steps:
  - name: idle
    traffic: {kind: steady, path: /ping, every: 100ms, duration: 1s}
  - name: held
    factors:
      concurrency: [1, 5]
      hold: 2s
    traffic:
      kind: batch
      count: ${concurrency}
      path: /thread-hold?secs=${hold}
baseline: idle
repetitions: 6
profiles:
  quick: {scale: 0.2, repetitions: 3}
  slow: {scale: 100}
`

func parseGood(t *testing.T, opts Options) *Experiment {
	t.Helper()
	e, err := Parse("worker.yaml", []byte(good), opts)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

var badFiles = []struct {
	name, old, new string
	want           string
}{
	{"no mapping", good, "- 1\n",
		`worker.yaml:1:1: the file is a list; an experiment file is a mapping of fields such as name and steps.`},
	{"empty", good, "",
		`worker.yaml:1:1: the file is empty; "brink new NAME" writes one to start from.`},
	{"comment only", good, "# nothing\n",
		`worker.yaml:1:1: the file is empty; "brink new NAME" writes one to start from.`},
	{"no YAML", good, "name: [1,\n",
		`worker.yaml:1:7: not YAML: sequence end token ']' not found.`},
	{"bad indent", good, "name: x\n  title: y\n",
		`worker.yaml:1:7: not YAML: mapping value is not allowed in this context.`},
	{"tab", "    runtime: flask", "\truntime: flask",
		`worker.yaml:16:1: not YAML: a tab cannot indent; use spaces.`},
	{"binary", good, "name: \x00\x01",
		`worker.yaml:1:7: the file holds a zero byte, so it is no YAML.`},
	{"not UTF-8", good, "name: a\ntitle: \xff\xfe",
		`worker.yaml:2:8: the file is not UTF-8 text.`},
	{"two documents", "repetitions: 6", "repetitions: 6\n---\nname: b",
		`worker.yaml:32:5: the file has a second document; write one experiment per file.`},
	{"anchor", "name: api", "name: &a api",
		`worker.yaml:15:11: apps[0].name: anchors and aliases are not read; use a factor for a value that stands in several places.`},
	{"alias", "name: api", "name: *a",
		`worker.yaml:15:11: apps[0].name: anchors and aliases are not read; use a factor for a value that stands in several places.`},
	{"merge key", "    workers: 4", "    <<: {workers: 4}",
		`worker.yaml:17:10: apps[0]: merge keys are not read; write the fields out.`},
	{"tag", "workers: 4", "workers: !!int 4",
		`worker.yaml:17:14: apps[0].workers: tags are not read; leave "!!int" out.`},
	{"duplicate key", "title: A test", "title: A test\nname: b",
		`worker.yaml:3:1: name: "name" stands here a second time; the first is on line 1.`},
	{"unknown field", "question:", "qestion:",
		`worker.yaml:4:1: qestion: "qestion" is not a field of an experiment; did you mean "question"?`},
	{"unknown field far from any", "baseline: idle", "baseline: idle\nzzzzzzzz: 1",
		`worker.yaml:30:1: zzzzzzzz: "zzzzzzzz" is not a field of an experiment. Allowed: apps, baseline, calibration, expected, hypotheses, name, plan, profiles, question, reference, related, repetitions, sampling, settle, steps, symptoms, takeaways, title, type, variables, warm_up, wash_out, why.`},
	{"unknown field of traffic", "kind: batch", "kind: batch\n      methud: GET",
		`worker.yaml:27:7: steps[1].traffic.methud: "methud" is not a field of traffic. Allowed: app, arrivals, count, duration, every, kind, path, rate, reuse, stagger, start, timeout.`},
	{"missing field", "title: A test\n", "",
		`worker.yaml:1:1: title: is missing.`},
	{"empty field", "title: A test", "title:",
		`worker.yaml:2:7: title: is empty; write a value or leave the field out.`},
	{"blank text", "title: A test", "title: ' '",
		`worker.yaml:2:8: title: is empty; write a value or leave the field out.`},
	{"number for text", "title: A test", "title: 7",
		`worker.yaml:2:8: title: 7 is no text; put it in quotes.`},
	{"list for text", "title: A test", "title: [a]",
		`worker.yaml:2:8: title: is a list; write text.`},
	{"unknown type", "type: performance", "type: performence",
		`worker.yaml:3:7: type: "performence" is not a type of experiment; did you mean "performance"? Allowed: config, hybrid, performance.`},
	{"bad name", "name: worker", "name: Worker One",
		`worker.yaml:1:7: name: "Worker One" is not allowed here. Allowed: at most 64 small letters, digits and hyphens, the first no hyphen.`},
	{"zero workers", "workers: 4", "workers: 0",
		`worker.yaml:17:14: apps[0].workers: 0 is out of range. Allowed: 1 to 256.`},
	{"too many workers", "workers: 4", "workers: 257",
		`worker.yaml:17:14: apps[0].workers: 257 is out of range. Allowed: 1 to 256.`},
	{"text for number", "workers: 4", "workers: four",
		`worker.yaml:17:14: apps[0].workers: "four" is not a whole number.`},
	{"quoted number", "workers: 4", `workers: "4"`,
		`worker.yaml:17:14: apps[0].workers: "4" is not a whole number.`},
	{"fraction for whole number", "workers: 4", "workers: 1.5",
		`worker.yaml:17:14: apps[0].workers: 1.5 is not a whole number.`},
	{"backlog", "workers: 4", "backlog: 65536",
		`worker.yaml:17:14: apps[0].backlog: 65536 is out of range. Allowed: 1 to 65535.`},
	{"alloc", "workers: 4", "alloc_mb: 65537",
		`worker.yaml:17:15: apps[0].alloc_mb: 65537 is out of range. Allowed: 0 to 65536.`},
	{"cpus", "cpus: 1", "cpus: 257",
		`worker.yaml:13:14: plan.cpus: 257 is out of range. Allowed: 0 to 256.`},
	{"repetitions", "repetitions: 6", "repetitions: 51",
		`worker.yaml:30:14: repetitions: 51 is out of range. Allowed: 1 to 50.`},
	{"absurd duration", "duration: 1s", "duration: 25h",
		`worker.yaml:20:66: steps[0].traffic.duration: 25h is out of range. Allowed: more than 0s and at most 24h.`},
	{"negative duration", "duration: 1s", "duration: -1s",
		`worker.yaml:20:66: steps[0].traffic.duration: -1s is out of range. Allowed: more than 0s and at most 24h.`},
	{"no duration at all", "duration: 1s", "duration: 0s",
		`worker.yaml:20:66: steps[0].traffic.duration: 0s is out of range. Allowed: more than 0s and at most 24h.`},
	{"duration without unit", "duration: 1s", "duration: 10",
		`worker.yaml:20:66: steps[0].traffic.duration: 10 has no unit; write a duration such as 10s.`},
	{"no duration", "duration: 1s", "duration: soon",
		`worker.yaml:20:66: steps[0].traffic.duration: "soon" is not a duration; write a number with a unit, such as 1.5s or 2m.`},
	{"unknown runtime", "runtime: flask", "runtime: flaks",
		`worker.yaml:16:14: apps[0].runtime: "flaks" is not a runtime; did you mean "flask"? Allowed: asgi, command, flask, go, node.`},
	{"unknown worker class", "workers: 4", "worker_class: gthreads",
		`worker.yaml:17:19: apps[0].worker_class: "gthreads" is not a worker class; did you mean "gthread"? Allowed: gevent, gthread, sync.`},
	{"worker class of another runtime", "runtime: flask", "runtime: go\n    worker_class: sync",
		`worker.yaml:17:19: apps[0].worker_class: belongs to runtime flask, not to go.`},
	{"threads without gthread", "workers: 4", "threads: 2",
		`worker.yaml:17:14: apps[0].threads: more than 1 needs runtime flask with worker class gthread.`},
	{"command without program", "runtime: flask", "runtime: command",
		`worker.yaml:15:5: apps[0].command: is missing; runtime command needs the program and its arguments.`},
	{"command for flask", "runtime: flask", "runtime: flask\n    command: [a]",
		`worker.yaml:17:14: apps[0].command: belongs to runtime command, not to flask.`},
	{"a port for two", "steps:\n  - name: idle", "steps:\n  - name: both\n    apps: [{name: a, runtime: go, port: 8000}, {name: b, runtime: go, port: 8000}]\n    traffic: {kind: batch, count: 1, app: a, path: /ping}\n  - name: idle",
		`worker.yaml:20:77: steps[0].apps[1].port: 8000 is that of app a in the same step; leave it out, or write another.`},
	{"workers of node", "runtime: flask", "runtime: node",
		`worker.yaml:17:14: apps[0].workers: more than 1 needs runtime flask, asgi, go or command; the node app is one process.`},
	{"a time-out of node", "runtime: flask\n    workers: 4", "runtime: node\n    timeout: 60s",
		`worker.yaml:17:14: apps[0].timeout: belongs to runtimes flask and go; node has no watchdog that kills a worker.`},
	{"a time-out of uvicorn", "runtime: flask", "runtime: asgi\n    timeout: 60s",
		`worker.yaml:17:14: apps[0].timeout: belongs to runtimes flask and go; uvicorn has no watchdog that kills a worker.`},
	{"secret", "workers: 4", "env: {DB_PASSWORD: x}",
		`worker.yaml:17:11: apps[0].env.DB_PASSWORD: "DB_PASSWORD" looks like a secret, and what stands here is recorded; let the app read it from a file, or rename the variable.`},
	{"key", "workers: 4", "env: {STORAGE_KEY: x}",
		`worker.yaml:17:11: apps[0].env.STORAGE_KEY: "STORAGE_KEY" looks like a secret, and what stands here is recorded; let the app read it from a file, or rename the variable.`},
	{"env name", "workers: 4", "env: {a-b: x}",
		`worker.yaml:17:11: apps[0].env.a-b: "a-b" cannot name an environment variable. Allowed: letters, digits and underscores, the first no digit.`},
	{"env of brink", "workers: 4", "env: {PORT: 1}",
		`worker.yaml:17:11: apps[0].env.PORT: "PORT" is set by brink itself.`},
	{"duplicate app", "apps:\n", "apps:\n  - {name: api, runtime: go}\n",
		`worker.yaml:16:11: apps[1].name: "api" stands twice.`},
	{"duplicate step", "steps:\n", "steps:\n  - {name: idle, traffic: {kind: batch, path: /, count: 1}}\n",
		`worker.yaml:20:11: steps[1].name: "idle" names two steps; the first is on line 19.`},
	{"duplicate within a matrix", "name: held\n", "name: held-${hold}\n",
		`worker.yaml:21:11: steps[1].name: "held-2s" names two steps of one matrix; let the name refer to each of its factors.`},
	{"duplicate hypothesis", "hypotheses:\n", "hypotheses:\n  - {id: H1, claim: c, form: equivalent, metric: cpu_pct, margin: 1 points, steps: held-*}\n",
		`worker.yaml:7:9: hypotheses[1].id: "H1" names two hypotheses; the first is on line 6.`},
	{"unknown app", "kind: batch", "kind: batch\n      app: apo",
		`worker.yaml:27:12: steps[1].traffic.app: "apo" is not an app of the step; did you mean "api"? Allowed: api.`},
	{"unknown app in a step", "- name: held", "- name: held\n    apps: [apo]",
		`worker.yaml:22:12: steps[1].apps[0]: "apo" is not an app of the experiment; did you mean "api"? Allowed: api.`},
	{"which app", "apps:\n", "apps:\n  - {name: b, runtime: go}\n",
		`worker.yaml:21:15: steps[0].traffic.app: is missing; the step has 2 apps. Allowed: api, b.
worker.yaml:27:7: steps[1].traffic.app: is missing; the step has 2 apps. Allowed: api, b.`},
	{"kind of traffic", "kind: batch", "kind: bacth",
		`worker.yaml:26:13: steps[1].traffic.kind: "bacth" is not a kind of traffic; did you mean "batch"? Allowed: batch, rate, sequential, steady.`},
	{"path without slash", "path: /ping", "path: ping",
		`worker.yaml:20:35: steps[0].traffic.path: "ping" is not allowed here. Allowed: a path that starts with / and has spaces, # and special characters escaped.`},
	{"path with space", "path: /ping", "path: /p ng",
		`worker.yaml:20:35: steps[0].traffic.path: "/p ng" is not allowed here. Allowed: a path that starts with / and has spaces, # and special characters escaped.`},
	{"count missing", "      count: ${concurrency}\n", "",
		`worker.yaml:26:7: steps[1].traffic.count: is missing; batch traffic needs it.`},
	{"field of another kind", "count: ${concurrency}", "count: ${concurrency}\n      every: 1s",
		`worker.yaml:28:7: steps[1].traffic.every: does not belong to batch traffic.`},
	{"endless", ", duration: 1s", "",
		`worker.yaml:20:15: steps[0].traffic.duration: is missing; steady traffic without duration or count never ends.`},
	{"rate", "kind: steady, path: /ping, every: 100ms", "kind: rate, path: /ping, rate: 100001",
		`worker.yaml:20:46: steps[0].traffic.rate: 100001 is out of range. Allowed: more than 0 and at most 100000.`},
	{"count too large", "concurrency: [1, 5]", "concurrency: [1, 1000001]",
		`worker.yaml:27:14: steps[1].traffic.count: 1000001 is out of range. Allowed: 1 to 1000000.`},
	{"unknown reference", "secs=${hold}", "secs=${hodl}",
		`worker.yaml:28:13: steps[1].traffic.path: "${hodl}" refers to a factor that the step does not have; did you mean "hold"? Allowed: concurrency, hold.`},
	{"reference of another type", "count: ${concurrency}", "count: ${hold}",
		`worker.yaml:27:14: steps[1].traffic.count: "2s" is not a whole number.`},
	{"unused factor", "      hold: 2s", "      hold: 2s\n      other: 1",
		`worker.yaml:25:7: steps[1].factors.other: no field of the step and no formula uses this factor; write ${other} where it belongs.`},
	{"factor contradicts", "      hold: 2s", "      hold: 2s\n      workers: 2",
		`worker.yaml:25:16: steps[1].factors.workers: is 2, but the step has workers 4; rename the factor or let the step use it.`},
	{"factor name", "      hold: 2s", "      hold: 2s\n      a-b: 2",
		`worker.yaml:25:7: steps[1].factors.a-b: "a-b" cannot name a factor. Allowed: at most 64 letters, digits and underscores, the first a letter.`},
	{"factor is a function", "      hold: 2s", "      hold: 2s\n      ceil: 2",
		`worker.yaml:25:7: steps[1].factors.ceil: "ceil" is a word of formulas and cannot name a factor.`},
	{"empty levels", "[1, 5]", "[]",
		`worker.yaml:23:20: steps[1].factors.concurrency: is an empty list; a factor has at least one level.`},
	{"level is a list", "[1, 5]", "[[1], 5]",
		`worker.yaml:23:21: steps[1].factors.concurrency[0]: is a list; a level is a number, a duration, a word or true or false.`},
	{"absurd level", "hold: 2s", "hold: 48h",
		`worker.yaml:24:13: steps[1].factors.hold: 48h is out of range. Allowed: more than 0s and at most 24h.`},
	{"matrix too large", "concurrency: [1, 5]", "concurrency: [" + strings.Repeat("1, ", 1000) + "5]",
		`worker.yaml:21:5: steps[1]: the matrix grows beyond 1000 steps or beyond what can be held; use fewer levels.`},
	{"unknown baseline", "baseline: idle", "baseline: idel",
		`worker.yaml:29:11: baseline: "idel" is not a step; did you mean "idle"? Allowed: held-concurrency=1, held-concurrency=5, idle.`},
	{"unknown metric", "metric: last_answer_s", "metric: last_answer",
		`worker.yaml:9:13: hypotheses[0].metric: "last_answer" is not a metric; did you mean "last_answer_s"?`},
	{"unknown form", "form: law", "form: lore",
		`worker.yaml:8:11: hypotheses[0].form: "lore" is not a claim form. Allowed: cascade, caused_by, cliff, compare, equivalent, law, trend.`},
	{"form lacks a part", "    tolerance: 10%\n", "",
		`worker.yaml:6:5: hypotheses[0].tolerance: is missing; form law needs it.`},
	{"part of another form", "tolerance: 10%", "tolerance: 10%\n    margin: 10%",
		`worker.yaml:13:5: hypotheses[0].margin: does not belong to form law.`},
	{"unit of ratio", "tolerance: 10%", "tolerance: 5 points",
		`worker.yaml:12:16: hypotheses[0].tolerance: "5 points" does not fit last_answer_s, which is compared by ratio; write a percentage such as "10%".`},
	{"unit of points", "metric: last_answer_s", "metric: cpu_pct",
		`worker.yaml:12:16: hypotheses[0].tolerance: "10%" does not fit cpu_pct, whose differences are in points; write a number of points such as "5 points".`},
	{"unit of seconds in points", "metric: last_answer_s", "metric: queue_wait_max_s",
		`worker.yaml:12:16: hypotheses[0].tolerance: "10%" does not fit queue_wait_max_s, whose differences are in s; write a duration such as "0.5s" or "20ms".`},
	{"unit of count", "metric: last_answer_s", "metric: restarts",
		`worker.yaml:12:16: hypotheses[0].tolerance: "10%" does not fit restarts, which is a count; write a plain number such as 2.`},
	{"no room", "tolerance: 10%", "tolerance: 0%",
		`worker.yaml:12:16: hypotheses[0].tolerance: "0%" leaves no room; write more than 0.`},
	{"unknown step", "steps: held-*", "steps: [held-concurrency=1, held-concurency=5]",
		`worker.yaml:10:33: hypotheses[0].steps[1]: "held-concurency=5" is not a step; did you mean "held-concurrency=5"? Allowed: held-concurrency=1, held-concurrency=5, idle.`},
	{"pattern without match", "steps: held-*", "steps: hold-*",
		`worker.yaml:10:12: hypotheses[0].steps: "hold-*" matches no step.`},
	{"formula syntax", "formula: ceil(requests / workers) * hold", "formula: ceil(requests / workers",
		`worker.yaml:11:14: hypotheses[0].formula: the formula is wrong at its character 23: it ends too early.`},
	{"formula unknown name", "formula: ceil(requests / workers) * hold", "formula: request * hold",
		`worker.yaml:11:14: hypotheses[0].formula: "request" has no number in step held-concurrency=1; did you mean "requests"? Allowed: alloc_mb, apps, concurrency, cpus, hold, requests, threads, workers.`},
	{"formula unknown function", "formula: ceil(requests / workers) * hold", "formula: exp(requests) * hold",
		`worker.yaml:11:14: hypotheses[0].formula: "exp" is not a function of formulas; these are: abs, ceil, floor, max, min, round, sqrt.`},
	{"formula other builtin", "formula: ceil(requests / workers) * hold", "formula: len(\"abc\") * hold",
		`worker.yaml:11:14: hypotheses[0].formula: "len" is not a function of formulas; these are: abs, ceil, floor, max, min, round, sqrt.`},
	{"formula not a number", "formula: ceil(requests / workers) * hold", "formula: requests > hold",
		`worker.yaml:11:14: hypotheses[0].formula: the formula must give a number (step held-concurrency=1).`},
	{"division by zero", "formula: ceil(requests / workers) * hold", "formula: hold / (requests - 5)",
		`worker.yaml:11:14: hypotheses[0].formula: the formula gives no finite number; does it divide by zero? (step held-concurrency=5).`},
	{"law of nothing", "formula: ceil(requests / workers) * hold", "formula: hold * 0",
		`worker.yaml:11:14: hypotheses[0].formula: the formula gives 0 for step held-concurrency=1, and nothing is within 10% of 0.`},
	{"calibration of no step", "repetitions: 6", "repetitions: 6\ncalibration: {step: idel, metric: memory_pt, low: 78, high: 74}",
		`worker.yaml:31:21: calibration.step: "idel" is not a step; did you mean "idle"? Allowed: held-concurrency=1, held-concurrency=5, idle.
worker.yaml:31:35: calibration.metric: "memory_pt" is not a metric; did you mean "memory_pct"?
worker.yaml:31:61: calibration.high: must be above low, which is 78.`},
	{"threshold without calibration", "form: law", "form: law\n    threshold: true",
		`worker.yaml:9:16: hypotheses[0].threshold: needs a calibration of the experiment.`},
	{"profile name", "quick: {", "Quick: {",
		`worker.yaml:32:3: profiles.Quick: "Quick" cannot name a profile. Allowed: at most 64 small letters, digits and hyphens, the first no hyphen.`},
	{"profile scale", "scale: 0.2", "scale: 0",
		`worker.yaml:32:18: profiles.quick.scale: 0 is out of range. Allowed: more than 0 and at most 100.`},
	{"profile breaks a level", "hold: 2s", "hold: 20m",
		`worker.yaml:24:13: steps[1].factors.hold: 33h20m0s is out of range when it is scaled by 100. Allowed: more than 0s and at most 24h.`},
}

func TestBadFiles(t *testing.T) {
	for _, tc := range badFiles {
		t.Run(tc.name, func(t *testing.T) {
			file := strings.Replace(good, tc.old, tc.new, 1)
			if file == good {
				t.Fatal("the replacement changes nothing")
			}
			_, err := Parse("worker.yaml", []byte(file), Options{})
			if err == nil {
				t.Fatal("no error")
			}
			if err.Error() != tc.want {
				t.Errorf("got:\n%v\nwant:\n%s", err, tc.want)
			}
			wantPlaces(t, err)
		})
	}
}

// wantPlaces checks that each problem names file, line and column.
func wantPlaces(t *testing.T, err error) {
	t.Helper()
	var all FileErrors
	if !errors.As(err, &all) {
		t.Fatalf("%T is not FileErrors", err)
	}
	for _, e := range all {
		if e.File == "" || e.Line < 1 || e.Column < 1 {
			t.Errorf("no place: %+v", *e)
		}
		var one *FileError
		if !errors.As(err, &one) {
			t.Error("FileErrors does not unwrap to *FileError")
		}
	}
}
