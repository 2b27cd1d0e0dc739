package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"brink/internal/experiment"
	"brink/internal/record"
	"brink/internal/textfile"
)

// exportCompact writes the compact form of a run to dir: its record and, as in
// the directory of the run itself, its experiment. It returns the files. What is
// there already is replaced with force only.
func exportCompact(ctx context.Context, r *record.Reader, dir string, force bool) ([]string, error) {
	run, err := r.Run(ctx)
	if err != nil {
		return nil, err
	}
	beside := filepath.Join(dir, experimentFile)
	if !force && holdsOther(beside, run.YAML) {
		return nil, fmt.Errorf("%s exists already and is of another run: choose an empty directory, or replace it with --force", beside)
	}
	file, err := record.ExportCompact(ctx, r, dir, overwriting(force)...)
	if err != nil {
		return nil, err
	}
	return []string{file, beside}, writeFile(beside, func(w io.Writer) error {
		_, err := io.WriteString(w, run.YAML)
		return err
	})
}

// holdsOther tells whether there is a file with another text than an experiment's.
func holdsOther(path, text string) bool {
	if _, err := os.Lstat(path); err != nil {
		return false
	}
	old, err := textfile.Read(path, experiment.MaxBytes)
	return err != nil || string(old) != text
}
