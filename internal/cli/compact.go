package cli

import (
	"context"
	"io"
	"path/filepath"

	"brink/internal/record"
)

// exportCompact writes the compact form of a run: its record and, as in the
// directory of the run itself, its experiment. It is written like record.ExportCSV.
func exportCompact(ctx context.Context, r *record.Reader, dir string, options ...record.ExportOption) ([]string, error) {
	run, err := r.Run(ctx)
	if err != nil {
		return nil, err
	}
	file, err := record.ExportCompact(ctx, r, dir, options...)
	if err != nil {
		return nil, err
	}
	experiment := filepath.Join(dir, experimentFile)
	return []string{file, experiment}, writeFile(experiment, func(w io.Writer) error {
		_, err := io.WriteString(w, run.YAML)
		return err
	})
}
