package goapp

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// Bounds of Config.
const (
	maxWorkers = 1024
	maxBacklog = 65535
	maxAllocMB = 4096
	minTimeout = 100 * time.Millisecond
	maxTimeout = time.Hour
)

// Config says how the workload serves. The zero value is not valid; start
// from DefaultConfig or FromEnv.
type Config struct {
	// Bind is a literal IP address and a port; port 0 takes a free one.
	Bind string
	// Workers is the number of worker processes, 1 to 1024.
	Workers int
	// Timeout is how long a worker may be silent before it is killed,
	// 100 ms to 1 h; 0 turns the watchdog off.
	Timeout time.Duration
	// GracefulTimeout is how long workers may take to finish their request
	// when the master is asked to stop, 0 to 1 h.
	GracefulTimeout time.Duration
	// Backlog is the length of the listener's accept queue, 1 to 65535. The
	// kernel cuts it to net.core.somaxconn; the log says so.
	Backlog int
	// KeepAlive is how long a worker waits on a connection for its next
	// request, and serves nobody else meanwhile; 0 closes after each answer.
	// It must be shorter than Timeout, which would kill a waiting worker.
	KeepAlive time.Duration
	// AllocMB is filled by each worker before it serves, 0 to 4096 MiB.
	AllocMB int
}

// DefaultConfig is gunicorn's defaults, with 4 workers and no keep-alive, as
// its sync workers have none.
func DefaultConfig() Config {
	return Config{
		Bind:            "127.0.0.1:8000",
		Workers:         4,
		Timeout:         30 * time.Second,
		GracefulTimeout: 30 * time.Second,
		Backlog:         2048,
	}
}

// FromEnv is DefaultConfig with what BIND (an IP address), PORT and ALLOC_MB
// say. getenv is os.Getenv outside of tests; an empty variable counts as
// unset. The error is one sentence.
func FromEnv(getenv func(string) string) (Config, error) {
	c := DefaultConfig()
	host, port, err := net.SplitHostPort(c.Bind)
	if err != nil {
		return Config{}, err
	}
	if v := getenv("BIND"); v != "" {
		host = v
	}
	if v := getenv("PORT"); v != "" {
		if _, err := strconv.ParseUint(v, 10, 16); err != nil {
			return Config{}, fmt.Errorf("PORT must be a whole number from 0 to 65535, not %q", v)
		}
		port = v
	}
	c.Bind = net.JoinHostPort(host, port)
	if v := getenv("ALLOC_MB"); v != "" {
		mb, err := strconv.ParseUint(v, 10, 32)
		if err != nil || mb > maxAllocMB {
			return Config{}, fmt.Errorf("ALLOC_MB must be a whole number of megabytes from 0 to %d, not %q", maxAllocMB, v)
		}
		c.AllocMB = int(mb)
	}
	return c, c.Validate()
}

// Validate returns one sentence about the first field that cannot be used.
func (c Config) Validate() error {
	addr, err := netip.ParseAddrPort(c.Bind)
	switch {
	case err != nil || addr.Addr().Zone() != "":
		return fmt.Errorf("bind must be an IP address and a port such as 127.0.0.1:8000, not %q", c.Bind)
	case c.Workers < 1 || c.Workers > maxWorkers:
		return fmt.Errorf("workers must be from 1 to %d, not %d", maxWorkers, c.Workers)
	case c.Timeout != 0 && (c.Timeout < minTimeout || c.Timeout > maxTimeout):
		return fmt.Errorf("timeout must be 0 (no watchdog) or from %s to %s, not %s", minTimeout, maxTimeout, c.Timeout)
	case c.GracefulTimeout < 0 || c.GracefulTimeout > maxTimeout:
		return fmt.Errorf("graceful timeout must be from 0 to %s, not %s", maxTimeout, c.GracefulTimeout)
	case c.Backlog < 1 || c.Backlog > maxBacklog:
		return fmt.Errorf("backlog must be from 1 to %d, not %d", maxBacklog, c.Backlog)
	case c.KeepAlive < 0 || c.KeepAlive > maxTimeout:
		return fmt.Errorf("keep-alive must be from 0 to %s, not %s", maxTimeout, c.KeepAlive)
	case c.Timeout != 0 && c.KeepAlive >= c.Timeout:
		return fmt.Errorf("keep-alive (%s) must be shorter than timeout (%s), which would kill a waiting worker", c.KeepAlive, c.Timeout)
	case c.AllocMB < 0 || c.AllocMB > maxAllocMB:
		return fmt.Errorf("the allocation must be from 0 to %d MB, not %d", maxAllocMB, c.AllocMB)
	}
	return nil
}
