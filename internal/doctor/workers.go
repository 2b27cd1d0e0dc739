package doctor

import (
	"slices"
	"time"

	"brink/internal/evidence"
)

// crew is what the log of one server says of its workers.
type crew struct {
	file, app, version string
	// server is what wrote the log, and workers how many it says that it has.
	server  string
	workers evidence.Value
	lives   []life
	// stops are when the server was told to end; what ends then is no failure.
	stops, starts []*evidence.Event
}

// life is a worker from its boot to its end, as far as the log tells.
type life struct {
	pid                int
	boot, timeout, end *evidence.Event
}

// killed reports whether the worker was ended by SIGKILL.
func (w *life) killed() bool {
	return w.end != nil && w.end.Kind == evidence.WorkerSignalled && w.end.Signal == 9
}

// booted is how long after its boot the worker's own server gave it up; missing
// without both times.
func (w *life) booted() (time.Duration, bool) {
	if w.boot == nil || w.timeout == nil || w.boot.At.IsZero() || w.timeout.At.IsZero() {
		return 0, false
	}
	return w.timeout.At.Sub(w.boot.At), true
}

// crews reads the lives of workers from the events of each server's log.
func (l *look) crews() []*crew {
	var all []*crew
	// A platform may tell of the same workers as their server's log does.
	of := func(e *evidence.Event) *crew {
		for _, c := range all {
			if c.app == e.App && (c.app != "" || c.file == e.From.File) {
				return c
			}
		}
		c := &crew{file: e.From.File, app: e.App}
		for i := range l.Logs {
			if l.Logs[i].File == c.file {
				c.version, c.server, c.workers = l.Logs[i].Version, l.Logs[i].As, l.Logs[i].Workers
			}
		}
		all = append(all, c)
		return c
	}
	for _, e := range l.EventsOf(evidence.WorkerBoot, evidence.WorkerTimeout, evidence.WorkerSignalled, evidence.WorkerExit,
		evidence.WorkerBootFailed, evidence.ServerStopping, evidence.ServerStarted) {
		of(e).take(e)
	}
	return all
}

func (c *crew) take(e *evidence.Event) {
	switch e.Kind {
	case evidence.ServerStarted:
		c.starts = append(c.starts, e)
		if e.Version != "" {
			c.version = e.Version
		}
	case evidence.ServerStopping:
		c.stops = append(c.stops, e)
	case evidence.WorkerBoot:
		if w := c.latest(e.PID); w == nil || w.end != nil || w.boot == nil || !twice(w.boot, e) {
			c.lives = append(c.lives, life{pid: e.PID, boot: e})
		}
	case evidence.WorkerTimeout:
		// Exports have lines of one second in any order.
		if w := c.latest(e.PID); w != nil && w.end != nil && w.timeout == nil && gap(w.end, e).Abs() <= 2*time.Second {
			w.timeout = e
		} else {
			c.life(e.PID).timeout = e
		}
	default:
		c.ended(e)
	}
}

// ended takes in an end. A worker that is told to abort says that it is exiting,
// and may still have to be killed.
func (c *crew) ended(e *evidence.Event) {
	w := c.latest(e.PID)
	switch {
	case w != nil && w.end != nil && twice(w.end, e):
	case w != nil && w.end != nil && w.end.Kind == evidence.WorkerExit && e.Kind != evidence.WorkerExit && gap(w.end, e).Abs() <= graceful:
		w.end = e
	default:
		c.life(e.PID).end = e
	}
}

// twice reports whether two sources tell of one thing.
func twice(a, b *evidence.Event) bool {
	return a.From.File != b.From.File && gap(a, b).Abs() < 10*time.Second
}

// latest returns the latest life of a pid, nil if there is none.
func (c *crew) latest(pid int) *life {
	for i := len(c.lives) - 1; i >= 0; i-- {
		if c.lives[i].pid == pid {
			return &c.lives[i]
		}
	}
	return nil
}

// life returns the latest life of a pid that has not ended.
func (c *crew) life(pid int) *life {
	for i := len(c.lives) - 1; i >= 0; i-- {
		if w := &c.lives[i]; w.pid == pid && w.end == nil {
			return w
		}
	}
	c.lives = append(c.lives, life{pid: pid})
	return &c.lives[len(c.lives)-1]
}

// graceful is the longest that a server waits for its workers when it stops
// (gunicorn's graceful_timeout is 30 s).
const graceful = 40 * time.Second

// stopping reports whether the server was ending when something happened.
func (c *crew) stopping(e *evidence.Event) bool {
	return slices.ContainsFunc(c.stops, func(s *evidence.Event) bool {
		if s.At.IsZero() || e.At.IsZero() {
			return s.From.File == e.From.File && s.From.Line < e.From.Line
		}
		d := e.At.Sub(s.At)
		return d >= 0 && d <= graceful
	})
}

// subject is what a finding about the crew is about.
func (c *crew) subject() string { return c.app }

// ownKill reports whether the server itself killed the worker.
func (c *crew) ownKill(w *life) bool {
	return w.timeout != nil || w.end != nil && c.stopping(w.end)
}

// start returns the start command, nil if none is known.
func (l *look) start() *evidence.StartCommand {
	if len(l.Config.Start) == 0 {
		return nil
	}
	return &l.Config.Start[0]
}

// poolSize is how many requests the server that the start command names serves
// at once; missing for those that have no such number.
func (l *look) poolSize() evidence.Value {
	s := l.start()
	if s == nil {
		return evidence.Missing(evidence.NotSeen, "no start command is known")
	}
	switch s.Class {
	case "gevent", "eventlet", "uvicorn.workers.UvicornWorker", "tornado", "aiohttp.GunicornWebWorker":
		return evidence.Missing(evidence.CannotTell, "its workers serve many requests at once")
	}
	if s.Server != "gunicorn" && s.Server != "uwsgi" {
		return evidence.Missing(evidence.CannotTell, "the start command does not tell")
	}
	workers := s.Workers.Else(evidence.Known(1, evidence.Events, s.From)) // both have one unless told
	if s.Threads.Known {
		return evidence.Known(workers.Number*s.Threads.Number, evidence.Events, workers.From...)
	}
	return workers
}

// workerLimit is the time after which the server kills a worker; known is false
// if it is not told, and 30 s, gunicorn's default, then stands in.
//
// https://docs.gunicorn.org/en/stable/settings.html#timeout
func (l *look) workerLimit() (limit time.Duration, known bool) {
	if s := l.start(); s != nil && s.Timeout.Above(0) {
		return time.Duration(s.Timeout.Number * float64(time.Second)), true
	}
	return 30 * time.Second, false
}

// limit is the time after which the server kills a worker: as the line says in
// which it does, or as the start command does.
func (c *crew) limit(l *look) (limit time.Duration, known bool) {
	for i := range c.lives {
		if e := c.lives[i].timeout; e != nil && e.Limit.Above(0) {
			return time.Duration(e.Limit.Number * float64(time.Second)), true
		}
	}
	return l.workerLimit()
}

// tellsEnds reports whether the server logs each end of a worker in every
// release.
func (c *crew) tellsEnds() bool {
	return slices.Contains([]string{"uwsgi", "php-fpm", "Celery"}, c.server)
}
