//go:build !linux

package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"brink/internal/experiment"
	"brink/internal/host"
)

// What looks at a machine or runs apps on one is made for Linux. Elsewhere brink
// reads, compares and diagnoses what was recorded, and drives other machines.

func takeRole() {}

func needsLinux(what string) error {
	return badInput(fmt.Errorf("%s needs Linux, and this is %s", what, runtime.GOOS))
}

func (a *app) chooseHost(string, *experiment.Design) (host.Host, error) {
	return nil, needsLinux("a host, local or vm,")
}

func accelerator(context.Context, host.Host) (string, error) { return "", errors.ErrUnsupported }

func (a *app) watchCommand() *cobra.Command {
	return linuxCommand("watch", "Show how busy the workers of listening servers are, like top")
}

func (a *app) imageCommand() *cobra.Command {
	return linuxCommand("image", "Build, list and remove the images of virtual machines")
}

func (a *app) appCommand() *cobra.Command {
	return linuxCommand("app", "Serve the built-in workload")
}

func (a *app) agentCommand() *cobra.Command { return linuxCommand("agent", "") }

func (a *app) holdCommand() *cobra.Command { return linuxCommand("hold", "") }

// linuxCommand says why it does nothing here. Without a description it is not
// for people.
func linuxCommand(name, short string) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Short:              short + " (on Linux)",
		Hidden:             short == "",
		DisableFlagParsing: true,
		RunE:               func(*cobra.Command, []string) error { return needsLinux("brink " + name) },
	}
}
