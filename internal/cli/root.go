// Package cli is the command line: one file per command. It parses, calls the
// rooms below and prints; it decides nothing.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// Version is the program's version, set by the linker.
var Version = "dev"

// Exit codes, documented in the README and in brink help.
const (
	exitDone = 0
	// exitVerdict: some hypothesis is not supported or inconclusive (--strict).
	exitVerdict = 1
	// exitInput: bad input or a missing requirement.
	exitInput = 2
	// exitBroken: the run broke.
	exitBroken = 3
)

const exitCodes = `Exit codes: 0 done; 1 some hypothesis not supported or inconclusive (only with
--strict); 2 bad input or a missing requirement; 3 the run broke.`

// exitError carries the exit code of an error. A nil err prints nothing.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// badInput marks an error as the user's to mend.
func badInput(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitInput, err}
}

// broken marks an error that ended a run.
func broken(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitBroken, err}
}

// app is what all commands share.
type app struct {
	stdout, stderr io.Writer
	json, quiet    bool
}

// Main runs the command line and returns the exit code.
func Main(args []string) int {
	takeRole()
	if len(args) == 1 && args[0] == "version" {
		// Asked for in loops and prompts, so it does not wait for the rest.
		if err := (&app{stdout: os.Stdout}).printVersion(); err != nil {
			return exitBroken
		}
		return exitDone
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal stops cleanly; a second one no longer waits for that.
	context.AfterFunc(ctx, stop)
	return run(ctx, args, os.Stdout, os.Stderr)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	a := &app{stdout: stdout, stderr: stderr}
	root := a.root(args)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = broken(errors.New("interrupted"))
	}
	if text := err.Error(); text != "" {
		a.tell("brink: " + text)
	}
	var coded *exitError
	if errors.As(err, &coded) {
		return coded.code
	}
	return exitInput // what cobra itself refuses
}

// root is the command line, as far as args can need it.
func (a *app) root(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "brink",
		Short: "Find what breaks first when web apps share a machine, and prove it",
		Long: `brink reproduces a failure of web apps that share a machine: it builds a plan,
deploys real apps on it, drives them from outside, reads the kernel while it
happens, and writes a report in which every claim carries its evidence.

` + exitCodes,
		Example: `  brink list                                     what ships with brink
  brink run worker-exhaustion --profile quick    run it and write the report
  brink new mine && brink run mine.yaml          an experiment of your own`,
		SuggestionsMinimumDistance: 2,
		SilenceErrors:              true,
		SilenceUsage:               true,
		Args:                       knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(flagError)
	flags := root.PersistentFlags()
	flags.BoolVar(&a.json, "json", false, "print JSON for programs")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "print results only, no progress")
	if one := a.commandAsked(args); one != nil {
		root.AddCommand(one)
		root.CompletionOptions.DisableDefaultCmd = true
		return root
	}
	for _, c := range a.commands() {
		root.AddCommand(c.make())
	}
	return root
}

// lateCommand is a command that is made only when it is needed: every start would
// pay for all of them and their flags.
type lateCommand struct {
	name string
	make func() *cobra.Command
}

func (a *app) commands() []lateCommand {
	return []lateCommand{
		{"run", a.runCommand}, {"list", a.listCommand}, {"show", a.showCommand}, {"validate", a.validateCommand},
		{"schema", a.schemaCommand}, {"new", a.newCommand}, {"report", a.reportCommand}, {"export", a.exportCommand},
		{"query", a.queryCommand}, {"compare", a.compareCommand}, {"study", a.studyCommand}, {"probe", a.probeCommand},
		{"watch", a.watchCommand}, {"calibrate", a.calibrateCommand}, {"doctor", a.doctorCommand},
		{"collect", a.collectCommand}, {"audit", a.auditCommand}, {"image", a.imageCommand}, {"app", a.appCommand},
		{"agent", a.agentCommand}, {"hold", a.holdCommand}, {"version", a.versionCommand},
	}
}

// commandAsked makes the command that args begin with; nil if they begin with
// something else, such as a flag or the shell's question how a word may go on.
func (a *app) commandAsked(args []string) *cobra.Command {
	if len(args) == 0 {
		return nil
	}
	for _, c := range a.commands() {
		if c.name == args[0] {
			return c.make()
		}
	}
	return nil
}

// printJSON writes one indented JSON document.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// say prints one line for people, unless they asked for quiet or JSON.
func (a *app) say(format string, args ...any) {
	if !a.quiet && !a.json {
		a.tell(fmt.Sprintf(format, args...))
	}
}

// tell prints lines beside the results, wrapped only on a terminal: elsewhere a
// line is a line.
func (a *app) tell(text string) {
	p := newPage(a.stderr)
	for line := range strings.SplitSeq(harmless(text), "\n") {
		if p.terminal {
			line = strings.TrimSuffix(indent(line, "", p.width), "\n")
		}
		fmt.Fprintln(p, line)
	}
}
