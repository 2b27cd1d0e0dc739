package gauge

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"brink/internal/servertest"
)

// Servers that keep their pools inside say unknown, not zero, while they hold
// requests. Each is the real program.
func TestPoolsInsideAreUnknown(t *testing.T) {
	for _, c := range []struct {
		kind  Kind
		start func(t *testing.T) *servertest.Process
	}{
		{GunicornGevent, func(t *testing.T) *servertest.Process { return servertest.Gunicorn(t, "", "-w", "2", "-k", "gevent") }},
		{GunicornUvicorn, func(t *testing.T) *servertest.Process {
			return asgiWith(t, servertest.GunicornBin, "-k", "uvicorn.workers.UvicornWorker", "-b")
		}},
		{Uvicorn, func(t *testing.T) *servertest.Process {
			return asgiWith(t, servertest.PythonBin, "-m", "uvicorn", "--port")
		}},
		{Nginx, startNginx},
		{Puma, startPuma},
		{Node, nodeApp},
		{Go, func(t *testing.T) *servertest.Process {
			port := servertest.FreePort(t)
			return servertest.Launch(t, port, nil, []string{serverEnv + "=" + strconv.Itoa(port)}, testBinary(t))
		}},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			t.Parallel()
			p := c.start(t)
			g := watching(t, onPort(p.Port))
			servertest.Hold(t, 3, p.URL("?1000"))
			var s *Server
			servertest.Eventually(t, "three connections are open", func() bool {
				snap := sample(t, g)
				if len(snap.Servers) == 1 {
					s = snap.Servers[0]
				}
				return s != nil && s.Open == num(3)
			})
			if s.Kind != c.kind {
				t.Errorf("kind %q (%s), want %q", s.Kind, s.Why, c.kind)
			}
			if s.Busy.Known || s.Idle.Known || s.Workers.Known || s.Queued.Known {
				t.Errorf("workers %v, busy %v, idle %v, queued %v, want unknown", s.Workers, s.Busy, s.Idle, s.Queued)
			}
			for _, q := range s.Processes {
				if q.State != Unknown {
					t.Errorf("process %d is %v, want unknown", q.PID, q.State)
				}
			}
		})
	}
}

// asgiWith starts a server of an ASGI app that never answers; its last argument
// takes the address, or the port alone.
func asgiWith(t *testing.T, bin string, args ...string) *servertest.Process {
	t.Helper()
	const app = `
import asyncio
async def app(scope, receive, send):
    if scope["type"] == "http":
        await asyncio.sleep(1000)
`
	port := servertest.FreePort(t)
	at := strconv.Itoa(port)
	if args[len(args)-1] == "-b" {
		at = "127.0.0.1:" + at
	}
	return servertest.Launch(t, port, map[string]string{"app.py": app}, nil, bin, append(args, at, "app:app")...)
}

// startNginx starts a proxy of an upstream that never answers.
func startNginx(t *testing.T) *servertest.Process {
	t.Helper()
	up := servertest.NewUpstream(t, time.Hour)
	t.Cleanup(up.CloseClientConnections)
	port := servertest.FreePort(t)
	conf := fmt.Sprintf(`daemon off; master_process on; worker_processes 2; pid @DIR@/pid; error_log stderr;
%sevents {}
http {
	access_log off; client_body_temp_path @DIR@/body; proxy_temp_path @DIR@/proxy; fastcgi_temp_path @DIR@/fastcgi;
	uwsgi_temp_path @DIR@/uwsgi; scgi_temp_path @DIR@/scgi;
	server { listen 127.0.0.1:%d; location / { proxy_pass %s; } }
}
`, servertest.AsRoot("user root;\n"), port, up.URL)
	return servertest.Launch(t, port, map[string]string{"nginx.conf": conf}, nil, "/usr/sbin/nginx", "-e", "stderr", "-p", "@DIR@", "-c", "@DIR@/nginx.conf")
}

func startPuma(t *testing.T) *servertest.Process {
	t.Helper()
	port := servertest.FreePort(t)
	return servertest.Launch(t, port, map[string]string{"config.ru": "run lambda { |env| sleep 1000; [200, {}, []] }\n"}, nil,
		"/usr/bin/puma", "-b", "tcp://127.0.0.1:"+strconv.Itoa(port), "-t", "4:4", "config.ru")
}

// A machine with 10,000 connections of others: the figures are those of the
// server that is watched.
func TestTenThousandConnections(t *testing.T) {
	p := servertest.Gunicorn(t, "", "-w", "2")
	g := watching(t, onPort(p.Port))
	grown(t, g, 3)
	manyConnections(t, 5000) // each has two ends here
	servertest.Hold(t, 3, p.URL("?1000"))
	servertest.Eventually(t, "two are busy and one waits", func() bool {
		s := only(t, g)
		return s.Busy == num(2) && s.Queued == num(1) && s.Sockets[0].Oldest.Known
	})
	for range 20 {
		if s := only(t, g); s.Busy != num(2) || s.Queued != num(1) {
			t.Errorf("busy %v, queued %v, want 2 and 1", s.Busy, s.Queued)
		}
	}
}
