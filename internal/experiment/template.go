package experiment

import (
	"bytes"
	_ "embed"
	"fmt"
)

//go:embed template.yaml
var template []byte

// Template returns the file that an author starts from: every heading, with
// a small experiment that runs as it stands. The error says what is allowed
// when name cannot name an experiment.
func Template(name string) ([]byte, error) {
	if !namePattern.match(name) {
		return nil, fmt.Errorf("%s cannot name an experiment; allowed are %s", quote(name), namePattern.allowed)
	}
	return bytes.ReplaceAll(template, []byte("NAME"), []byte(name)), nil
}
