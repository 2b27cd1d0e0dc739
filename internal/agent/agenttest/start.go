package agenttest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"brink/internal/agent"
	"brink/internal/wire"
)

// Agent is a running agent process and the lab's end of its connection.
type Agent struct {
	*wire.Client
	*Seen
	Hello wire.Hello
	Conn  net.Conn
	Cmd   *exec.Cmd
	Dir   string
	// Ended is closed when the process has been waited for.
	Ended chan struct{}
}

// Start starts an agent as a process of its own, which is shut down with the
// test. The variables are added to its environment.
func Start(t *testing.T, env ...string) *Agent {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "agent"), os.NewFile(uintptr(fds[1]), "lab")
	defer ours.Close()
	defer theirs.Close()
	a := &Agent{Seen: NewSeen(), Dir: filepath.Join(t.TempDir(), "run"), Ended: make(chan struct{})}
	if a.Conn, err = net.FileConn(ours); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	a.Cmd = exec.Command(exe, "agent", "--dir", a.Dir)
	a.Cmd.ExtraFiles, a.Cmd.Stderr = []*os.File{theirs}, &said
	a.Cmd.Env = append(os.Environ(), env...)
	a.Cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := a.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = a.Cmd.Wait()
		close(a.Ended)
	}()
	conn := wire.NewConn(a.Conn)
	if a.Hello, err = conn.Handshake(wire.Hello{Program: "test"}); err != nil {
		t.Fatal(err)
	}
	a.Client = wire.NewClient(conn, a.Seen)
	go func() { _ = a.Run() }()
	t.Cleanup(func() {
		a.Shutdown(t)
		if said.Len() > 0 {
			t.Errorf("the agent said: %s", said.String())
		}
	})
	return a
}

// Shutdown ends the agent as a lab does; it may be called again, and after the
// agent has ended otherwise.
func (a *Agent) Shutdown(t *testing.T) {
	t.Helper()
	select {
	case <-a.Done():
	case <-a.Ended: // the client has yet to read the connection's end
	default:
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := a.Call(ctx, wire.Shutdown, nil, nil); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	}
	a.Conn.Close()
	<-a.Ended
	<-a.Done()
	if _, err := os.Stat(a.Dir); !os.IsNotExist(err) {
		t.Errorf("the run directory is still there: %v", err)
	}
	dir, err := agent.RegistryDir()
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, fmt.Sprintf("%d-*", a.Cmd.Process.Pid))); len(left) > 0 {
		t.Errorf("entries are left in the registry: %v", left)
	}
}

// Deploy starts an app and returns where it answers.
func (a *Agent) Deploy(t *testing.T, app wire.App) (wire.Endpoint, error) {
	t.Helper()
	if app.Addr == "" {
		app.Addr = "127.0.0.1:0"
	}
	var ep wire.Endpoint
	err := a.Call(t.Context(), wire.Deploy, app, &ep)
	return ep, err
}
