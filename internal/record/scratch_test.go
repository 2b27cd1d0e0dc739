package record

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// unpackUntilKilled opens a compact record and tells where its copy is.
func unpackUntilKilled(dir string) {
	r, err := Open(dir)
	if err != nil {
		panic(err)
	}
	tell(r.temp.dir)
	select {}
}

// What a process that was killed had unpacked is removed by the next one that
// unpacks something. What others hold or own is not touched.
func TestNextReaderSweepsAfterAKilledOne(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	file := compacted(t, golden2)
	cmd := role(t, "unpacker", filepath.Dir(file))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var left string
	if line := bufio.NewScanner(out); !line.Scan() || json.Unmarshal(line.Bytes(), &left) != nil {
		t.Fatalf("the other process says %q", line.Text())
	}
	kept := filepath.Join(os.TempDir(), "brink-record-begun")
	if err := os.Mkdir(kept, 0o700); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, scratchLock), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(os.TempDir(), "brink-record-link")); err != nil {
		t.Fatal(err)
	}

	open(t, file)
	if _, err := os.Stat(left); err != nil {
		t.Errorf("the copy of a process that lives is gone: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	open(t, file)
	if _, err := os.Stat(left); err == nil {
		t.Errorf("%s is left", left)
	}
	for _, path := range []string{kept, filepath.Join(outside, scratchLock)} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s is gone: %v", path, err)
		}
	}
}
