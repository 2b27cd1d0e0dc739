package cli

import (
	"context"
	"io"
	"os"

	"brink/internal/agent"
	"brink/internal/clock"
	"brink/internal/goapp"
	"brink/internal/guest"
)

// takeRole never returns where this process is not started by a person: in a
// worker of the built-in workload, and as the first process of a virtual
// machine.
func takeRole() {
	goapp.RunIfWorker()
	guest.RunIfInit(serveGuest)
}

// serveGuest is the agent of a virtual machine whose first process is brink.
func serveGuest(ctx context.Context, conn io.ReadWriteCloser) error {
	return agent.Serve(ctx, conn, agent.Options{
		Dir:      guest.AppDir,
		Registry: guest.RunDir,
		Clock:    clock.Real,
		Program:  "brink " + Version,
		BuiltIn:  []string{guest.Program, "app"},
		Hold:     []string{guest.Program, "hold"},
		Alone:    true,
		Tell:     os.Stderr,
	})
}
