package goapp

import (
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The contract that apps/flask on gunicorn and on uvicorn, apps/node on Node.js
// and this package share. The expected values are those of the endpoints'
// description in apps/README.md.

const contractAllocMB = 16

var kinds = []string{"flask", "asgi", "node", "go"}

func TestContract(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			workers := map[string]int{"flask": 2, "asgi": 2, "node": 1, "go": 2}[kind]
			tmp := t.TempDir()
			s := start(t, kind, launch{workers: workers, env: []string{
				"ALLOC_MB=" + strconv.Itoa(contractAllocMB),
				"TMPDIR=" + tmp,
				"BRINK_UPSTREAM=" + slow(t),
			}})
			for _, c := range contract(workers) {
				t.Run(c.path, func(t *testing.T) {
					a := s.get(t, c.path)
					if a.status != http.StatusOK {
						t.Fatalf("got %d %v", a.status, a.body)
					}
					checkSigned(t, a)
					if got := slices.Sorted(maps.Keys(a.body)); !slices.Equal(got, c.keys) {
						t.Errorf("the answer has %q, want %q", got, c.keys)
					}
					if pid, ok := a.body["pid"]; ok && pid != float64(a.pid) {
						t.Errorf("pid is %v, X-Brink-Pid is %d", pid, a.pid)
					}
					c.check(t, s, a)
				})
			}
			for path, sentence := range refusals {
				t.Run(path, func(t *testing.T) {
					checkRefusal(t, s, http.MethodGet, path, http.StatusBadRequest, sentence)
				})
			}
			checkRefusal(t, s, http.MethodGet, "/nope", http.StatusNotFound, "unknown path")
			checkRefusal(t, s, http.MethodGet, "/", http.StatusNotFound, "unknown path")
			checkRefusal(t, s, http.MethodGet, "/health/", http.StatusNotFound, "unknown path")
			for _, method := range []string{http.MethodPost, http.MethodDelete, http.MethodOptions} {
				a := checkRefusal(t, s, method, "/ping", http.StatusMethodNotAllowed, "only GET and HEAD are answered")
				if got := a.header.Get("Allow"); got != "GET, HEAD" {
					t.Errorf("%s: Allow is %q", method, got)
				}
			}
			checkHead(t, s)
			if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
				t.Errorf("left behind in TMPDIR: %v (%v)", left, err)
			}
		})
	}
}

type contractCase struct {
	path  string
	keys  []string // of the answer, sorted
	check func(*testing.T, *server, answer)
}

func contract(workers int) []contractCase {
	hold := []string{"held_secs", "pid", "served_s"}
	upstreamKeys := []string{"pid", "served_s", "upstream_ms"}
	burn := []string{"burned_secs", "iterations", "pid", "served_s"}
	fixed := []string{"checksum", "pid", "served_s", "work"}
	load := []string{"payload", "pid", "read_mb", "served_s", "touched_mb"}
	return []contractCase{
		{"/health", []string{"pid", "status"}, wants(object{"status": "ok"})},
		{"/ping", []string{"pid", "pong"}, wants(object{"pong": true})},
		{"/stats",
			[]string{"alloc_mb", "pid", "runtime", "served", "server", "started_at", "workers"},
			checkStats(workers)},
		{"/thread-hold?secs=0", hold, wants(object{"held_secs": 0.0})},
		{"/thread-hold?secs=0.25", hold, both(wants(object{"held_secs": 0.25}), servedFor(0.25))},
		{"/block-hold?secs=0.25", hold, both(wants(object{"held_secs": 0.25}), servedFor(0.25))},
		{"/upstream?ms=0", upstreamKeys, wants(object{"upstream_ms": 0.0})},
		{"/upstream?ms=250", upstreamKeys, both(wants(object{"upstream_ms": 250.0}), servedFor(0.25))},
		{"/cpu-burn?secs=0.2", burn, both(wants(object{"burned_secs": 0.2}), servedFor(0.2))},
		{"/cpu-burn?secs=0", burn, wants(object{"burned_secs": 0.0, "iterations": 0.0})},
		{"/cpu-burn?work=1", fixed, wants(object{"work": 1.0, "checksum": lcgByTheory(100_000)})},
		{"/cpu-burn?work=3", fixed, wants(object{"work": 3.0, "checksum": lcgByTheory(300_000)})},
		{"/work", load, wants(object{"touched_mb": 0.0, "read_mb": 0.0, "payload": ""})},
		{"/work?touch_mb=16&file_mb=3&payload_kb=2", load,
			wants(object{"touched_mb": 16.0, "read_mb": 3.0, "payload": strings.Repeat("x", 2048)})},
		{"/work?file_mb=1", load, wants(object{"touched_mb": 0.0, "read_mb": 1.0})},
		{"/diag/proc", []string{"meminfo", "pressure", "self", "unavailable", "vmstat"}, checkLiveDiag},
	}
}

var refusals = map[string]string{
	"/thread-hold":               "secs is missing: it must be a number from 0 to 3600",
	"/thread-hold?secs=":         "secs must be a number from 0 to 3600",
	"/thread-hold?secs=abc":      "secs must be a number from 0 to 3600",
	"/thread-hold?secs=-1":       "secs must be a number from 0 to 3600",
	"/thread-hold?secs=nan":      "secs must be a number from 0 to 3600",
	"/thread-hold?secs=1e3":      "secs must be a number from 0 to 3600",
	"/thread-hold?secs=0x10":     "secs must be a number from 0 to 3600",
	"/thread-hold?secs=1_0":      "secs must be a number from 0 to 3600",
	"/thread-hold?secs=3600.5":   "secs must be a number from 0 to 3600",
	"/thread-hold?secs=%201":     "secs must be a number from 0 to 3600",
	"/thread-hold?secs=1%0A":     "secs must be a number from 0 to 3600",
	"/thread-hold?secs=%D9%A1":   "secs must be a number from 0 to 3600", // an Arabic 1
	"/thread-hold?secs=1&secs=1": "secs is given more than once",
	"/thread-hold?sec=1":         `unknown parameter "sec": allowed are secs`,
	"/block-hold":                "secs is missing: it must be a number from 0 to 3600",
	"/block-hold?secs=-1":        "secs must be a number from 0 to 3600",
	"/upstream":                  "ms is missing: it must be a whole number from 0 to 3600000",
	"/upstream?ms=":              "ms must be a whole number from 0 to 3600000",
	"/upstream?ms=1.5":           "ms must be a whole number from 0 to 3600000",
	"/upstream?ms=-1":            "ms must be a whole number from 0 to 3600000",
	"/upstream?ms=3600001":       "ms must be a whole number from 0 to 3600000",
	"/upstream?ms=1&ms=1":        "ms is given more than once",
	"/upstream?secs=1":           `unknown parameter "secs": allowed are ms`,
	"/cpu-burn":                  "exactly one of secs and work must be given",
	"/cpu-burn?secs=1&work=1":    "exactly one of secs and work must be given",
	"/cpu-burn?secs=x":           "secs must be a number from 0 to 3600",
	"/cpu-burn?work=0":           "work must be a whole number from 1 to 500000",
	"/cpu-burn?work=1.5":         "work must be a whole number from 1 to 500000",
	"/cpu-burn?work=500001":      "work must be a whole number from 1 to 500000",
	"/work?touch_mb=17":          "touch_mb must be a whole number from 0 to 16",
	"/work?file_mb=1025":         "file_mb must be a whole number from 0 to 1024",
	"/work?payload_kb=16385":     "payload_kb must be a whole number from 0 to 16384",
	"/work?payload_kb=%2B1":      "payload_kb must be a whole number from 0 to 16384",
	"/work?touch_mb=99999999999": "touch_mb must be a whole number from 0 to 16",
	"/work?touchmb=1":            `unknown parameter "touchmb": allowed are touch_mb, file_mb, payload_kb`,
	"/work?file_mb=1&<script>=1": `unknown parameter "<script>": allowed are touch_mb, file_mb, payload_kb`,
}

func checkSigned(t *testing.T, a answer) {
	t.Helper()
	if a.pid < 2 {
		t.Errorf("X-Brink-Pid is %q", a.header.Get("X-Brink-Pid"))
	}
	if ns, err := strconv.ParseInt(a.header.Get("X-Brink-Served-Ns"), 10, 64); err != nil || ns <= 0 {
		t.Errorf("X-Brink-Served-Ns is %q", a.header.Get("X-Brink-Served-Ns"))
	}
	if got := a.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type is %q", got)
	}
}

func checkRefusal(t *testing.T, s *server, method, path string, status int, sentence string) answer {
	t.Helper()
	a, err := s.try(method, path)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	checkSigned(t, a)
	if want := (object{"error": sentence}); a.status != status || !reflect.DeepEqual(a.body, want) {
		t.Errorf("%s %s: got %d %v, want %d %v", method, path, a.status, a.body, status, want)
	}
	return a
}

func checkHead(t *testing.T, s *server) {
	t.Helper()
	a, err := s.try(http.MethodHead, "/ping")
	if err != nil {
		t.Fatal(err)
	}
	checkSigned(t, a)
	if a.status != http.StatusOK || a.body != nil {
		t.Errorf("HEAD /ping: got %d with body %v, want 200 without", a.status, a.body)
	}
}

func wants(want object) func(*testing.T, *server, answer) {
	return func(t *testing.T, _ *server, a answer) {
		for key, value := range want {
			if a.body[key] != value {
				t.Errorf("%s is %.80v, want %.80v", key, a.body[key], value)
			}
		}
	}
}

func both(f, g func(*testing.T, *server, answer)) func(*testing.T, *server, answer) {
	return func(t *testing.T, s *server, a answer) { f(t, s, a); g(t, s, a) }
}

// servedFor checks a lower bound: a busy machine can only make it longer. The
// margin is for timers that are rounded to the millisecond.
func servedFor(secs float64) func(*testing.T, *server, answer) {
	return func(t *testing.T, _ *server, a answer) {
		served, _ := a.body["served_s"].(float64)
		header, err := strconv.ParseFloat(a.header.Get("X-Brink-Served-Ns"), 64)
		if err != nil {
			t.Fatal(err)
		}
		if served < secs-0.002 {
			t.Errorf("served_s is %v, want at least %v", a.body["served_s"], secs)
		}
		if header < served*1e9-1 {
			t.Errorf("X-Brink-Served-Ns is %v, which is less than served_s %v", header, served)
		}
	}
}

// lcgByTheory is the n-th value of x -> ax + c mod 2^32 from 1, by the closed
// form a^n + c(a^n - 1)/(a - 1) (Knuth, TAOCP 2, 3.2.1, equation 6).
func lcgByTheory(n int64) float64 {
	a, c, m := big.NewInt(1664525), big.NewInt(1013904223), new(big.Int).Lsh(big.NewInt(1), 32)
	b := new(big.Int).Sub(a, big.NewInt(1))
	// Modulo m(a-1), so that the division by a-1 comes out even.
	power := new(big.Int).Exp(a, big.NewInt(n), new(big.Int).Mul(m, b))
	sum := new(big.Int).Div(new(big.Int).Sub(power, big.NewInt(1)), b)
	x := new(big.Int).Add(power, new(big.Int).Mul(c, sum))
	return float64(x.Mod(x, m).Int64())
}

func checkStats(workers int) func(*testing.T, *server, answer) {
	pattern := map[string]string{
		"flaskruntime": `^Python 3\.\d+\.\d+`, "flaskserver": `^gunicorn/\d+\.`,
		"asgiruntime": `^Python 3\.\d+\.\d+`, "asgiserver": `^uvicorn/0\.\d+\.`,
		"noderuntime": `^Node\.js \d+\.\d+\.\d+$`, "nodeserver": `^node:http$`,
		"goruntime": `^Go 1\.\d+`, "goserver": `^brink$`,
	}
	return func(t *testing.T, s *server, a answer) {
		wants(object{"alloc_mb": float64(contractAllocMB), "workers": float64(workers)})(t, s, a)
		for _, key := range []string{"runtime", "server"} {
			text, _ := a.body[key].(string)
			if !regexp.MustCompile(pattern[s.kind+key]).MatchString(text) {
				t.Errorf("%s is %q, want %s", key, text, pattern[s.kind+key])
			}
		}
		text, _ := a.body["started_at"].(string)
		at, err := time.Parse(time.RFC3339, text)
		if err != nil || at.Before(s.began.Truncate(time.Millisecond)) || at.After(time.Now()) {
			t.Errorf("started_at is %q (%v), want an instant since %v", text, err, s.began)
		}
		// Workers answer in turn, so ask until the same one answers again.
		for range 1000 {
			if b := s.get(t, "/stats"); b.pid == a.pid {
				if b.body["served"] != a.body["served"].(float64)+1 {
					t.Errorf("served went from %v to %v with one request", a.body["served"], b.body["served"])
				}
				return
			}
		}
		t.Errorf("worker %d did not answer again in 1000 requests", a.pid)
	}
}

func checkLiveDiag(t *testing.T, _ *server, a answer) {
	meminfo, _ := a.body["meminfo"].(object)
	own, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Fatal(err)
	}
	total := regexp.MustCompile(`MemTotal: +(\d+) kB`).FindSubmatch(own)
	if want, _ := strconv.ParseFloat(string(total[1]), 64); meminfo["MemTotal"] != want {
		t.Errorf("MemTotal is %v, /proc/meminfo says %v", meminfo["MemTotal"], want)
	}
	if vmstat, _ := a.body["vmstat"].(object); vmstat["pgfault"] == nil {
		t.Errorf("vmstat has no pgfault: %v", vmstat)
	}
	self, _ := a.body["self"].(object)
	if self["pid"] != float64(a.pid) {
		t.Errorf("self.pid is %v, X-Brink-Pid is %d", self["pid"], a.pid)
	}
	rss, _ := self["rss_kb"].(float64)
	if hwm, _ := self["vm_hwm_kb"].(float64); rss < contractAllocMB<<10 || hwm < rss {
		t.Errorf("rss_kb %v, vm_hwm_kb %v with ALLOC_MB=%d", rss, hwm, contractAllocMB)
	}
	unavailable, _ := a.body["unavailable"].(object)
	for _, name := range []string{"memory", "cpu", "io"} {
		_, err := os.ReadFile("/proc/pressure/" + name)
		pressure, _ := a.body["pressure"].(object)
		if got, want := pressure[name] != nil, err == nil; got != want || (unavailable["pressure/"+name] == nil) != want {
			t.Errorf("pressure %s is %v, unavailable is %v, and we read it with %v", name, pressure[name], unavailable, err)
		}
	}
}

// A /proc of our own: what the kernel's documentation shows must come out as
// numbers, and what is missing or broken must be named.
func TestDiagOfACapturedProc(t *testing.T) {
	t.Parallel()
	proc := t.TempDir()
	for path, text := range map[string]string{
		"meminfo":         "MemTotal:        1899652 kB\nHugePages_Total:       2\n",
		"vmstat":          "nr_free_pages 123\npgscan_kswapd 16500000\n",
		"pressure/memory": "some avg10=1.50 avg60=0.25 avg300=0.00 total=170177090\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
		"pressure/cpu":    "some avg10=bad\n",
		"self/status":     "Name:\tapp\nVmHWM:\t   2000 kB\nVmRSS:\t   1000 kB\nThreads:\t3\n",
	} {
		file := filepath.Join(proc, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := `{
		"meminfo": {"MemTotal": 1899652, "HugePages_Total": 2},
		"vmstat": {"nr_free_pages": 123, "pgscan_kswapd": 16500000},
		"pressure": {
			"memory": {
				"some": {"avg10": 1.5, "avg60": 0.25, "avg300": 0, "total": 170177090},
				"full": {"avg10": 0, "avg60": 0, "avg300": 0, "total": 7}
			},
			"cpu": null,
			"io": null
		},
		"self": {"pid": 0, "vm_hwm_kb": 2000, "rss_kb": 1000, "threads": 3},
		"unavailable": {"pressure/cpu": "cannot be parsed", "pressure/io": "ENOENT"}
	}`
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := start(t, kind, launch{env: []string{"PROC_ROOT=" + proc}})
			a := s.get(t, "/diag/proc")
			var expected object
			if err := json.Unmarshal([]byte(want), &expected); err != nil {
				t.Fatal(err)
			}
			expected["self"].(object)["pid"] = float64(a.pid)
			if !reflect.DeepEqual(a.body, expected) {
				t.Errorf("got  %v\nwant %v", a.body, expected)
			}
		})
	}
}

// A machine that refuses is no fault of the request, and the app goes on.
func TestAFileThatCannotBeMade(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := start(t, kind, launch{env: []string{"TMPDIR=" + filepath.Join(t.TempDir(), "missing")}})
			for range 2 {
				a := s.get(t, "/work?file_mb=1")
				checkSigned(t, a)
				sentence, _ := a.body["error"].(string)
				if a.status != http.StatusInternalServerError || !strings.HasPrefix(sentence, "the machine refused: ") {
					t.Errorf("got %d %v", a.status, a.body)
				}
			}
			if a := s.get(t, "/work"); a.status != http.StatusOK {
				t.Errorf("afterwards /work says %d %v", a.status, a.body)
			}
		})
	}
}
