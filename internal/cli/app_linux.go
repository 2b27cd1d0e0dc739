package cli

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"brink/internal/agent"
	"brink/internal/goapp"
	"brink/internal/system"
)

func (a *app) appCommand() *cobra.Command {
	c, envErr := goapp.FromEnv(os.Getenv)
	cmd := &cobra.Command{
		Use:   "app",
		Short: "Serve the built-in workload: a master and N workers, one connection at a time each",
		Long: `Serve the built-in workload, with the endpoints that all of brink's apps have:
/health, /ping, /stats, /thread-hold, /block-hold, /upstream, /cpu-burn, /work
and /diag/proc.

A master opens the listener and starts workers that inherit it. Each serves one
connection at a time, in the order in which the kernel hands them out. BIND,
PORT and ALLOC_MB in the environment set the defaults.`,
		Example: `  brink app --workers 4
  BIND=127.0.0.1 PORT=8000 ALLOC_MB=50 brink app`,
		Args:              arguments(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if envErr != nil {
				return badInput(envErr)
			}
			if err := c.Validate(); err != nil {
				return badInput(err)
			}
			err := goapp.Main(context.WithoutCancel(cmd.Context()), c, a.stderr) // it handles signals itself, as gunicorn does
			if errors.Is(err, goapp.ErrWorkerBoot) {
				return broken(err)
			}
			return badInput(err)
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.Bind, "bind", c.Bind, "`address` to listen on")
	f.IntVar(&c.Workers, "workers", c.Workers, "number of workers")
	f.DurationVar(&c.Timeout, "timeout", c.Timeout, "kill a worker that is silent for so long; 0 never does")
	f.DurationVar(&c.GracefulTimeout, "graceful-timeout", c.GracefulTimeout, "time that workers get to finish when told to stop")
	f.IntVar(&c.Backlog, "backlog", c.Backlog, "limit of the accept queue")
	f.DurationVar(&c.KeepAlive, "keep-alive", c.KeepAlive, "keep connections open for so long; 0 closes after each answer")
	f.IntVar(&c.AllocMB, "alloc-mb", c.AllocMB, "memory that each worker fills at start, in MB")
	return cmd
}

// agentCommand is what a host starts to run apps. It speaks with the lab on
// file descriptor 3 and is of no use to people.
func (a *app) agentCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:    "agent",
		Short:  "Run apps for a lab (started by brink itself)",
		Hidden: true,
		Args:   arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return broken(agent.Run(cmd.Context(), dir, "brink "+Version))
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "`directory` for the apps' files")
	_ = cmd.MarkFlagRequired("dir")
	return cmd
}

// holdCommand stands for memory of the platform's own. Its arguments are the
// agent's, which starts it.
func (a *app) holdCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "hold",
		Short:              "Hold memory for a plan (started by brink itself)",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return broken(system.Hold(cmd.Context(), args, a.stdout))
		},
	}
}
