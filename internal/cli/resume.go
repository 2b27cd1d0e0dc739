package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"brink/internal/experiment"
	"brink/internal/lab"
	"brink/internal/record"
)

// resume takes a run up again that ended early: with its own experiment, seed
// and host, from the first unit that was not executed to its end.
func (a *app) resume(ctx context.Context, dir string, f runFlags) error {
	d, run, earlier, err := a.earlier(ctx, dir)
	if err != nil {
		return err
	}
	h, err := a.chooseHost(run.Host, d)
	if err != nil {
		return err
	}
	if _, err := a.requirements(ctx, h, d, f.noSubstitute); err != nil {
		return err
	}
	if err := errors.Join(lab.Check(h, d), earlier.Fits(d)); err != nil {
		return badInput(err)
	}
	kind, err := accelerator(ctx, h)
	if err != nil {
		return err
	}
	if kind != run.Accelerator {
		return badInput(fmt.Errorf("%s ran under the accelerator %s and this host has %s: what it holds could not be compared", dir, run.Accelerator, kind))
	}
	w, err := record.Resume(dir, Version)
	if err != nil {
		return badInput(err)
	}
	result, runErr := a.execute(ctx, d, w, lab.Options{Host: h, Seed: run.Seed, Earlier: earlier})
	if err := w.Close(); runErr == nil {
		runErr = err
	}
	return a.conclude(filepath.Clean(dir), result, runErr, f.strict)
}

// earlier reads what the run in dir was and how far it came.
func (a *app) earlier(ctx context.Context, dir string) (d *experiment.Design, run record.Run, e *lab.Earlier, err error) {
	r, err := record.Open(dir)
	if err != nil {
		return nil, run, nil, badInput(err)
	}
	defer r.Close()
	if d, run, err = recordedDesign(ctx, r); err != nil {
		return nil, run, nil, badInput(err)
	}
	e, err = lab.ReadEarlier(ctx, r)
	return d, run, e, err
}
