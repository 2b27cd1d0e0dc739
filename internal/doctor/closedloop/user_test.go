//go:build linux

package closedloop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"brink/internal/agent/agenttest"
	"brink/internal/doctor"
	"brink/internal/evidence"
)

// asChild makes the test binary look at the machine for so long and print its
// report.
const asChild = "CLOSEDLOOP_TEST_WINDOW"

func lookAsChild(window string) error {
	d, err := time.ParseDuration(window)
	if err != nil {
		return err
	}
	c, err := evidence.Live(context.Background(), evidence.Options{For: d})
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(doctor.Diagnose(c))
}

// TestMain makes the test binary a doctor of its own, when it is asked to.
func TestMain(m *testing.M) {
	if window := os.Getenv(asChild); window != "" {
		if err := lookAsChild(window); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	agenttest.Main(m, nil)
}

// nobody is the user without rights of every Linux.
const nobody = 65534

// lookAsNobody looks at this machine as an ordinary user, or as whoever runs the
// test if that is one.
func lookAsNobody(t *testing.T) *doctor.Report {
	t.Helper()
	cmd := exec.Command(forEverybody(t))
	cmd.Env = append(os.Environ(), asChild+"="+window.String())
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	var out, fault bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &fault
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, fault.String())
	}
	r := &doctor.Report{}
	if err := json.Unmarshal(out.Bytes(), r); err != nil {
		t.Fatal(err)
	}
	return r
}

// forEverybody is a copy of the test binary that any user may start.
func forEverybody(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for up := dir; up != "/" && up != os.TempDir(); up = filepath.Dir(up) {
		if err := os.Chmod(up, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	in, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	path := filepath.Join(dir, "look")
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// asOrdinaryUser looks without the right to see whose the servers are. Nothing
// may be said of a twin, and what cannot be seen must be said.
func (w *ward) asOrdinaryUser(t *testing.T) {
	t.Helper()
	others := theNeighbours()
	r := lookAsNobody(t)
	for len(w.ofTwins(r)) > 0 && others.crowd(t) {
		others.wait(t)
		r = lookAsNobody(t)
	}
	for _, wrong := range w.ofTwins(r) {
		t.Error(wrong)
	}
	blind := slices.IndexFunc(r.Unseen, func(u doctor.Unseen) bool { return u.What == evidence.HasPools })
	if blind < 0 || r.Unseen[blind].Why != evidence.Denied {
		t.Errorf("it is not said that the servers' processes may not be looked at:\n%s", sayAll(r))
	}
	for _, p := range w.ill {
		if !slices.ContainsFunc(r.Unsure, func(c doctor.Check) bool { return strings.Contains(c.Text, p.Address()) }) && p.name != "gunicorn gthread" {
			t.Errorf("requests wait at %s (%s), and nobody is told:\n%s", p.name, p.Address(), sayAll(r))
		}
	}
	if r.Verdict == doctor.Healthy {
		t.Error("a machine with requests that nobody serves is called healthy")
	}
}
