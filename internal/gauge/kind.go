package gauge

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"brink/internal/kernel"
)

// Kind names a server and its way of serving.
type Kind string

// The kinds that are recognised.
const (
	GunicornSync    Kind = "gunicorn sync"
	GunicornGthread Kind = "gunicorn gthread"
	GunicornGevent  Kind = "gunicorn gevent"
	GunicornUvicorn Kind = "gunicorn uvicorn"
	GunicornOther   Kind = "gunicorn"
	Uvicorn         Kind = "uvicorn"
	UWSGI           Kind = "uwsgi"
	PHPFPM          Kind = "php-fpm"
	ApachePrefork   Kind = "Apache prefork"
	ApacheEvent     Kind = "Apache event"
	Nginx           Kind = "nginx"
	Puma            Kind = "Puma"
	Node            Kind = "Node.js"
	Java            Kind = "Java"
	DotNet          Kind = ".NET"
	Go              Kind = "Go"
	BrinkApp        Kind = "brink app"
	UnknownKind     Kind = "unknown"
)

// neverTells reports whether the kind keeps its workers inside, whatever shape
// it may still take.
func (k Kind) neverTells() bool {
	switch k {
	case Uvicorn, Nginx, Puma, Node, Java, DotNet, Go, UnknownKind:
		return true
	}
	return false
}

// pool is where a kind keeps its workers.
type pool uint8

const (
	// inside the process, where nobody but itself can count them.
	inside pool = iota
	// onePerProcess: a process serves one connection at a time.
	onePerProcess
	// threadPerConnection: an accepted connection occupies a thread.
	threadPerConnection
	// threadPerRequest: a connection occupies a thread while it has a request
	// that is not answered.
	threadPerRequest
)

// Identity is what is known of a process without asking it.
type Identity struct {
	Comm        string
	Args        []string // or a single title that it has given itself
	Exe         string   // empty where we may not see it
	GoPath      string   // main package of a Go program
	Threads     int
	ThreadNames []string
	Epoll       bool // it waits on an epoll instance
}

// recognition is what a server was taken for.
type recognition struct {
	kind    Kind
	why     string
	name    string
	pool    pool
	threads kernel.Num // per process, for the pools of threads
	// topWorks says that the topmost process serves as its children do, master
	// that it never does.
	topWorks, master bool
}

// base is the program's name: of a script, the script's.
func (id *Identity) base() string {
	if len(id.Args) == 0 {
		return id.Comm
	}
	first, _, _ := strings.Cut(id.Args[0], " ")
	name := path.Base(strings.TrimSuffix(first, ":"))
	if !isInterpreter(name) {
		return name
	}
	for i, arg := range id.Args[1:] {
		if arg == "-m" && i+2 < len(id.Args) {
			return id.Args[i+2]
		}
		if arg == "-c" || arg == "-e" {
			return name // and not the program that follows
		}
		if !strings.HasPrefix(arg, "-") {
			return path.Base(arg)
		}
	}
	return name
}

// isInterpreter knows python3.13, ruby3.1 and the like.
func isInterpreter(name string) bool {
	switch strings.TrimRight(name, "0123456789.") {
	case "python", "ruby", "perl":
		return true
	}
	return false
}

// expression is compiled when it is first used: only a watch needs it.
func expression(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// option returns the value of a command-line option under any of its names.
func (id *Identity) option(names ...string) (string, bool) {
	for i, arg := range id.Args {
		for _, name := range names {
			if v, ok := strings.CutPrefix(arg, name+"="); ok {
				return v, true
			}
			if arg == name && i+1 < len(id.Args) {
				return id.Args[i+1], true
			}
			if short := len(name) == 2; short && len(arg) > 2 && strings.HasPrefix(arg, name) && arg[1] != '-' {
				return arg[2:], true
			}
		}
	}
	return "", false
}

func (id *Identity) number(names ...string) kernel.Num {
	text, _ := id.option(names...)
	n, err := strconv.ParseUint(text, 10, 16)
	return kernel.Num{Value: n, Known: err == nil && n > 0}
}

// recognise tells what kind of server a tree of processes is: top is the
// process that holds the sockets for others, one is one that shares them with
// it (top itself if there is none), and beside is how many such there are.
func recognise(top, one *Identity, beside int) recognition {
	for _, rule := range rules {
		if rule.is(top, one) {
			r := rule.as(top, one, beside)
			if r.name == "" {
				r.name = top.base()
			}
			return r
		}
	}
	return recognition{kind: UnknownKind, why: "no kind of server is known by this name", name: top.base()}
}

// rule recognises one program. The first that fits decides.
type rule struct {
	is func(top, one *Identity) bool
	as func(top, one *Identity, beside int) recognition
}

var rules = []rule{
	{called("gunicorn"), gunicorn},
	{called("uvicorn"), plain(Uvicorn, "an event loop that takes in any number of requests")},
	{anyNamed("uwsgi*"), uwsgi},
	{anyNamed("php-fpm*"), phpFPM},
	{anyNamed("apache2", "httpd"), apache},
	{anyNamed("nginx"), plain(Nginx, "an event loop that takes in any number of requests")},
	{anyNamed("puma"), plain(Puma, "its threads and their queue are inside the process")},
	{anyNamed("node", "nodejs"), plain(Node, "an event loop that takes in any number of requests")},
	{anyNamed("java"), plain(Java, "its threads and their queue are inside the process")},
	{isDotNet, plain(DotNet, "its threads and their queue are inside the process")},
	{func(top, _ *Identity) bool { return top.GoPath != "" }, goProgram},
}

// called fits a script or a title.
func called(name string) func(top, one *Identity) bool {
	return func(top, _ *Identity) bool { return top.base() == name }
}

// anyNamed fits the file that is run or the name on the command line, by one of
// these names or, with a * behind it, by how it begins.
func anyNamed(names ...string) func(top, one *Identity) bool {
	return func(top, _ *Identity) bool {
		file, title := path.Base(strings.TrimSuffix(top.Exe, " (deleted)")), top.base()
		return slices.ContainsFunc(names, func(name string) bool {
			begin, open := strings.CutSuffix(name, "*")
			if open {
				return strings.HasPrefix(file, begin) || strings.HasPrefix(title, begin)
			}
			return file == name || title == name
		})
	}
}

func isDotNet(top, _ *Identity) bool {
	if top.base() == "dotnet" {
		return true
	}
	return slices.ContainsFunc(top.ThreadNames, func(n string) bool { return strings.HasPrefix(n, ".NET ") })
}

func plain(kind Kind, because string) func(top, one *Identity, beside int) recognition {
	return func(top, _ *Identity, _ int) recognition {
		return recognition{kind: kind, why: fmt.Sprintf("%s: %s", evidence(top), because)}
	}
}

// evidence is the name by which a program was recognised.
func evidence(top *Identity) string {
	if name := top.base(); name != "" {
		return "called " + name
	}
	return "runs " + top.Exe
}

func goProgram(top, _ *Identity, beside int) recognition {
	name := path.Base(top.GoPath)
	if strings.HasPrefix(top.GoPath, "brink/") && beside > 0 {
		return recognition{kind: BrinkApp, name: "brink app", pool: onePerProcess, master: true,
			why: fmt.Sprintf("Go program %s whose workers share one socket: each serves one connection at a time", top.GoPath)}
	}
	return recognition{kind: Go, name: name, why: fmt.Sprintf("Go program %s: a goroutine for each request", top.GoPath)}
}
