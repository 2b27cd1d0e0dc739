package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brink/internal/host/vm/image"
)

// runImage runs the command as the root command would.
func runImage(t *testing.T, asJSON bool, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdout: &out, stderr: &errs, json: asJSON}
	cmd := a.imageCommand()
	cmd.SetArgs(args)
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

func TestImageListAndRemove(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	out, note, err := runImage(t, false, "list")
	if err != nil || out != "" || !strings.Contains(note, "brink image build") {
		t.Errorf("an empty cache: %q %q %v", out, note, err)
	}
	for _, id := range []string{"one", "two"} {
		if err := os.MkdirAll(filepath.Join(image.Dir(filepath.Join(cache, "brink")), id), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	out, _, err = runImage(t, false, "list")
	if err != nil || strings.Count(out, "  broken: image.json is missing\n") != 2 {
		t.Errorf("two empty directories: %q %v", out, err)
	}
	if _, note, err = runImage(t, false, "remove", "one"); err != nil || !strings.Contains(note, "removed image one") {
		t.Errorf("remove: %q %v", note, err)
	}
	out, _, err = runImage(t, true, "list")
	var list []image.Image
	if jsonErr := json.Unmarshal([]byte(out), &list); err != nil || jsonErr != nil || len(list) != 1 || list[0].ID != "two" || list[0].Fault != "image.json is missing" {
		t.Errorf("--json: %q %v %v", out, err, jsonErr)
	}
	if _, _, err = runImage(t, false, "remove", "--all"); err != nil {
		t.Error(err)
	}
	if out, _, err = runImage(t, true, "list"); err != nil || strings.TrimSpace(out) != "[]" {
		t.Errorf("after --all: %q %v", out, err)
	}
}

func TestImageRefusesBadInput(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"remove"}, "name the images to remove, or say --all"},
		{[]string{"remove", "--all", "x"}, "name the images to remove, or say --all"},
		{[]string{"remove", "absent"}, "there is no image absent"},
		{[]string{"build", "x"}, `build cannot use the argument "x"`},
		{[]string{"bild"}, `there is no command "bild"; did you mean "build"?`},
	} {
		_, _, err := runImage(t, false, c.args...)
		var coded *exitError
		if !errors.As(err, &coded) || coded.code != exitInput || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, want exit code %d and %q", c.args, err, exitInput, c.says)
		}
	}
	t.Setenv("PATH", t.TempDir())
	_, _, err := runImage(t, false, "build")
	var coded *exitError
	if !errors.As(err, &coded) || coded.code != exitInput || !strings.Contains(err.Error(), "mmdebstrap is not installed") {
		t.Errorf("build without mmdebstrap: %v", err)
	}
}
