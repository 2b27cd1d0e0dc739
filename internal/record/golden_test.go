package record

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"brink/internal/wire"
)

// Records of each schema. Each is written once, by the brink of that schema,
// and read by every later one.
const (
	golden  = "testdata/record-v1.db"
	golden2 = "testdata/record-v2.db"
)

var update = flag.Bool("update", false, "write the golden record of the present schema anew")

func TestGolden(t *testing.T) {
	if *update {
		writeGolden(t)
	}
	for file, check := range map[string]func(*testing.T, *Reader){
		golden: func(t *testing.T, r *Reader) {
			checkFixture(t, r)
			if got := must(r.Resumptions(t.Context()))(t); got != nil {
				t.Errorf("a record from before resumptions has %v", got)
			}
		},
		golden2: checkFixture2,
	} {
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		check(t, open(t, file))
		after, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(before) != string(after) {
			t.Errorf("reading %s changed it", file)
		}
		if names := mustGlob(t, file+"-*"); names != nil {
			t.Errorf("reading left %v behind", names)
		}
	}
}

func writeGolden(t *testing.T) {
	if SchemaVersion() != 2 {
		t.Fatal("the golden record of schema 2 was written by the brink of that time; add one of this schema")
	}
	if err := os.Remove(golden2); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	w, err := Create(golden2, fixtureRun)
	if err != nil {
		t.Fatal(err)
	}
	fillFixture(t, w)
	for _, err := range []error{w.Finish(Interrupted, "the user ended it"), w.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if w, err = Resume(golden2, "0.2.0"); err != nil {
		t.Fatal(err)
	}
	full := fullSample()
	for _, err := range []error{w.Sample(2, &full), w.Finish(Done, ""), w.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// fullSample has another number in each field: its place.
func fullSample() Sample {
	s := Sample{App: "site"}
	for i, n := range s.Numbers() {
		*n = int64(i)
	}
	s.AtNs = at(200 * time.Second)
	return s
}

// checkFixture2 expects what writeGolden wrote. The columns are asked for by
// their names in the schema, so that a name may not wander to another signal.
func checkFixture2(t *testing.T, r *Reader) {
	t.Helper()
	ctx := t.Context()
	run := must(r.Run(ctx))(t)
	want := fixtureRun
	want.Status, want.EndedNs = Done, run.EndedNs
	equal(t, "run", run, want)
	checkFixtureSeen(t, r)
	equal(t, "counts", must(r.Counts(ctx))(t),
		Counts{Steps: 2, Repetitions: 2, Streams: 2, Probes: 9, Samples: 7, Events: 5, Logs: 4})
	for s, err := range r.Samples(ctx, 2) {
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "sample", *s, fullSample())
	}
	for i, name := range wire.SampleNames() {
		if i == 0 {
			continue
		}
		got := ask(t, r, "SELECT "+name+" FROM samples WHERE repetition_id = 2")
		equal(t, name, got, []string{fmt.Sprint(i)})
	}
	taken := must(r.Resumptions(ctx))(t)
	if len(taken) != 1 || taken[0].AtNs < fixtureRun.StartedNs {
		t.Fatalf("resumptions: %+v", taken)
	}
	taken[0].AtNs = 0
	equal(t, "resumption", taken[0],
		Resumption{Brink: "0.2.0", FromRepetition: 3, Status: Interrupted, Reason: "the user ended it"})
}
