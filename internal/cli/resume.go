package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"brink/internal/experiment"
	"brink/internal/lab"
	"brink/internal/record"
)

// resume takes a run up again that ended early: with its own experiment, seed
// and host, from the first unit that was not executed to its end.
func (a *app) resume(ctx context.Context, dir string, f runFlags) error {
	before, err := a.recorded(ctx, dir)
	if err != nil {
		return err
	}
	return a.goOn(ctx, before, before.design, f, func() (*record.Writer, error) { return record.Resume(dir, Version) })
}

// extend executes what an experiment has beyond the run in a directory, with
// that run's seed and host, and makes one run of both.
func (a *app) extend(ctx context.Context, arg string, f runFlags) error {
	d, err := f.load(arg)
	if err != nil {
		return err
	}
	before, err := a.recorded(ctx, f.extend)
	if err != nil {
		return err
	}
	if err := extends(before, d); err != nil {
		return badInput(err)
	}
	before.Extended = true
	return a.goOn(ctx, before, d, f, func() (*record.Writer, error) {
		to := record.Extension{YAML: string(d.Source), Profile: d.Profile, Overrides: f.overrides()}
		w, err := record.Extend(before.dir, Version, to)
		if err != nil {
			return nil, err
		}
		return w, os.WriteFile(filepath.Join(before.dir, experimentFile), d.Source, 0o644)
	})
}

// earlierRun is what a directory holds of a run: what it was and how far it came.
type earlierRun struct {
	dir    string
	design *experiment.Design
	run    record.Run
	*lab.Earlier
}

func (a *app) recorded(ctx context.Context, dir string) (e earlierRun, err error) {
	r, err := record.Open(dir)
	if err != nil {
		return e, badInput(err)
	}
	defer r.Close()
	e.dir = filepath.Dir(r.Path())
	if e.design, e.run, err = recordedDesign(ctx, r); err != nil {
		return e, badInput(err)
	}
	e.Earlier, err = lab.ReadEarlier(ctx, r)
	return e, err
}

// goOn executes what the run before has not of the design d, in the record that
// open opens.
func (a *app) goOn(ctx context.Context, before earlierRun, d *experiment.Design, f runFlags, open func() (*record.Writer, error)) error {
	h, err := a.chooseHost(before.run.Host, d)
	if err != nil {
		return err
	}
	missed, err := a.requirements(ctx, h, d, f.noSubstitute)
	if err != nil {
		return err
	}
	if err := errors.Join(lab.Check(h, d), before.Fits(d)); err != nil {
		return badInput(err)
	}
	kind, err := accelerator(ctx, h)
	if err != nil {
		return err
	}
	if kind != before.run.Accelerator {
		return badInput(fmt.Errorf("%s ran under the accelerator %s and this host has %s: what it holds could not be compared", before.dir, before.run.Accelerator, kind))
	}
	w, err := open()
	if err != nil {
		return badInput(err)
	}
	result, runErr := lab.Result{}, addRequirements(w, before.Unmet(missed))
	if runErr == nil {
		result, runErr = a.execute(ctx, d, w, lab.Options{Host: h, Seed: before.run.Seed, Earlier: before.Earlier})
	}
	if err := w.Close(); runErr == nil {
		runErr = err
	}
	return a.conclude(filepath.Clean(before.dir), result, runErr, f.strict)
}

// extends refuses an experiment that is another than the recorded one or no more,
// and claims that were not declared before it was measured.
func extends(before earlierRun, d *experiment.Design) error {
	if d.Experiment.Name != before.run.Experiment {
		return fmt.Errorf("%s is a run of %s, and cannot be extended by %s", before.dir, before.run.Experiment, d.Experiment.Name)
	}
	if before.run.Status == record.Done && before.run.YAML == string(d.Source) && before.run.Profile == d.Profile {
		return fmt.Errorf("%s holds all of this already", before.dir)
	}
	was, is := before.design.Declared(), d.Declared()
	for _, h := range was {
		at := slices.IndexFunc(is, func(x experiment.Hypothesis) bool { return x.ID == h.ID })
		if at < 0 || !reflect.DeepEqual(h, is[at]) {
			return fmt.Errorf("%s cannot be extended: its hypothesis %s is missing or another one now", before.dir, h.ID)
		}
	}
	for _, h := range is {
		if !slices.ContainsFunc(was, func(x experiment.Hypothesis) bool { return x.ID == h.ID }) {
			return fmt.Errorf("%s cannot be extended: hypothesis %s was not declared before it was measured", before.dir, h.ID)
		}
	}
	return nil
}
