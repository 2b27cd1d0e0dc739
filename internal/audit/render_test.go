package audit

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "write the golden files of this test")

func TestRenderGolden(t *testing.T) {
	for _, name := range References() {
		r, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := Render(&got, r); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != string(want) {
			t.Errorf("%s differs; -update writes it:\n%s", path, got.String())
		}
		for line := range strings.Lines(got.String()) {
			line = strings.TrimSuffix(line, "\n")
			if strings.HasSuffix(line, " ") || strings.Contains(line, "section") && utf8.RuneCountInString(line) > 132 {
				t.Errorf("the line %q ends in a space or is too wide", line)
			}
		}
	}
}

// Findings come first, and the counts of the last line are those of the table.
func TestRenderPutsFindingsFirst(t *testing.T) {
	r, err := Load("memory-pressure")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Render(&b, r); err != nil {
		t.Fatal(err)
	}
	place := func(id string) int { return strings.Index(b.String(), "\n"+id+" ") }
	if f, h := place("pgscan-direct"), place("pswpin"); f < 0 || h < f {
		t.Errorf("the finding stands at %d, what holds at %d", f, h)
	}
	c := CountOf(r.Audit())
	if c.Claims != len(r.Audit()) || c.Claims != c.Contradict+c.DoNotFollow+c.Hold+c.CannotBeChecked {
		t.Errorf("counts do not add up: %+v", c)
	}
}

func TestAuditIsDeterministic(t *testing.T) {
	for _, name := range References() {
		first, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			again, err := Load(name)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(first.Audit(), again.Audit()) {
				t.Fatalf("%s: two audits differ", name)
			}
		}
		data, err := json.Marshal(first.Audit())
		if err != nil {
			t.Fatal(err)
		}
		var back []Result
		if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(back, first.Audit()) {
			t.Errorf("%s does not survive JSON: %v", name, err)
		}
	}
}
