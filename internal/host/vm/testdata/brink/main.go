// Command brink is what of brink runs in a guest, and no more of it, so that
// tests build it quickly.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"brink/internal/agent"
	"brink/internal/clock"
	"brink/internal/guest"
	"brink/internal/system"
)

func main() {
	guest.RunIfInit(func(ctx context.Context, conn io.ReadWriteCloser) error {
		return agent.Serve(ctx, conn, agent.Options{
			Dir: guest.AppDir, Registry: guest.RunDir, Clock: clock.Real, Program: "brink test",
			BuiltIn: []string{guest.Program, "app"}, Hold: []string{guest.Program, "hold"}, Alone: true, Tell: os.Stderr,
		})
	})
	if len(os.Args) < 2 || os.Args[1] != "hold" {
		fmt.Fprintln(os.Stderr, "this program runs in a guest")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := system.Hold(ctx, os.Args[2:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}
