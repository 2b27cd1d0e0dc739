package agent

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"brink/internal/clock"
)

// FD is the file descriptor on which an agent that runs as a process of its
// own finds the connection to its lab.
const FD = 3

// Run is the agent as a program, "brink agent --dir DIR": it serves the lab on
// FD until the lab closes it or the program is asked to end (SIGTERM, SIGINT). Dir is the run
// directory, program the name and version for the hello. Apps of runtime go
// are this program too, started as "app" with --bind, --workers, --timeout,
// --keep-alive and, if it is given, --backlog; "hold" is Hold.
func Run(ctx context.Context, dir, program string) error {
	var st syscall.Stat_t
	if err := syscall.Fstat(FD, &st); err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFSOCK {
		return fmt.Errorf("an agent is started by a lab, which hands it a socket on file descriptor %d", FD)
	}
	// An app that inherited the socket would keep it open when the agent dies.
	syscall.CloseOnExec(FD)
	if err := syscall.SetNonblock(FD, true); err != nil {
		return fmt.Errorf("file descriptor %d: %w", FD, err)
	}
	conn := os.NewFile(FD, "lab")
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program, for the built-in workload: %w", err)
	}
	reg, err := RegistryDir()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return Serve(ctx, conn, Options{
		Dir:      dir,
		Registry: reg,
		Clock:    clock.Real,
		Program:  program,
		BuiltIn:  []string{exe, "app"},
		Hold:     []string{exe, "hold"},
		Tell:     os.Stderr,
	})
}
