// Package catalog holds the experiments that ship with brink, one folder
// each. They are files like any user's and are read by the same code.
package catalog

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

//go:embed */experiment.yaml
var files embed.FS

// Names returns the names of all experiments, sorted.
func Names() []string {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil // an embedded root can always be read
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// Open returns the file of an experiment and the path that stands for it in
// messages. The error names what there is.
func Open(name string) (data []byte, file string, err error) {
	file = path.Join(name, "experiment.yaml")
	data, err = files.ReadFile(file)
	if err != nil || strings.Contains(name, "/") {
		return nil, "", fmt.Errorf("no experiment is named %q; there are: %s", name, strings.Join(Names(), ", "))
	}
	return data, path.Join("catalog", file), nil
}
