package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"brink/catalog"
	"brink/internal/experiment"
)

func (a *app) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the experiments that ship with brink",
		Args:  cobra.NoArgs,
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
			w := tabwriter.NewWriter(a.stdout, 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tSTEPS\tHYPOTHESES\tTITLE")
			for _, e := range entries {
				fmt.Fprintf(w, "%s\t%d\t%d\t%s\n", e.Name, e.Steps, e.Hypotheses, e.Title)
			}
			return w.Flush()
		},
	}
}

func (a *app) showCommand() *cobra.Command {
	var src source
	cmd := &cobra.Command{
		Use:               "show NAME|FILE",
		Short:             "Show what an experiment asks, does and claims",
		Args:              cobra.ExactArgs(1),
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
	w := tabwriter.NewWriter(a.stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintf(w, "%s\n\n%s\n\n", e.Title, e.Question)
	fmt.Fprintf(w, "Profile %s: %d steps × %d repetitions, about %s of traffic\n\n",
		d.Profile, len(d.Steps), d.Repetitions, d.Estimate().Round(1e9))
	fmt.Fprintln(w, "STEP\tAPPS\tTRAFFIC")
	for _, s := range d.Steps {
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, s.AppsText(), s.TrafficText())
	}
	fmt.Fprintln(w, "\nID\tFORM\tCLAIM")
	for _, h := range e.Hypotheses {
		fmt.Fprintf(w, "%s\t%s\t%s\n", h.ID, h.Form, h.Claim)
	}
	return w.Flush()
}

func (a *app) validateCommand() *cobra.Command {
	var src source
	cmd := &cobra.Command{
		Use:   "validate FILE",
		Short: "Check an experiment file",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := src.load(args[0])
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{"name": d.Experiment.Name, "steps": len(d.Steps), "warnings": d.Warnings})
			}
			for _, w := range d.Warnings {
				fmt.Fprintln(a.stderr, "warning: "+w.Error())
			}
			fmt.Fprintf(a.stdout, "%s is valid: %d steps, %d hypotheses, %d repetitions\n",
				args[0], len(d.Steps), len(d.Experiment.Hypotheses), d.Repetitions)
			return nil
		},
	}
	src.addFlags(cmd)
	return cmd
}

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of experiment files, for editors",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			schema, err := experiment.Schema()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "%s\n", schema)
			return err
		},
	}
}

func (a *app) newCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Write an experiment file to start from, under the sixteen headings",
		Args:  cobra.ExactArgs(1),
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
				return badInput(fmt.Errorf("write %s: %w", filepath.Base(path), err))
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
			fmt.Fprintf(a.stdout, "wrote %s; next: brink validate %s && brink run %s\n", path, path, path)
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`file` to write (default NAME.yaml); it must not exist")
	return cmd
}
