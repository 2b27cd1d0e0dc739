package goapp

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// workerEnv carries a worker's Config as JSON, and makes RunIfWorker act.
const workerEnv = "BRINK_APP_WORKER"

// Descriptors that a worker inherits, in the order of exec.Cmd.ExtraFiles.
const (
	fdListener = 3 + iota
	fdHeartbeat
	fdLifeline
)

// child is the master's view of a worker.
type child struct {
	cmd     *exec.Cmd
	pid     int
	beat    heartbeat
	aborted bool
	state   syscall.WaitStatus // set before the child is sent to master.exits
}

// start must run on the thread that lives as long as the master.
func (m *master) start() (*child, error) {
	config, err := json.Marshal(m.cfg)
	if err != nil {
		return nil, fmt.Errorf("writing down the worker's configuration: %w", err)
	}
	beat, err := newHeartbeat()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(m.exe)
	cmd.Args = []string{m.exe, "app", "worker"}
	cmd.Env = append(os.Environ(), workerEnv+"="+string(config))
	cmd.Stderr = m.log
	cmd.ExtraFiles = []*os.File{m.listener, beat.file, m.lifeline}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if err := cmd.Start(); err != nil {
		beat.file.Close()
		return nil, err
	}
	return &child{cmd: cmd, pid: cmd.Process.Pid, beat: beat}, nil
}

func (c *child) wait() syscall.WaitStatus {
	// The state says everything that the error says.
	_ = c.cmd.Wait()
	return c.cmd.ProcessState.Sys().(syscall.WaitStatus)
}

// signal does nothing to a child that has ended already.
func (c *child) signal(s syscall.Signal) { _ = c.cmd.Process.Signal(s) }
