// Package apps holds the workloads that brink deploys on a runtime of their own.
// Each folder beside this file is deployable as it stands: flask under gunicorn
// and under uvicorn, node under Node.js. A further workload with the same
// endpoints is built into brink (internal/goapp).
package apps

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

//go:embed flask node
var files embed.FS

var names = []string{"flask", "node"}

// Names lists the apps that Unpack knows, sorted.
func Names() []string { return slices.Clone(names) }

// Unpack writes the app's folder into dir, which is created if need be.
// It fails on an unknown name, and on a file that is already there.
func Unpack(name, dir string) error {
	if !slices.Contains(names, name) {
		return fmt.Errorf("there is no app %q to unpack: the apps are %s", name, strings.Join(names, ", "))
	}
	folder, err := fs.Sub(files, name)
	if err != nil {
		return fmt.Errorf("unpacking app %s: %w", name, err)
	}
	if err := os.CopyFS(dir, folder); err != nil {
		return fmt.Errorf("unpacking app %s: %w", name, err)
	}
	return nil
}
