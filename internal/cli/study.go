package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"brink/catalog"
	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/record"
	"brink/internal/report"
	"brink/internal/verdict"
)

// studyFlags are the analysis rules that can be changed after the run.
type studyFlags struct {
	warmUp    string
	censoring string
	exclude   []string
	// out is the directory to write to, by default that of the record.
	out string
}

// study is a record, measured and judged.
type study struct {
	// dir holds the record, out gets the report.
	dir, out string
	verdicts []verdict.Verdict
	model    *report.Model
}

// options turns flags into the rules of the analysis.
func (f studyFlags) options() (measure.Options, error) {
	var o measure.Options
	switch f.warmUp {
	case "", "declared":
	case "none":
		o.NoWarmUp = true
	default:
		return o, fmt.Errorf("--warm-up %q: it is declared or none", f.warmUp)
	}
	switch f.censoring {
	case "", "declared":
	case "none":
		o.NoCensoring = true
	default:
		return o, fmt.Errorf("--censoring %q: it is declared or none", f.censoring)
	}
	for _, text := range f.exclude {
		// Names of steps may hold an equals sign, but no colon.
		step, rest, _ := strings.Cut(text, ":")
		digits, reason, _ := strings.Cut(rest, "=")
		number, err := strconv.Atoi(digits)
		if err != nil || number < 1 || step == "" || strings.TrimSpace(reason) == "" {
			return o, fmt.Errorf("--exclude %q: write STEP:REPETITION=REASON; a repetition is only left out with a reason", text)
		}
		o.Exclude = append(o.Exclude, measure.Exclusion{Step: step, Number: number, Reason: reason})
	}
	return o, nil
}

// study measures and judges the record at path, a run's directory or the file
// itself, and writes its report.
func (a *app) study(ctx context.Context, path string, f studyFlags) (*study, error) {
	o, err := f.options()
	if err != nil {
		return nil, badInput(err)
	}
	r, err := record.Open(path)
	if err != nil {
		return nil, badInput(err)
	}
	defer r.Close()
	d, run, err := recordedDesign(ctx, r)
	if err != nil {
		return nil, err
	}
	table, err := measure.Load(ctx, r, o)
	if err != nil {
		return nil, err
	}
	s := &study{dir: filepath.Dir(r.Path()), out: f.out}
	if s.out == "" {
		s.out = s.dir
	} else if err := os.MkdirAll(s.out, 0o755); err != nil {
		return nil, badInput(fmt.Errorf("the directory of the report cannot be made: %w", err))
	}
	if s.verdicts, err = verdict.Judge(d, table); err != nil {
		return nil, err
	}
	s.model, err = report.Build(ctx, report.Input{
		Design: d, Reader: r, Table: table, Verdicts: s.verdicts, Options: o, Command: command(run),
	})
	if err != nil {
		return nil, err
	}
	return s, s.write()
}

// recordedDesign expands the experiment that the record froze.
func recordedDesign(ctx context.Context, r *record.Reader) (*experiment.Design, record.Run, error) {
	run, err := r.Run(ctx)
	if err != nil {
		return nil, run, err
	}
	d, err := experiment.LoadDesign("experiment.yaml", []byte(run.YAML), experiment.Options{Profile: run.Profile})
	if err != nil {
		return nil, run, fmt.Errorf("the experiment in the record: %w", err)
	}
	return d, run, nil
}

// command is the line that does a run again: by name where the catalogue has
// the very file, otherwise from the file in the run's directory, which has all
// overrides applied. It does not say where that directory is: the report of a
// run is the same wherever it lies.
func command(run record.Run) string {
	what := run.Experiment
	if data, _, err := catalog.Open(what); err != nil || string(data) != run.YAML {
		what = experimentFile
	}
	line := "brink run " + what
	if run.Profile != "" {
		line += " --profile " + run.Profile
	}
	return line + fmt.Sprintf(" --seed %d", run.Seed)
}

// quoted makes one word of a path for a shell.
func quoted(path string) string {
	plain := func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || strings.ContainsRune("/._-+:@%", r)
	}
	if !strings.ContainsFunc(path, func(r rune) bool { return !plain(r) }) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// write renders both reports, each in full or not at all. The one that takes
// less room comes first: on a full disk it may still fit.
func (s *study) write() error {
	for _, file := range []struct {
		name   string
		render func(io.Writer, *report.Model) error
	}{{"report.md", report.RenderMarkdown}, {"report.html", report.RenderHTML}} {
		err := writeFile(filepath.Join(s.out, file.name), func(w io.Writer) error { return file.render(w, s.model) })
		if err != nil {
			return fmt.Errorf("%s cannot be written: %w", file.name, cause(err))
		}
	}
	return nil
}

// cause is what the system said, without the name of the temporary file.
func cause(err error) error {
	var bad *fs.PathError
	if errors.As(err, &bad) {
		return bad.Err
	}
	return err
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(f.Chmod(0o644), write(f), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// firstFailure is the first reason for which an execution failed.
func (s *study) firstFailure() string {
	for _, x := range s.model.Procedure {
		if x.Status == "failed" {
			return x.Reason
		}
	}
	return "the report says why"
}

func (a *app) reportCommand() *cobra.Command {
	var f studyFlags
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Judge a run again and write its report",
		Long: `Measure and judge the record of a run again and write report.html and
report.md. Rules of the analysis can be changed: the record keeps everything.`,
		Example: `  brink report runs/worker-exhaustion-20260131-120000
  brink report runs/mine --exclude 'idle:2=the machine was updated meanwhile'`,
		Args:              arguments(1, 1),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.say("reading %s", args[0])
			s, err := a.study(cmd.Context(), args[0], f)
			if err != nil {
				return err
			}
			return a.printVerdicts(s)
		},
	}
	cmd.Flags().StringVar(&f.out, "out", "", "`directory` to write the report to (default DIR)")
	cmd.Flags().StringVar(&f.warmUp, "warm-up", "declared", "leave out the `declared` warm-up, or none")
	cmd.Flags().StringVar(&f.censoring, "censoring", "declared", "take limits for bounds as `declared`, or for values (none)")
	cmd.Flags().StringArrayVar(&f.exclude, "exclude", nil, "leave one repetition out: `STEP:REPETITION=REASON` (repeatable)")
	return cmd
}
