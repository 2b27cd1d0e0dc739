//go:build linux

package closedloop

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"brink/internal/doctor"
	"brink/internal/evidence"
	"brink/internal/servertest"
)

// timeOuts are servers of whose failure only their own log tells. The case is
// then the live machine, as a bundle, and that log.
type timeOuts struct {
	list []logged
}

type logged struct {
	patient
	mode doctor.Mode // none for a twin
}

func addressAt(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// slowBoot takes longer to be imported than gunicorn waits for a worker unless
// told otherwise (30 s).
const slowBoot = "import time\ntime.sleep(38)\ndef app(env, start):\n    start('200 OK', [('Content-Length', '0')])\n    return [b'']\n"

// startTimeOuts starts a server whose worker is killed while it boots, again and
// again, one that kills its workers for requests that take too long, and their
// twins: the same app with a longer limit, boots once and well, and the same
// limit with requests that are short.
func startTimeOuts(t *testing.T) *timeOuts {
	t.Helper()
	booting := func(args ...string) *servertest.Process {
		port := servertest.FreePort(t)
		args = append(args, "-w", "1", "-b", addressAt(port), "app:app")
		return servertest.Launch(t, port, map[string]string{"app.py": slowBoot}, nil, servertest.GunicornBin, args...)
	}
	held, fine := servertest.Gunicorn(t, "", "-w", "1", "-t", "5"), servertest.Gunicorn(t, "", "-w", "1", "-t", "5")
	for p, seconds := range map[*servertest.Process]string{held: "?60", fine: "?0.1"} {
		visitors := servertest.Pool{Workers: 1, Request: func(p *servertest.Process) error {
			time.Sleep(brief)
			resp, err := servertest.Client.Get(p.URL(seconds))
			if err != nil {
				return err
			}
			return resp.Body.Close()
		}}
		untilEnded(t, p, visitors.Drive(p, 1, 0))
	}
	return &timeOuts{[]logged{
		{patient{"a boot that takes too long", booting()}, doctor.BootTimeoutLoop},
		{patient{"a slow boot", booting("-t", "120")}, ""},
		{patient{"requests that take too long", held}, doctor.WorkerTimeout},
		{patient{"short requests", fine}, ""},
	}}
}

// examine looks at each server and its log until it is named. A twin has to be
// up, and is then looked at once: its log does not change any more.
func (l *timeOuts) examine(t *testing.T) {
	for _, p := range l.list {
		if p.mode == "" {
			servertest.Eventually(t, p.name+" is over", func() bool {
				resp, err := servertest.Client.Get(p.URL("?0.1"))
				return err == nil && resp.Body.Close() == nil
			})
		}
		named := false
		for deadline := time.Now().Add(2 * servertest.Patience); !named && time.Now().Before(deadline); {
			r := withLog(t, p.Log(t))
			for _, f := range r.Findings {
				switch {
				case !fromLog(&f): // of this machine and the other servers on it
				case f.Mode == p.mode:
					named = true
					t.Logf("%s: %s", p.name, f.What)
				case f.Mode == doctor.WorkerTimeout && p.mode == doctor.BootTimeoutLoop: // as long as it was once
				default:
					t.Errorf("%s was found to have %s: %s", p.name, f.Mode, f.What)
				}
			}
			if p.mode == "" {
				break
			}
		}
		if p.mode != "" && !named {
			t.Errorf("%s was not found to have %s; its log is\n%s", p.name, p.mode, p.Log(t))
		}
	}
	t.Run("an app that cannot be loaded", func(t *testing.T) {
		cmd := exec.Command(servertest.GunicornBin, "-b", addressAt(servertest.FreePort(t)), "nowhere:app")
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Fatalf("gunicorn ended well: %s", out)
		}
		if r := withLog(t, string(out)); r.Finding(doctor.FailedStart) == nil {
			t.Errorf("it is not found that the start failed:\n%s", sayAll(r))
		}
	})
}

// logFile is what the log is called in the case.
const logFile = "gunicorn.log"

// fromLog reports whether any number of a finding is from the log.
func fromLog(f *doctor.Finding) bool {
	return slices.ContainsFunc(f.Numbers, func(n doctor.Number) bool {
		return slices.ContainsFunc(n.From, func(s evidence.Source) bool { return filepath.Base(s.File) == logFile })
	})
}

// withLog judges this machine, collected as it is now, together with a log.
func withLog(t *testing.T, log string) *doctor.Report {
	t.Helper()
	dir := t.TempDir()
	bundle, file := filepath.Join(dir, "bundle.tar.gz"), filepath.Join(dir, logFile)
	if err := os.WriteFile(file, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(bundle)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := evidence.Collect(t.Context(), out, evidence.CollectOptions{Every: time.Second, For: time.Second}); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := evidence.Read(t.Context(), bundle, file)
	if err != nil {
		t.Fatal(err)
	}
	return doctor.Diagnose(c)
}
