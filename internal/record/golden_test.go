package record

import (
	"flag"
	"os"
	"testing"
)

// golden is a record of schema 1. It is written once, by the brink of that
// schema, and read by every later one.
const golden = "testdata/record-v1.db"

var update = flag.Bool("update", false, "write the golden record of the present schema anew")

func TestGolden(t *testing.T) {
	if *update {
		if SchemaVersion() != 1 {
			t.Fatal("the golden record of schema 1 was written by the brink of that time; add one of this schema")
		}
		if err := os.Remove(golden); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		w, err := Create(golden, fixtureRun)
		if err != nil {
			t.Fatal(err)
		}
		fillFixture(t, w)
		if err := w.Finish(Done, ""); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	checkFixture(t, open(t, golden))
	after, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) {
		t.Error("reading the golden record changed it")
	}
	if names := mustGlob(t, golden+"-*"); names != nil {
		t.Errorf("reading left %v behind", names)
	}
}
