package goapp

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"time"
)

const serverName = "brink"

// object is a JSON object.
type object = map[string]any

// call is one request as an endpoint sees it.
type call struct {
	query url.Values
	start time.Time
}

func (c call) servedSecs() float64 { return time.Since(c.start).Seconds() }

// answer turns a request, or the reason why there is none, into a reply.
func (w *worker) answer(req *http.Request, readErr error) reply {
	start := time.Now()
	w.served++
	status, body := w.dispatch(req, readErr, start)
	return reply{status: status, body: body, took: time.Since(start)}
}

func (w *worker) dispatch(req *http.Request, readErr error, start time.Time) (int, object) {
	if readErr != nil {
		return http.StatusBadRequest, object{"error": "the request cannot be read: " + readErr.Error()}
	}
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		return http.StatusMethodNotAllowed, object{"error": "only GET and HEAD are answered"}
	}
	endpoint := w.endpoint(req.URL.Path)
	if endpoint == nil {
		return http.StatusNotFound, object{"error": "unknown path"}
	}
	query, err := url.ParseQuery(req.URL.RawQuery)
	if err != nil {
		return http.StatusBadRequest, object{"error": "the query cannot be parsed: " + err.Error()}
	}
	body, err := endpoint(call{query: query, start: start})
	var (
		bad      badParameter
		upstream upstreamFailed
	)
	switch {
	case errors.As(err, &bad):
		return http.StatusBadRequest, object{"error": bad.Error()}
	case errors.As(err, &upstream):
		return http.StatusBadGateway, object{"error": upstream.Error()}
	case err != nil:
		return http.StatusInternalServerError, object{"error": "the machine refused: " + err.Error()}
	}
	return http.StatusOK, body
}

func (w *worker) endpoint(path string) func(call) (object, error) {
	switch path {
	case "/health":
		return w.health
	case "/ping":
		return w.ping
	case "/stats":
		return w.stats
	case "/thread-hold", "/block-hold":
		return w.hold
	case "/upstream":
		return w.upstream
	case "/cpu-burn":
		return w.cpuBurn
	case "/work":
		return w.work
	case "/diag/proc":
		return w.diagProc
	}
	return nil
}

func (w *worker) health(call) (object, error) {
	return object{"status": "ok", "pid": os.Getpid()}, nil
}

func (w *worker) ping(call) (object, error) {
	return object{"pong": true, "pid": os.Getpid()}, nil
}

func (w *worker) stats(call) (object, error) {
	return object{
		"pid":        os.Getpid(),
		"workers":    w.cfg.Workers,
		"alloc_mb":   w.cfg.AllocMB,
		"served":     w.served,
		"started_at": w.startedAt.UTC().Format("2006-01-02T15:04:05.000Z07:00"),
		"runtime":    "Go " + strings.TrimPrefix(runtime.Version(), "go"),
		"server":     serverName,
	}, nil
}

func (w *worker) hold(c call) (object, error) {
	if err := only(c.query, "secs"); err != nil {
		return nil, err
	}
	secs, err := seconds(c.query, "secs")
	if err != nil {
		return nil, err
	}
	time.Sleep(duration(secs))
	return object{"held_secs": secs, "pid": os.Getpid(), "served_s": c.servedSecs()}, nil
}

func (w *worker) upstream(c call) (object, error) {
	if err := only(c.query, "ms"); err != nil {
		return nil, err
	}
	ms, err := required(c.query, "ms", 0, maxUpstreamMS)
	if err != nil {
		return nil, err
	}
	if err := askUpstream(ms); err != nil {
		return nil, err
	}
	return object{"upstream_ms": ms, "pid": os.Getpid(), "served_s": c.servedSecs()}, nil
}

func (w *worker) cpuBurn(c call) (object, error) {
	if err := only(c.query, "secs", "work"); err != nil {
		return nil, err
	}
	if len(c.query) != 1 {
		return nil, badParameter("exactly one of secs and work must be given")
	}
	if c.query.Has("work") {
		units, err := whole(c.query, "work", 1, maxWorkUnits)
		if err != nil {
			return nil, err
		}
		sum := burnWork(units)
		return object{"work": units, "checksum": sum, "pid": os.Getpid(), "served_s": c.servedSecs()}, nil
	}
	secs, err := seconds(c.query, "secs")
	if err != nil {
		return nil, err
	}
	steps := burnFor(duration(secs))
	return object{"burned_secs": secs, "iterations": steps, "pid": os.Getpid(), "served_s": c.servedSecs()}, nil
}

func (w *worker) work(c call) (object, error) {
	if err := only(c.query, "touch_mb", "file_mb", "payload_kb"); err != nil {
		return nil, err
	}
	touchMB, err1 := whole(c.query, "touch_mb", 0, w.cfg.AllocMB)
	fileMB, err2 := whole(c.query, "file_mb", 0, maxFileMB)
	payloadKB, err3 := whole(c.query, "payload_kb", 0, maxPayloadKB)
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			return nil, err
		}
	}
	w.block.touch(touchMB)
	readMB, err := w.file.read(fileMB)
	if err != nil {
		return nil, err
	}
	return object{
		"pid":        os.Getpid(),
		"touched_mb": touchMB,
		"read_mb":    readMB,
		"payload":    strings.Repeat("x", payloadKB<<10),
		"served_s":   c.servedSecs(),
	}, nil
}

func (w *worker) diagProc(call) (object, error) {
	root := os.Getenv("PROC_ROOT")
	if root == "" {
		root = "/proc"
	}
	return procSnapshot(root), nil
}
