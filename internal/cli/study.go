package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/record"
	"brink/internal/report"
	"brink/internal/verdict"
)

// studyFlags are the analysis rules that can be changed after the run.
type studyFlags struct {
	warmUp  string
	exclude []string
}

// study is a record, measured and judged.
type study struct {
	dir      string
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
	for _, text := range f.exclude {
		spec, reason, _ := strings.Cut(text, "=")
		step, number, ok := strings.Cut(spec, ":")
		var x measure.Exclusion
		if _, err := fmt.Sscanf(number, "%d", &x.Number); !ok || err != nil || reason == "" {
			return o, fmt.Errorf("--exclude %q: write STEP:REPETITION=REASON; a repetition is only left out with a reason", text)
		}
		x.Step, x.Reason = step, reason
		o.Exclude = append(o.Exclude, x)
	}
	return o, nil
}

// study measures and judges the record in dir and writes its report.
func (a *app) study(ctx context.Context, dir string, f studyFlags) (*study, error) {
	o, err := f.options()
	if err != nil {
		return nil, badInput(err)
	}
	r, err := record.Open(dir)
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
	s := &study{dir: dir}
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

// command is the line that does a run again.
func command(run record.Run) string {
	parts := []string{"brink run", run.Experiment, "--profile", run.Profile, fmt.Sprintf("--seed %d", run.Seed)}
	for _, o := range run.Overrides {
		parts = append(parts, fmt.Sprintf("--set '%s'", strings.ReplaceAll(o, "'", `'\''`)))
	}
	return strings.Join(parts, " ")
}

// write renders both reports, each in full or not at all.
func (s *study) write() error {
	for name, render := range map[string]func(io.Writer, *report.Model) error{
		"report.html": report.RenderHTML, "report.md": report.RenderMarkdown,
	} {
		if err := writeFile(filepath.Join(s.dir, name), func(w io.Writer) error { return render(w, s.model) }); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
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

func (a *app) printVerdicts(s *study) error {
	path := filepath.Join(s.dir, "report.html")
	if a.json {
		return a.printJSON(map[string]any{
			"directory": s.dir, "report": path, "status": s.model.Run.Status,
			"notices": s.model.Notices, "verdicts": s.verdicts,
		})
	}
	for _, n := range s.model.Notices {
		fmt.Fprintln(a.stdout, n.Text)
	}
	fmt.Fprintln(a.stdout)
	for _, v := range s.verdicts {
		fmt.Fprintf(a.stdout, "%-22s %-19s %s\n", v.Hypothesis.ID, v.Outcome, v.Level)
		fmt.Fprint(a.stdout, indent(v.Hypothesis.Claim, "    ", 96))
		fmt.Fprint(a.stdout, indent(v.Sentence, "    → ", 96))
	}
	_, err := fmt.Fprintf(a.stdout, "\nReport: %s\n", path)
	return err
}

// indent wraps text at width, the first line after lead, the others under it.
func indent(text, lead string, width int) string {
	var b strings.Builder
	pad := strings.Repeat(" ", len([]rune(lead)))
	line := lead
	empty := true
	for _, word := range strings.Fields(text) {
		if !empty && len([]rune(line))+1+len([]rune(word)) > width {
			b.WriteString(line + "\n")
			line, empty = pad, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	b.WriteString(line + "\n")
	return b.String()
}

func (a *app) reportCommand() *cobra.Command {
	var f studyFlags
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Judge a run again and write its report",
		Long: `Measure and judge the record of a run again and write report.html and
report.md. Rules of the analysis can be changed: the record keeps everything.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.say("reading %s", args[0])
			s, err := a.study(cmd.Context(), args[0], f)
			if err != nil {
				return err
			}
			return a.printVerdicts(s)
		},
	}
	cmd.Flags().StringVar(&f.warmUp, "warm-up", "declared", "leave out the `declared` warm-up, or none")
	cmd.Flags().StringArrayVar(&f.exclude, "exclude", nil, "leave one repetition out: `STEP:REPETITION=REASON` (repeatable)")
	return cmd
}
