package gauge

import (
	"strings"
	"testing"

	"brink/internal/kernel"
)

func args(line string) []string { return strings.Split(line, " ") }

func title(text string) []string { return []string{text} }

// Command lines and titles as these servers' documentation and sources show
// them.
func TestRecognise(t *testing.T) {
	python := func(line string) Identity {
		return Identity{Comm: "gunicorn", Args: args("/usr/bin/python3 /usr/bin/gunicorn " + line), Exe: "/usr/bin/python3.11", Threads: 1}
	}
	worker := func(id Identity, threads int, epoll bool) *Identity {
		id.Threads, id.Epoll = threads, epoll
		return &id
	}
	for _, c := range []struct {
		name    string
		top     Identity
		one     func(top Identity) *Identity // nil: there are no children
		beside  int
		kind    Kind
		pool    pool
		threads kernel.Num
		app     string
	}{
		{"sync by shape", python("-w 4 shop.wsgi:app"), func(id Identity) *Identity { return worker(id, 1, false) }, 4, GunicornSync, onePerProcess, kernel.Num{}, "gunicorn shop.wsgi:app"},
		{"sync by name", python("-k sync app:app"), func(id Identity) *Identity { return worker(id, 5, true) }, 1, GunicornSync, onePerProcess, kernel.Num{}, "gunicorn app:app"},
		{"gthread by class", python("--worker-class=gthread --threads=8 app:app"), func(id Identity) *Identity { return worker(id, 9, true) }, 2, GunicornGthread, threadPerRequest, num(8), "gunicorn app:app"},
		{"gthread by threads", python("--threads 4 app:app"), func(id Identity) *Identity { return worker(id, 1, true) }, 2, GunicornGthread, threadPerRequest, num(4), "gunicorn app:app"},
		{"gthread of unknown size", python("-k gthread -c conf.py app:app"), func(id Identity) *Identity { return worker(id, 3, true) }, 2, GunicornGthread, threadPerRequest, kernel.Num{}, "gunicorn app:app"},
		{"gevent", python("-k gevent app:app"), func(id Identity) *Identity { return worker(id, 1, true) }, 2, GunicornGevent, inside, kernel.Num{}, "gunicorn app:app"},
		{"gevent in a file", python("-c conf.py app:app"), func(id Identity) *Identity { return worker(id, 1, true) }, 2, GunicornOther, inside, kernel.Num{}, "gunicorn app:app"},
		{"uvicorn worker", python("-k uvicorn.workers.UvicornWorker app:app"), func(id Identity) *Identity { return worker(id, 1, true) }, 2, GunicornUvicorn, inside, kernel.Num{}, "gunicorn app:app"},
		{"a class of one's own", python("-k shop.Worker app:app"), func(id Identity) *Identity { return worker(id, 1, false) }, 2, GunicornOther, inside, kernel.Num{}, "gunicorn app:app"},
		{"titles", Identity{Comm: "gunicorn: maste", Args: title("gunicorn: master [shop]"), Threads: 1}, func(id Identity) *Identity { return worker(id, 1, false) }, 3, GunicornSync, onePerProcess, kernel.Num{}, "gunicorn shop"},
		{"no workers yet", python("app:app"), nil, 0, GunicornOther, inside, kernel.Num{}, "gunicorn app:app"},
		{"uvicorn", Identity{Comm: "uvicorn", Args: args("/usr/bin/python3 /usr/local/bin/uvicorn app:app"), Threads: 1}, nil, 0, Uvicorn, inside, kernel.Num{}, "uvicorn"},
		{"uvicorn as a module", Identity{Comm: "python3", Args: args("python3 -m uvicorn app:app"), Threads: 1}, nil, 0, Uvicorn, inside, kernel.Num{}, "uvicorn"},
		{"uwsgi with a master", Identity{Comm: "uwsgi", Args: args("uwsgi --master -p 4 --http-socket :80"), Threads: 1}, func(id Identity) *Identity { return worker(id, 1, true) }, 4, UWSGI, onePerProcess, kernel.Num{}, "uwsgi"},
		{"uwsgi with threads", Identity{Comm: "uwsgi", Args: args("uwsgi -M --processes=2 --threads=3"), Threads: 1}, func(id Identity) *Identity { return worker(id, 3, true) }, 2, UWSGI, threadPerConnection, num(3), "uwsgi"},
		{"uwsgi from a file", Identity{Comm: "uwsgi", Args: args("uwsgi --ini app.ini"), Threads: 1}, func(id Identity) *Identity { return worker(id, 1, true) }, 4, UWSGI, inside, kernel.Num{}, "uwsgi"},
		{"php-fpm", Identity{Comm: "php-fpm8.2", Args: title("php-fpm: master process (/etc/php/8.2/fpm/php-fpm.conf)"), Exe: "/usr/sbin/php-fpm8.2", Threads: 1}, func(Identity) *Identity {
			return &Identity{Comm: "php-fpm8.2", Args: title("php-fpm: pool www"), Threads: 1}
		}, 5, PHPFPM, onePerProcess, kernel.Num{}, "php-fpm www"},
		{"Apache prefork", Identity{Comm: "apache2", Args: args("/usr/sbin/apache2 -k start"), Exe: "/usr/sbin/apache2", Threads: 1}, func(id Identity) *Identity { return worker(id, 1, false) }, 5, ApachePrefork, onePerProcess, kernel.Num{}, "apache2"},
		{"Apache event", Identity{Comm: "httpd", Args: args("/usr/sbin/httpd -DFOREGROUND"), Exe: "/usr/sbin/httpd", Threads: 1}, func(id Identity) *Identity { return worker(id, 27, true) }, 2, ApacheEvent, threadPerRequest, num(25), "httpd"},
		{"nginx", Identity{Comm: "nginx", Args: title("nginx: master process /usr/sbin/nginx -g daemon off;"), Exe: "/usr/sbin/nginx", Threads: 1}, func(id Identity) *Identity { return worker(id, 1, true) }, 2, Nginx, inside, kernel.Num{}, "nginx"},
		{"Puma", Identity{Comm: "ruby", Args: title("puma 5.6.5 (tcp://0.0.0.0:3000) [shop]"), Exe: "/usr/bin/ruby3.1", Threads: 12}, nil, 0, Puma, inside, kernel.Num{}, "puma"},
		{"Node.js", Identity{Comm: "node", Args: args("node server.js"), Exe: "/usr/bin/node", Threads: 11}, nil, 0, Node, inside, kernel.Num{}, "node"},
		{"Java", Identity{Comm: "java", Args: args("java -jar shop.jar"), Exe: "/usr/lib/jvm/java-17-openjdk-amd64/bin/java", Threads: 40}, nil, 0, Java, inside, kernel.Num{}, "java"},
		{".NET", Identity{Comm: "dotnet", Args: args("dotnet shop.dll"), Exe: "/usr/share/dotnet/dotnet", Threads: 20}, nil, 0, DotNet, inside, kernel.Num{}, "dotnet"},
		{".NET on its own", Identity{Comm: "shop", Args: args("./shop"), Exe: "/srv/shop", Threads: 20, ThreadNames: []string{".NET SigHandler", "shop"}}, nil, 0, DotNet, inside, kernel.Num{}, "shop"},
		{"Go", Identity{Comm: "caddy", Args: args("caddy run"), Exe: "/usr/bin/caddy", GoPath: "github.com/caddyserver/caddy/v2/cmd/caddy", Threads: 8}, nil, 0, Go, inside, kernel.Num{}, "caddy"},
		{"the built-in app", Identity{Comm: "brink", Args: args("brink app"), GoPath: "brink/cmd/brink", Threads: 8}, func(id Identity) *Identity { return worker(id, 8, true) }, 4, BrinkApp, onePerProcess, kernel.Num{}, "brink app"},
		{"a program on the command line", Identity{Comm: "python3", Args: []string{"/usr/bin/python3", "-u", "-c", "import socket\nforged = 1"}, Threads: 1}, nil, 0, UnknownKind, inside, kernel.Num{}, "python3"},
		{"something else", Identity{Comm: "sshd", Args: args("sshd: listener"), Exe: "/usr/sbin/sshd", Threads: 1}, nil, 0, UnknownKind, inside, kernel.Num{}, "sshd"},
		{"nothing known", Identity{}, nil, 0, UnknownKind, inside, kernel.Num{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			one := &c.top
			if c.one != nil {
				one = c.one(c.top)
			}
			r := recognise(&c.top, one, c.beside)
			if r.kind != c.kind || r.pool != c.pool || r.threads != c.threads || r.name != c.app {
				t.Errorf("recognised %q, pool %d, threads %v, app %q; want %q, %d, %v, %q", r.kind, r.pool, r.threads, r.name, c.kind, c.pool, c.threads, c.app)
			}
			if r.why == "" {
				t.Error("no reason is given")
			}
		})
	}
}

// uwsgi's first process works if there is one process less below it than was
// asked for.
// Which names are whose, as Debian and the projects themselves call the files.
func TestNamesOfPrograms(t *testing.T) {
	for name, want := range map[string]Kind{
		"uwsgi": UWSGI, "uwsgi-core": UWSGI, "xuwsgi": UnknownKind, "php-fpm": PHPFPM, "php-fpm8.2": PHPFPM, "php": UnknownKind,
		"nginx": Nginx, "nginx-debug": UnknownKind, "puma": Puma, "pumas": UnknownKind, "node": Node, "nodejs": Node, "nodemon": UnknownKind,
		"java": Java, "javac": UnknownKind, "python3.13": UnknownKind, "": UnknownKind,
	} {
		for _, id := range []Identity{
			{Comm: "x", Args: []string{"/usr/bin/" + name}},
			{Comm: "x", Args: []string{"./start"}, Exe: "/usr/bin/" + name},
			{Comm: "x", Args: []string{"./start"}, Exe: "/usr/bin/" + name + " (deleted)"},
		} {
			if got := recognise(&id, &id, 0).kind; got != want {
				t.Errorf("%q of %q is taken for %q, want %q", id.Args, id.Exe, got, want)
			}
		}
	}
	for name, want := range map[string]bool{
		"python": true, "python3": true, "python3.13": true, "ruby3.1": true, "perl5.36.0": true,
		"python3-config": false, "rubyx": false, "ruby2x": false, "perldoc": false, "3": false, "": false,
	} {
		if got := isInterpreter(name); got != want {
			t.Errorf("%q is an interpreter: %v, want %v", name, got, want)
		}
	}
}

func TestUWSGIWithoutMaster(t *testing.T) {
	id := Identity{Comm: "uwsgi", Args: args("uwsgi -p 4"), Threads: 1}
	if r := recognise(&id, &id, 3); !r.topWorks || r.pool != onePerProcess {
		t.Errorf("three below the first: %+v", r)
	}
	if r := recognise(&id, &id, 4); r.topWorks || r.pool != onePerProcess {
		t.Errorf("four below the first: %+v", r)
	}
}

// FuzzRecognise takes any command line. Whatever it says, a pool of threads of
// known size has a thread, and a reason is given.
func FuzzRecognise(f *testing.F) {
	for _, line := range []string{"", "python3\x00gunicorn\x00-k\x00gthread\x00--threads\x000", "gunicorn\x00--threads", "uwsgi\x00-p",
		"apache2", "php-fpm: pool", "python3\x00-m", "\x00", "puma: cluster [", "uwsgi\x00--threads=65536"} {
		f.Add(line, 1, true, 2)
	}
	f.Fuzz(func(t *testing.T, line string, threads int, epoll bool, beside int) {
		id := Identity{Args: strings.Split(line, "\x00"), Threads: threads, Epoll: epoll}
		one := id
		r := recognise(&id, &one, beside)
		if r.why == "" || r.threads.Known && r.threads.Value == 0 {
			t.Errorf("%q: %+v", line, r)
		}
	})
}

func TestAnswered(t *testing.T) {
	conn := func(received, sent, in, out uint64) kernel.Connection {
		return kernel.Connection{
			QueuedConn:      kernel.QueuedConn{SinceDataMillis: num(received)},
			SinceSentMillis: num(sent), SegmentsIn: num(in), SegmentsOut: num(out),
		}
	}
	unread, unsent := conn(9, 5, 1, 1), conn(9, 5, 1, 1)
	unread.Unread, unsent.Unsent = 1, 1
	for name, c := range map[string]struct {
		kernel.Connection
		want verdict
	}{
		"first request, same tick":  {conn(4, 4, 1, 0), no},
		"first request":             {conn(4, 8, 1, 0), no},
		"answered":                  {conn(8, 4, 1, 1), yes},
		"next request":              {conn(4, 8, 2, 1), no},
		"both within a tick":        {conn(4, 4, 2, 1), perhaps},
		"nothing came yet":          {conn(4, 4, 0, 0), perhaps},
		"unread bytes":              {unread, no},
		"answer is being taken":     {unsent, no},
		"text tables tell no times": {kernel.Connection{}, perhaps},
	} {
		if got := answered(&c.Connection); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]string{
		":8000": ":8000", "8000": ":8000", "127.0.0.1:80": "127.0.0.1:80", "[::1]:80": "[::1]:80", "[::ffff:10.0.0.1]:80": "10.0.0.1:80",
		"unix:/run/app.sock": "unix:/run/app.sock",
	} {
		if a, err := ParseAddress(text); err != nil || a.String() != want {
			t.Errorf("%q: %v, %v, want %s", text, a, err, want)
		}
	}
	for _, text := range []string{"", ":", ":0", "0", "65536", "localhost:80", "127.0.0.1", "127.0.0.1:0", "::1:80", "x", "unix:", "unix:app.sock"} {
		if a, err := ParseAddress(text); err == nil {
			t.Errorf("%q was read as %v", text, a)
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	for _, text := range []string{":8000", "127.0.0.1:80", "[::1]:80", "[fe80::1%eth0]:80", "unix:/a", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAddress(text)
		if err != nil {
			return
		}
		if again, err := ParseAddress(a.String()); err != nil || again != a {
			t.Errorf("%q was read as %v, and that as %v, %v", text, a, again, err)
		}
	})
}
