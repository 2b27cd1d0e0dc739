package gauge

import (
	"fmt"
	"strings"
)

var (
	wsgiApp = expression(`^[A-Za-z_][\w.]*(:[A-Za-z_][\w.()]*)?$`)
	titled  = expression(`^(?:gunicorn|puma).*\[(.*)\]`)
)

// gunicorn's class is on the command line, or shows in the shape of a worker:
// sync alone waits without epoll.
func gunicorn(top, one *Identity, _ int) recognition {
	r := recognition{kind: GunicornOther, name: strings.TrimSpace("gunicorn " + appOf(top)), master: true}
	if class, ok := top.option("-k", "--worker-class"); ok {
		switch {
		case strings.Contains(strings.ToLower(class), "uvicorn"):
			r.kind, r.why = GunicornUvicorn, "worker class "+class+": an event loop that takes in any number of requests"
			return r
		case class == "gthread":
			return gthread(r, top, "worker class gthread")
		case strings.Contains(class, "gevent"), strings.Contains(class, "eventlet"):
			r.why = "worker class " + class + ": a green thread for each request, inside the process"
			if !strings.Contains(class, "eventlet") {
				r.kind = GunicornGevent
			}
			return r
		case class != "sync":
			r.why = "worker class " + class + " is not known"
			return r
		}
	}
	threads := top.number("--threads")
	_, named := top.option("-k", "--worker-class")
	sync := func(why string) recognition {
		r.kind, r.pool, r.why = GunicornSync, onePerProcess, why+": each serves one connection at a time"
		return r
	}
	switch {
	case threads.Known && threads.Value > 1:
		return gthread(r, top, fmt.Sprintf("--threads %d makes it gthread", threads.Value))
	case one == top:
		r.why = "it has no workers yet"
	case named:
		return sync("worker class sync")
	case one.Epoll:
		r.why = "its workers wait on epoll, which sync does not, and the command line does not name their class"
	case one.Threads > 1:
		r.why = "its workers have threads, and the command line does not name their class"
	default:
		return sync("workers with one thread and without epoll")
	}
	return r
}

func gthread(r recognition, top *Identity, why string) recognition {
	r.kind, r.pool = GunicornGthread, threadPerRequest
	r.threads = top.number("--threads")
	r.why = why + "; the number of threads is on the command line"
	if !r.threads.Known {
		r.why = why + "; the command line does not say how many threads"
	}
	return r
}

// appOf finds MODULE:APP, or what stands in brackets in a title.
func appOf(top *Identity) string {
	if len(top.Args) == 1 {
		if m := titled().FindStringSubmatch(top.Args[0]); m != nil {
			return m[1]
		}
		return ""
	}
	for i := len(top.Args) - 1; i > 1; i-- {
		arg, before := top.Args[i], top.Args[i-1]
		if wsgiApp().MatchString(arg) && (strings.Contains(arg, ":") || !strings.HasPrefix(before, "-") || strings.Contains(before, "=")) {
			return arg
		}
	}
	return ""
}

// uwsgi forks its workers from a master, or from the first worker if there is
// none.
func uwsgi(top, one *Identity, beside int) recognition {
	r := recognition{kind: UWSGI, pool: onePerProcess}
	processes := top.number("-p", "--processes", "--workers")
	switch {
	case beside == 0, processes.Known && processes.Value == uint64(beside)+1:
		r.topWorks = true
	case processes.Known && processes.Value == uint64(beside):
	case hasFlag(top, "-M", "--master"):
	default:
		r.pool = inside
		r.why = "uwsgi, whose command line does not say whether its first process works"
		return r
	}
	threads := top.number("--threads")
	switch {
	case threads.Known && threads.Value > 1:
		r.pool, r.threads = threadPerConnection, threads
		r.why = fmt.Sprintf("uwsgi with --threads %d: each serves one connection at a time", threads.Value)
	case one.Threads > 1:
		r.pool = inside
		r.why = "uwsgi with threads, of which the command line does not say how many serve"
	default:
		r.why = "uwsgi with one thread: each process serves one connection at a time"
	}
	return r
}

func hasFlag(id *Identity, names ...string) bool {
	for _, arg := range id.Args {
		for _, name := range names {
			if arg == name {
				return true
			}
		}
	}
	return false
}

func phpFPM(top, one *Identity, _ int) recognition {
	r := recognition{kind: PHPFPM, pool: onePerProcess, name: "php-fpm", master: true,
		why: "php-fpm: each child serves one connection at a time"}
	if pool, ok := strings.CutPrefix(strings.Join(one.Args, " "), "php-fpm: pool "); ok {
		r.name = "php-fpm " + strings.TrimSpace(pool)
	}
	return r
}

// apache's child of the prefork module has one thread. One of the others has
// two that do not serve: the main thread and the one that listens.
func apache(top, one *Identity, beside int) recognition {
	r := recognition{name: top.base(), master: true}
	switch {
	case beside == 0:
		r.kind, r.why = UnknownKind, "Apache without children"
	case one.Threads == 1:
		r.kind, r.pool = ApachePrefork, onePerProcess
		r.why = "Apache's children have one thread: each serves one connection at a time"
	case one.Threads < 3:
		r.kind, r.why = ApacheEvent, "Apache whose children are starting their threads"
	default:
		r.kind, r.pool = ApacheEvent, threadPerRequest
		r.threads.Value, r.threads.Known = uint64(one.Threads-2), true
		r.why = fmt.Sprintf("Apache's children have %d threads: one is the main thread, one listens", one.Threads)
	}
	return r
}
