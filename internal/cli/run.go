package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"brink/internal/clock"
	"brink/internal/experiment"
	"brink/internal/host"
	"brink/internal/lab"
	"brink/internal/record"
)

// experimentFile is the name under which a run keeps its experiment.
const experimentFile = "experiment.yaml"

// runFlags are what brink run was asked for.
type runFlags struct {
	source
	seed         int64
	out          string
	host         string
	resume       string
	extend       string
	strict       bool
	noSubstitute bool
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run NAME|FILE [--extend DIR] | --resume DIR",
		Short: "Run an experiment and write its report",
		Long: `Run an experiment of the catalogue (brink list) or of a file, record everything,
judge its hypotheses and write the report.

The run directory holds record.db, report.html, report.md and experiment.yaml.
Ctrl-C stops cleanly, takes everything down and keeps what was recorded; --resume
goes on with such a run, or one that was killed, where it ended. --extend adds to
a run, of a smaller profile for instance, what this one has beyond it: each step
that it holds, and each hypothesis, must be as it was.

An experiment whose plan limits memory runs on a virtual machine (--host vm),
any other on this machine (--host local).

` + exitCodes,
		Example: `  brink run worker-exhaustion --profile quick
  brink run mine.yaml --set apps.web.workers=8 --repetitions 6 --seed 1 --strict
  brink run --resume runs/memory-pressure-20260131-120000
  brink run memory-pressure --profile standard --extend runs/memory-pressure-20260131-120000`,
		Args:              arguments(0, 1),
		ValidArgsFunction: completeExperiments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.resume != "" {
				if err := onlyResume(cmd, args); err != nil {
					return err
				}
				return a.resume(cmd.Context(), f.resume, f)
			}
			if err := arguments(1, 1)(cmd, args); err != nil {
				return err
			}
			if cmd.Flags().Changed("extend") {
				if err := onlyExtend(cmd); err != nil {
					return err
				}
				return a.extend(cmd.Context(), args[0], f)
			}
			if !cmd.Flags().Changed("seed") {
				f.seed = int64(rand.Uint32())
			}
			return a.run(cmd.Context(), args[0], f)
		},
	}
	f.addFlags(cmd)
	fl := cmd.Flags()
	fl.Int64Var(&f.seed, "seed", 0, "`seed` of the order of steps and of arrivals (default: drawn, and recorded)")
	fl.StringVar(&f.out, "out", "", "run `directory` (default runs/NAME-TIME); it must be new or empty")
	fl.StringVar(&f.host, "host", "", "`kind` of host: local or vm (default by the plan)")
	fl.StringVar(&f.resume, "resume", "", "go on with the run in `directory` where it ended")
	fl.StringVar(&f.extend, "extend", "", "add to the run in `directory` what it does not hold yet")
	_ = cmd.RegisterFlagCompletionFunc("host", cobra.FixedCompletions([]string{"local", "vm"}, cobra.ShellCompDirectiveNoFileComp))
	fl.BoolVar(&f.strict, "strict", false, "exit with 1 when a hypothesis is not supported or inconclusive")
	fl.BoolVar(&f.noSubstitute, "no-substitute", false, "exit with 2 instead of letting the built-in Go server take the place of a server that is missing")
	return cmd
}

// onlyResume refuses what a run that is taken up again already has.
func onlyResume(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return badInput(fmt.Errorf("--resume takes the experiment from its record: leave out %q", args[0]))
	}
	for _, name := range []string{"seed", "out", "profile", "set", "repetitions", "host", "extend"} {
		if cmd.Flags().Changed(name) {
			return badInput(fmt.Errorf("--resume takes --%s from its record: leave it out", name))
		}
	}
	return nil
}

// onlyExtend refuses what a run that is extended already has.
func onlyExtend(cmd *cobra.Command) error {
	for _, name := range []string{"seed", "out", "host"} {
		if cmd.Flags().Changed(name) {
			return badInput(fmt.Errorf("--extend takes --%s from the run that it extends: leave it out", name))
		}
	}
	return nil
}

// run is one brink run from file to report.
func (a *app) run(ctx context.Context, arg string, f runFlags) error {
	d, err := f.load(arg)
	if err != nil {
		return err
	}
	h, err := a.chooseHost(f.host, d)
	if err != nil {
		return err
	}
	if err := lab.Check(h, d); err != nil {
		return badInput(err)
	}
	missed, err := a.requirements(ctx, h, d, f.noSubstitute)
	if err != nil {
		return err
	}
	for _, w := range d.Warnings {
		a.say("warning: %s", w)
	}
	kind, err := accelerator(ctx, h)
	if err != nil {
		return err
	}
	dir, err := a.runDirectory(d, f.out)
	if err != nil {
		return badInput(err)
	}
	w, err := record.Create(dir, record.Run{
		ID: filepath.Base(dir), Brink: Version, Experiment: d.Experiment.Name, YAML: string(d.Source),
		Profile: d.Profile, Seed: f.seed, Host: h.Kind(), Overrides: f.overrides(),
		Accelerator: kind, StartedNs: clock.Real.Now().UnixNano(),
	})
	if err != nil {
		return badInput(err)
	}
	if err := os.WriteFile(filepath.Join(dir, experimentFile), d.Source, 0o644); err != nil {
		_ = w.Close() // nothing is in it yet
		return badInput(fmt.Errorf("%s cannot be written: %w", filepath.Join(dir, experimentFile), cause(err)))
	}
	result, runErr := lab.Result{}, addRequirements(w, missed)
	if runErr == nil {
		result, runErr = a.execute(ctx, d, w, lab.Options{Host: h, Seed: f.seed})
	}
	if err := w.Close(); runErr == nil {
		runErr = err
	}
	return a.conclude(dir, result, runErr, f.strict)
}

// overrides are the arguments that a reproduction needs besides the file.
func (f runFlags) overrides() []string {
	o := slices.Clone(f.set)
	if f.repetitions > 0 {
		o = append(o, fmt.Sprintf("repetitions=%d", f.repetitions))
	}
	return o
}

// requirements checks what the host has, lets the built-in server take the
// place of one that is missing, and leaves out steps whose plan cannot be had.
func (a *app) requirements(ctx context.Context, h host.Host, d *experiment.Design, noSubstitute bool) ([]record.Requirement, error) {
	var missed []record.Requirement
	var left []string // why steps were left out
	var kept []experiment.Step
	checked := map[string]bool{}
	for _, s := range d.Steps {
		missing, err := h.Check(ctx, s.Plan, s.Apps)
		if err != nil {
			return nil, broken(fmt.Errorf("check the host: %w", err))
		}
		keep := true
		for _, m := range missing {
			switch {
			case m.App == "":
				keep = false
				left = append(left, fmt.Sprintf("step %s was left out: it needs %s (%s)", s.Name, m.Need, m.Advice))
				missed = append(missed, record.Requirement{Need: m.Need, Consequence: left[len(left)-1]})
				continue
			case m.Substitute == "" || noSubstitute:
				return nil, badInput(fmt.Errorf("app %s needs %s, which is not there. %s", m.App, m.Need, m.Advice))
			}
			for i := range s.Apps {
				if s.Apps[i].Name == m.App {
					s.Apps[i].SubstituteWith(m.Substitute)
				}
			}
			if !checked[m.Need+m.App] {
				checked[m.Need+m.App] = true
				text := fmt.Sprintf("%s was not there; the built-in Go server took the place of app %s", m.Need, m.App)
				missed = append(missed, record.Requirement{Need: m.Need, App: m.App, Consequence: text, Substituted: true})
				a.tell(fmt.Sprintf("NOTE: %s. %s", text, m.Advice))
			}
		}
		if keep {
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 {
		return nil, badInput(fmt.Errorf("no step of %s can run here: %s", d.Experiment.Name, left[0]))
	}
	for _, why := range left {
		a.say("warning: %s", why)
	}
	d.Steps = kept
	return missed, nil
}

func addRequirements(w *record.Writer, missed []record.Requirement) error {
	for _, m := range missed {
		if err := w.AddRequirement(m); err != nil {
			return err
		}
	}
	return nil
}

// runDirectory makes the directory of the run; it must be new or empty.
func (a *app) runDirectory(d *experiment.Design, out string) (string, error) {
	if out == "" {
		return newRunDirectory(d.Experiment.Name + "-" + clock.Real.Now().UTC().Format("20060102-150405"))
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", fmt.Errorf("the run directory %s cannot be made: %w", out, cause(err))
	}
	entries, err := os.ReadDir(out)
	if err != nil {
		return "", fmt.Errorf("the run directory %s cannot be read: %w", out, cause(err))
	}
	if len(entries) > 0 {
		return "", fmt.Errorf("%s is not empty: name a new directory with --out", out)
	}
	return out, nil
}

// extent says in a few words how much a run is.
func extent(d *experiment.Design) string {
	least, most := d.Repetitions, 0
	for _, s := range d.Steps {
		least, most = min(least, d.RepetitionsOf(s)), max(most, d.RepetitionsOf(s))
	}
	text := fmt.Sprintf("%s × %s", count(len(d.Steps), "step", "steps"), count(most, "repetition", "repetitions"))
	if least < most {
		text = fmt.Sprintf("%s, %d to %d repetitions each", count(len(d.Steps), "step", "steps"), least, most)
	}
	if d.Profile != "" {
		text += ", profile " + d.Profile
	}
	return text
}

// newRunDirectory makes a directory below runs; one that was made in the same
// second, by another brink, gets a number behind its name.
func newRunDirectory(name string) (string, error) {
	if err := os.MkdirAll("runs", 0o755); err != nil {
		return "", fmt.Errorf("the directory runs cannot be made: %w", cause(err))
	}
	for n := 1; ; n++ {
		dir := filepath.Join("runs", name)
		if n > 1 {
			dir = fmt.Sprintf("%s-%d", dir, n)
		}
		err := os.Mkdir(dir, 0o755)
		switch {
		case err == nil:
			return dir, nil
		case !errors.Is(err, fs.ErrExist):
			return "", fmt.Errorf("the run directory %s cannot be made: %w", dir, cause(err))
		}
	}
}

// execute runs the lab under whatever shows its progress.
func (a *app) execute(ctx context.Context, d *experiment.Design, w *record.Writer, o lab.Options) (lab.Result, error) {
	a.say("%s: %s, seed %d", d.Experiment.Title, extent(d), o.Seed)
	ctx, view := a.view(ctx, d)
	defer view.close()
	o.Design, o.Record, o.Clock, o.Sampling, o.Progress = d, w, clock.Real, time.Duration(d.Sampling), view.progress
	return lab.Run(ctx, o)
}

// conclude writes the report of whatever was recorded and chooses the exit code.
func (a *app) conclude(dir string, result lab.Result, runErr error, strict bool) error {
	// The report is written even after Ctrl-C, so it must not hang on ctx.
	s, err := a.study(context.Background(), dir, studyFlags{})
	switch {
	case err != nil && runErr != nil:
		return broken(fmt.Errorf("%w; %w, so that the report is missing: brink report %s --out DIR writes it elsewhere", runErr, err, dir))
	case err != nil:
		return broken(fmt.Errorf("the run is recorded in %s, but its report was not written: %w", dir, err))
	}
	if err := a.printVerdicts(s); err != nil {
		return err
	}
	switch {
	case runErr != nil:
		return broken(runErr)
	case result.Interrupted:
		return broken(fmt.Errorf("interrupted; what was recorded is in %s", dir))
	case len(result.NeverServed) > 0:
		return broken(fmt.Errorf("no app ever served in %s: %s", strings.Join(result.NeverServed, ", "), s.firstFailure()))
	case strict && unsettled(s.verdicts) > 0:
		return &exitError{exitVerdict, fmt.Errorf("--strict: %d of %s not supported or inconclusive",
			unsettled(s.verdicts), count(len(s.verdicts), "hypothesis", "hypotheses"))}
	}
	return nil
}
