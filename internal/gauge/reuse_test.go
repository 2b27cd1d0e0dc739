package gauge

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"brink/internal/servertest"
)

// reuseEnv makes TestPIDReuse do its work in a pid namespace of its own, where
// it may say which pid comes next and nobody else takes it.
const reuseEnv = "GAUGE_TEST_REUSE"

// A pid that is in use again is another server, with nothing of the first.
func TestPIDReuse(t *testing.T) {
	if os.Getenv(reuseEnv) == "" {
		cmd := exec.Command("unshare", "--user", "--map-root-user", "--pid", "--mount-proc", "--fork", "--kill-child",
			testBinary(t), "-test.run", "^TestPIDReuse$")
		cmd.Env = append(os.Environ(), reuseEnv+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	for _, follow := range []bool{false, true} {
		t.Run(fmt.Sprintf("follow %v", follow), func(t *testing.T) { reusePID(t, follow) })
	}
}

func reusePID(t *testing.T, follow bool) {
	// Of one process: orphans would keep the pid from being given again.
	port := servertest.FreePort(t)
	first := servertest.Launch(t, port, map[string]string{"app.py": servertest.WSGI}, nil, "/usr/bin/uwsgi", "--plugin", "python3",
		"--http-socket", "127.0.0.1:"+strconv.Itoa(port), "--wsgi-file", "app.py", "--callable", "app")
	g := watching(t, Config{})
	read := func(p *servertest.Process) *Server {
		if follow {
			g.Follow([]App{{PIDs: family(t, p.Process.Pid), Args: p.Args}})
		}
		var found *Server
		for _, s := range sample(t, g).Servers {
			if s.PID != 0 { // others are outside of the pid namespace
				if found != nil {
					t.Fatalf("two servers: %+v and %+v", found, s)
				}
				found = s
			}
		}
		return found
	}
	ask(first, 20, "?0")
	servertest.Eventually(t, "the first is seen", func() bool { s := read(first); return s != nil && s.Kind == UWSGI })
	before := read(first)
	pid, start := before.PID, before.StartTicks
	servertest.End(first.Cmd)

	var second *servertest.Process
	for range 50 { // this program's own threads take pids as well
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0); err != nil {
			t.Fatal(err)
		}
		p := nodeApp(t)
		if p.Process.Pid == pid {
			second = p
			break
		}
		servertest.End(p.Cmd)
	}
	if second == nil {
		t.Fatalf("pid %d was never given again", pid)
	}
	began := time.Now()
	s := read(second)
	for ; s == nil || s.StartTicks == start; s = read(second) {
		if s != nil && (s.PID != pid || s.Kind != UWSGI || s.CPU.Known && s.CPU.Value < 0) || time.Since(began) > servertest.Patience {
			t.Fatalf("between the two there is %+v", s)
		}
	}
	servertest.Eventually(t, "the second is recognised", func() bool { s = read(second); return s != nil && s.Kind == Node })
	if s.PID != pid || s.Workers.Known || len(s.Processes) != 1 {
		t.Errorf("pid %d, workers %v, %d processes, want %d, unknown, 1", s.PID, s.Workers, len(s.Processes), pid)
	}
	if used := s.Total.CPUSeconds; used > float64(processClock(pid))/1e9 {
		t.Errorf("%v s of CPU are more than it has used", used)
	}
}
