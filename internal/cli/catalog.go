package cli

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"brink/catalog"
	"brink/internal/experiment"
)

func (a *app) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "list",
		Short:             "List the experiments that ship with brink",
		Args:              arguments(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			type entry struct {
				Name        string   `json:"name"`
				Title       string   `json:"title"`
				Type        string   `json:"type"`
				Profiles    []string `json:"profiles"`
				Steps       int      `json:"steps"`
				Hypotheses  int      `json:"hypotheses"`
				Repetitions int      `json:"repetitions"`
			}
			var entries []entry
			for _, name := range catalog.Names() {
				d, err := (&source{}).load(name)
				if err != nil {
					return err
				}
				entries = append(entries, entry{
					Name: name, Title: d.Experiment.Title, Type: string(d.Experiment.Type),
					Profiles: d.Experiment.ProfileNames(), Steps: len(d.Steps),
					Hypotheses: len(d.Experiment.Hypotheses), Repetitions: d.Repetitions,
				})
			}
			if a.json {
				return a.printJSON(entries)
			}
			rows := [][]string{{"NAME", "STEPS", "HYPOTHESES", "TITLE"}}
			for _, e := range entries {
				rows = append(rows, []string{e.Name, strconv.Itoa(e.Steps), strconv.Itoa(e.Hypotheses), e.Title})
			}
			return newPage(a.stdout).columns(rows)
		},
	}
}

func (a *app) showCommand() *cobra.Command {
	var src source
	cmd := &cobra.Command{
		Use:   "show NAME|FILE",
		Short: "Show what an experiment asks, does and claims",
		Example: `  brink show worker-exhaustion --profile full
  brink show mine.yaml --set apps.web.workers=8 --json`,
		Args:              arguments(1, 1),
		ValidArgsFunction: completeExperiments,
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := src.load(args[0])
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(d)
			}
			return a.show(d)
		},
	}
	src.addFlags(cmd)
	return cmd
}

func (a *app) show(d *experiment.Design) error {
	e := d.Experiment
	p := newPage(a.stdout)
	fmt.Fprintln(p, p.styled(bold, harmless(e.Title)))
	fmt.Fprintln(p)
	if err := p.paragraph("", e.Question); err != nil {
		return err
	}
	fmt.Fprintf(p, "\n%s, about %s\n\n", extent(d), d.Estimate().Round(time.Second))
	if err := p.columns(stepRows(d.Steps)); err != nil {
		return err
	}
	fmt.Fprintln(p)
	rows := [][]string{{"ID", "FORM", "CLAIM"}}
	for _, h := range e.Hypotheses {
		rows = append(rows, []string{h.ID, string(h.Form), h.Claim})
	}
	if err := p.columns(rows); err != nil {
		return err
	}
	return leftOut(p, d)
}

// leftOut says what the profile does not execute, and so cannot test.
func leftOut(p page, d *experiment.Design) error {
	if len(d.LeftOutSteps) == 0 {
		return nil
	}
	fmt.Fprintln(p)
	text := fmt.Sprintf("Profile %s leaves out %s: %s.", d.Profile, count(len(d.LeftOutSteps), "step", "steps"), strings.Join(d.LeftOutSteps, ", "))
	if err := p.paragraph("", text); err != nil || len(d.LeftOut) == 0 {
		return err
	}
	fmt.Fprintln(p)
	rows := [][]string{{"NOT TESTED", "WHY"}}
	for _, h := range d.LeftOut {
		rows = append(rows, []string{h.ID, h.Why})
	}
	return p.columns(rows)
}

// widestApps is how wide a column of apps may be before their traffic gets no
// column of its own.
const widestApps = 40

func stepRows(steps []experiment.Step) [][]string {
	rows, joined := [][]string{{"STEP", "APPS", "TRAFFIC"}}, [][]string{{"STEP", "APPS AND TRAFFIC"}}
	wide := false
	for _, s := range steps {
		apps, traffic := s.AppsText(), s.TrafficText()
		rows = append(rows, []string{s.Name, apps, traffic})
		joined = append(joined, []string{s.Name, apps + "; " + traffic})
		wide = wide || len(apps) > widestApps
	}
	if wide {
		return joined
	}
	return rows
}

// validity is what validate says in JSON.
type validity struct {
	Valid       bool                  `json:"valid"`
	Name        string                `json:"name,omitempty"`
	Steps       int                   `json:"steps,omitempty"`
	Hypotheses  int                   `json:"hypotheses,omitempty"`
	Repetitions int                   `json:"repetitions,omitempty"`
	Warnings    experiment.FileErrors `json:"warnings,omitempty"`
	Problems    experiment.FileErrors `json:"problems,omitempty"`
}

func (a *app) validateCommand() *cobra.Command {
	var src source
	cmd := &cobra.Command{
		Use:   "validate FILE|NAME",
		Short: "Check an experiment file",
		Long: `Check an experiment file, or one of the catalogue. Each problem is one sentence
with file, line, column, field and what would be allowed.`,
		Example:           `  brink validate mine.yaml`,
		Args:              arguments(1, 1),
		ValidArgsFunction: completeExperiments,
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := src.load(args[0])
			var problems experiment.FileErrors
			switch {
			case a.json && errors.As(err, &problems):
				return errors.Join(a.printJSON(validity{Problems: problems}), &exitError{code: exitInput})
			case err != nil:
				return err
			case a.json:
				return a.printJSON(validity{
					Valid: true, Name: d.Experiment.Name, Steps: len(d.Steps), Hypotheses: len(d.Experiment.Hypotheses),
					Repetitions: d.Repetitions, Warnings: d.Warnings,
				})
			}
			for _, w := range d.Warnings {
				a.say("warning: %s", w)
			}
			fmt.Fprintf(a.stdout, "%s is valid: %s, %s, %s\n", args[0], count(len(d.Steps), "step", "steps"),
				count(len(d.Experiment.Hypotheses), "hypothesis", "hypotheses"), count(d.Repetitions, "repetition", "repetitions"))
			return nil
		},
	}
	src.addFlags(cmd)
	return cmd
}

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "schema",
		Short:             "Print the JSON Schema of experiment files, for editors",
		Example:           `  brink schema > experiment.schema.json`,
		Args:              arguments(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.stdout, "%s\n", experiment.Schema())
			return err
		},
	}
}

func (a *app) newCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:               "new NAME",
		Short:             "Write an experiment file to start from, under the sixteen headings",
		Example:           `  brink new mine`,
		Args:              arguments(1, 1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := experiment.Template(args[0])
			if err != nil {
				return badInput(err)
			}
			path := out
			if path == "" {
				path = args[0] + ".yaml"
			}
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if err != nil {
				return badInput(fmt.Errorf("%s cannot be written: %w", path, cause(err)))
			}
			if _, err := f.Write(data); err != nil {
				return errors.Join(err, f.Close())
			}
			if err := f.Close(); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]string{"file": path})
			}
			fmt.Fprintf(a.stdout, "wrote %s; next: brink validate %s && brink run %s\n", path, quoted(path), quoted(path))
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`file` to write (default NAME.yaml); it must not exist")
	return cmd
}
