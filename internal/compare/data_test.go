package compare

import (
	"os"
	"slices"
	"strings"
	"testing"

	"brink/internal/measure"
)

const csvFile = `# source: A table in a report, 2026-01-15
# plan: {cpus: 1}
# host: local
# accelerator: none
# workload: "4 at once: /work"
metric,unit,step,value
last_answer_s,s,one,2.00
last_answer_s,s,one,2.02
last_answer_s,s,one,>= 30
failure_pct,%,one,0
`

const yamlFile = `source: A table in a report, 2026-01-15
plan: {cpus: 1}
host: local
accelerator: none
workload: "4 at once: /work"
data:
  - metric: last_answer_s
    unit: s
    step: one
    values: [2.00, 2.02, ">= 30"]
  - {metric: failure_pct, unit: "%", step: one, values: [0]}
`

func TestBothFormatsSayTheSame(t *testing.T) {
	for format, text := range map[string]string{"csv": csvFile, "yaml": yamlFile} {
		s, err := parseData("file", format, []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		want := []measure.Value{{Repetition: 1, Number: 1, X: 2, N: 1}, {Repetition: 2, Number: 2, X: 2.02, N: 1}, {Repetition: 3, Number: 3, X: 30, Censored: true, N: 1}}
		if got := s.steps[0].cell("last_answer_s").Values; !slices.Equal(got, want) {
			t.Errorf("%s: %+v", format, got)
		}
		if s.Source != "A table in a report, 2026-01-15" || s.data.Plan.CPUs != 1 || s.data.Workload != "4 at once: /work" || s.data.Host != "local" {
			t.Errorf("%s: %+v", format, s.data)
		}
		if n := len(s.steps[0].cell("failure_pct").Values); n != 1 || len(s.steps) != 1 {
			t.Errorf("%s: %d values in %d steps", format, n, len(s.steps))
		}
	}
}

func TestRunAgainstADataFile(t *testing.T) {
	t.Chdir(t.TempDir())
	seconds(map[string][]float64{"one": slow}).write(t, "run")
	if err := os.WriteFile("published.csv", []byte(csvFile), 0o644); err != nil {
		t.Fatal(err)
	}
	c := must(t, "published.csv", "run:one", Options{})
	last, failed := c.Pairs[0].Rows[0], c.Pairs[0].Rows[1]
	if last.A.N != 3 || last.B.N != 6 || last.P == nil {
		t.Errorf("%+v", last)
	}
	if failed.A.N != 1 || failed.P != nil || failed.U != nil || failed.Level != "" {
		t.Errorf("a single published value was tested: %+v", failed)
	}
	if want := "published.csv holds values that brink did not measure, and does not say how its apps were set up. Source: A table in a report, 2026-01-15."; !slices.Contains(c.Caveats, want) {
		t.Errorf("%q", c.Caveats)
	}
	if one := must(t, "published.csv:one", "run", Options{}); len(one.Pairs) != 1 || one.A.label("one") != "published.csv:one" {
		t.Errorf("one step of the file: %+v", one.Pairs)
	}
	if c.Interleaved {
		t.Error("published data is taken for interleaved")
	}
}

func TestWhatADataFileDoesNotStateIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	seconds(map[string][]float64{"one": slow}).write(t, "run")
	bare := "# source: somewhere\nmetric,unit,step,value\nlast_answer_s,s,any,2\n"
	if err := os.WriteFile("bare.csv", []byte(bare), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := compared(t, "run:one", "bare.csv", Options{})
	want := `run:one and bare.csv are not comparable
  bare.csv does not state its plan; --allow plan compares them all the same
  bare.csv does not state its accelerator; --allow accelerator compares them all the same
  bare.csv does not state its host; --allow host compares them all the same
  bare.csv does not state its workload; --allow workload compares them all the same`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if _, err := compared(t, "run:one", "bare.csv", Options{Allow: []Aspect{Plan, Accelerator, Host, Workload}}); err != nil {
		t.Errorf("allowed, and yet: %v", err)
	}
}

func TestBadDataFiles(t *testing.T) {
	head := "# source: x\nmetric,unit,step,value\n"
	deep := "source: x\ndata: " + strings.Repeat("[", 5000)
	for _, x := range []struct{ format, text, want string }{
		{"csv", "", "f:1: source is missing: say where the values come from"},
		{"csv", "# source: x\n", "f:1: the file has no values"},
		{"csv", "# source: x\nmetric,step,unit,value\n", "f:2: the columns are metric,unit,step,value, in this order and under these names"},
		{"csv", head + "last_answer_s,s,one\n", "f:3: a row has the four fields metric,unit,step,value"},
		{"csv", head + "last_answer,s,one,1\n", `f:3: "last_answer" is not a metric; docs/experiment-file.md lists them`},
		{"csv", head + "last_answer_s,ms,one,1\n", `f:3: last_answer_s has the unit "s", not "ms"`},
		{"csv", head + "last_answer_s,s,one,1\nlast_answer_s,ms,one,1\n", `f:4: last_answer_s of step one has the unit "s" above and "ms" here`},
		{"csv", head + "last_answer_s,s,one,1\nlast_answer_s,s,one,fast\n", `f:4: "fast" is not a value: write a number from 0 to 1e15, or >= and a number for what is only known to be at least so much`},
		{"csv", head + "last_answer_s,s,one,-1\n", `f:3: "-1" is not a value: write a number from 0 to 1e15, or >= and a number for what is only known to be at least so much`},
		{"csv", head + "last_answer_s,s,one,NaN\n", `f:3: "NaN" is not a value: write a number from 0 to 1e15, or >= and a number for what is only known to be at least so much`},
		{"csv", head + "last_answer_s,s,,1\n", "f:3: step is missing"},
		{"csv", "# source: x\n# plans: {cpus: 1}\nmetric,unit,step,value\n", `f:2: unknown field "plans"`},
		{"yaml", "source: x\ndata:\n  - {metric: last_answer_s, unit: s, step: one, values: [1]}\n  - {metric: last_answer_s, unit: s, step: one, values: [2]}\n", "f:4: last_answer_s of step one is there twice"},
		{"yaml", "source: x\ndata:\n  - metric: last_answer_s\n    unit: s\n    step: one\n    values:\n      - 1\n      - null\n", `f:8: "" is not a value: write a number from 0 to 1e15, or >= and a number for what is only known to be at least so much`},
		{"yaml", "source: x\ndata:\n  - {metric: last_answer_s, unit: s, step: one, values: []}\n", "f:3: last_answer_s of step one has no values"},
		{"yaml", "source: x\nplan: {cpus: -1}\ndata: []\n", "f:1: plan: cpus, memory_mb and swap_mb are 0 (unlimited) or above"},
		{"yaml", "source: x\nvalue: 1\n", `f:2: unknown field "value"`},
		{"yaml", "a: &a [1]\nb: *a\n", "f:1: anchors, aliases, merge keys and tags are not read; write the value out"},
		{"yaml", deep, "f:2: the file is nested too deeply or has too many values for a data file"},
		{"yaml", "\xff", "f:1: the file is not UTF-8"},
	} {
		if _, err := parseData("f", x.format, []byte(x.text)); err == nil || err.Error() != x.want {
			t.Errorf("%.60q:\ngot  %v\nwant %s", x.text, err, x.want)
		}
	}
}

func FuzzParseData(f *testing.F) {
	for _, text := range []string{csvFile, yamlFile, "", "# source: x\n", "source: [", "\ufeff# source: x\nmetric,unit,step,value\n\"", "source: x\ndata: [{}]"} {
		f.Add("csv", text)
		f.Add("yaml", text)
	}
	f.Fuzz(func(t *testing.T, format, text string) {
		s, err := parseData("f", format, []byte(text))
		if err != nil {
			if d, ok := err.(*DataError); !ok || d.Line < 1 || d.Message == "" {
				t.Errorf("an error without a place: %#v", err)
			}
			return
		}
		for _, st := range s.steps {
			for name, c := range st.cells {
				if len(c.Values) == 0 || c.Metric.Name != name {
					t.Errorf("%s of %s: %+v", name, st.name, c)
				}
			}
		}
	})
}
