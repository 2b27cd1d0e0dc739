// Package servertest starts real web servers for tests, the distribution's own,
// sends them requests, and ends them with the test. It knows nothing of how they
// are looked at.
package servertest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Patience is how long anything may take on a busy machine.
const Patience = 60 * time.Second

// Process is a server under test, in a process group and a directory of its own.
type Process struct {
	*exec.Cmd
	// Port is 0 where it listens on something else.
	Port int
	// Asking counts the requests of [Pool.Drive] that are under way, below a
	// utilisation of 1.
	Asking atomic.Int64
}

// Address is where the server listens.
func (p *Process) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Port)) }

// URL is the server's, with a path and query that begin after the slash.
func (p *Process) URL(path string) string { return "http://" + p.Address() + "/" + path }

// Log is what the server has written so far.
func (p *Process) Log(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.Dir, logName))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const logName = "log"

// The ports of servers lie below those that the kernel takes for outgoing
// connections unless it is told otherwise (ip_local_port_range begins at 32768),
// of which a test opens many while it starts servers.
const (
	lowestPort = 10240
	ports      = 32768 - lowestPort
)

// FreePort is one that was free a moment ago.
func FreePort(t testing.TB) int {
	t.Helper()
	var err error
	for range 100 {
		var l net.Listener
		if l, err = net.Listen("tcp4", onPort(lowestPort+rand.IntN(ports))); err == nil {
			defer l.Close()
			return l.Addr().(*net.TCPAddr).Port
		}
	}
	t.Fatalf("no port is free: %v", err)
	return 0
}

// Launch starts a command in a directory of its own, which holds the files, and
// waits until it listens on the port. @DIR@ in arguments and files stands for
// the directory.
func Launch(t testing.TB, port int, files map[string]string, env []string, name string, args ...string) *Process {
	t.Helper()
	p := LaunchAt(t, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), files, env, name, args...)
	p.Port = port
	return p
}

// LaunchAt is Launch with an address of any network.
func LaunchAt(t testing.TB, network, address string, files map[string]string, env []string, name string, args ...string) *Process {
	t.Helper()
	dir := t.TempDir()
	address = strings.ReplaceAll(address, "@DIR@", dir)
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(strings.ReplaceAll(text, "@DIR@", dir)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	args = slices.Clone(args)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "@DIR@", dir)
	}
	log, err := os.Create(filepath.Join(dir, logName))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		End(cmd)
		log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("%s said:\n%.4000s", name, text)
		}
	})
	Eventually(t, name+" listens", func() bool {
		c, err := net.Dial(network, address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return &Process{Cmd: cmd}
}

// End kills a command's process group and waits for the command; it may have
// ended already.
func End(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait()
}

// Eventually waits until ok and fails the test when that takes longer than
// Patience.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("never happened: %s", what)
}

// Client opens a connection for each request.
var Client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: Patience}

// Get asks for / and takes the answer, whatever it is.
func Get(p *Process) error {
	resp, err := Client.Get(p.URL(""))
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// Hold keeps n requests in a server until the test ends.
func Hold(t testing.TB, n int, url string) {
	t.Helper()
	for range n {
		go func() {
			if resp, err := Client.Get(url); err == nil {
				resp.Body.Close()
			}
		}()
	}
}

// Ask connects n times, sends a request each and waits for no answer; the
// connections stay open until the test ends.
func Ask(t testing.TB, network, address string, n int) {
	t.Helper()
	for range n {
		c, err := net.Dial(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := c.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
	}
}

// AsRoot keeps a server from changing its user to one who may not see the
// test's directory.
func AsRoot(text string) string {
	if os.Getuid() != 0 {
		return ""
	}
	return text
}

// onPort is the address of a port of this machine.
func onPort(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
