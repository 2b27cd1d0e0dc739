package evidence

import (
	"bytes"
	"fmt"
	"strings"
)

// parsePoolStatus reads the status pages of php-fpm and of Apache as text, lines
// of "name: number".
//
// https://www.php.net/manual/en/fpm.status.php
// https://httpd.apache.org/docs/2.4/mod/mod_status.html
func (b *builder) parsePoolStatus(f *file) bool {
	fpm := bytes.Contains(f.data, []byte("process manager:")) && bytes.Contains(f.data, []byte("listen queue:"))
	apache := bytes.Contains(f.data, []byte("BusyWorkers:")) && bytes.Contains(f.data, []byte("IdleWorkers:"))
	if len(f.data) > 1<<20 || !fpm && !apache {
		return false
	}
	p := statusPool(f)
	n := 0
	for line := range bytes.Lines(f.data) {
		n++
		key, text, ok := strings.Cut(string(line[:min(len(line), mostLine)]), ":")
		if !ok {
			continue
		}
		key, text = strings.TrimSpace(key), strings.TrimSpace(text)
		value := func() Value { return parsedNumber(text, Events, Source{File: f.name, Line: n, Field: key}) }
		switch key {
		case "pool":
			p.Name = shorten(text)
		case "listen queue":
			p.Queued = value()
		case "active processes", "BusyWorkers":
			p.Busy = value()
		case "idle processes", "IdleWorkers":
			p.Idle = value()
		case "total processes":
			p.Workers = value()
		case "max children reached":
			p.atLimit(value(), b)
		}
	}
	if p.Server = "php-fpm"; apache {
		p.Server = "Apache"
		p.Workers = p.Busy.Plus(p.Idle)
		p.Max = p.Workers
		if p.Idle.Above(0) {
			p.Max = Missing(CannotTell, "it starts more up to MaxRequestWorkers", p.From)
		}
	}
	if !p.Busy.Known {
		return false
	}
	b.c.Pools = append(b.c.Pools, *p)
	b.input(f, p.Server+" status", "")
	return true
}

// statusPool begins a pool that its server counted itself.
func statusPool(f *file) *Pool {
	return &Pool{Seen: PoolStats, From: Source{File: f.name}}
}

// SinceStart is the reason of a [PoolAtLimit] that is a total: when it was, the
// page does not tell.
const SinceStart = "since its start"

// atLimit makes an event of how often a pool has met its limit.
func (p *Pool) atLimit(times Value, b *builder) {
	if times.Above(0) {
		b.event(Event{Kind: PoolAtLimit, Origin: FromServer, App: p.Name, From: times.From[0], Times: times, Limit: p.Workers, Reason: SinceStart, Text: "max children reached"})
	}
}

// fpmStatusJSON reads php-fpm's status page with ?json.
func fpmStatusJSON(b *builder, f *file, v any) (string, bool) {
	if at(v, "process manager") == nil || at(v, "listen queue") == nil {
		return "", false
	}
	p := statusPool(f)
	number := func(key string) Value { return jsonNumber(f, v, Events, "", key) }
	p.Server, p.Name = "php-fpm", shorten(textOf(at(v, "pool")))
	p.Queued, p.Busy, p.Idle, p.Workers = number("listen queue"), number("active processes"), number("idle processes"), number("total processes")
	p.atLimit(number("max children reached"), b)
	b.c.Pools = append(b.c.Pools, *p)
	return "php-fpm status", true
}

// uwsgiJSON reads uWSGI's stats server.
//
// https://uwsgi-docs.readthedocs.io/en/latest/StatsServer.html
func uwsgiJSON(b *builder, f *file, v any) (string, bool) {
	workers := listAt(v, "workers")
	if workers == nil || at(v, "listen_queue") == nil {
		return "", false
	}
	p := statusPool(f)
	p.Server = "uwsgi"
	busy, idle := 0, 0
	for _, w := range workers {
		switch textOf(at(w, "status")) {
		case "busy":
			busy++
		case "idle":
			idle++
		}
	}
	count := func(n int, what string) Value {
		return Known(float64(n), Events, Source{File: f.name, Field: fmt.Sprintf("workers[].status %s", what)})
	}
	p.Busy, p.Idle, p.Workers = count(busy, "busy"), count(idle, "idle"), count(busy+idle, "")
	p.Max, p.Queued = p.Workers, jsonNumber(f, v, Events, "", "listen_queue")
	b.c.Pools = append(b.c.Pools, *p)
	return "uWSGI stats", true
}
