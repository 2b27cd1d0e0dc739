package experiment

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("experiment.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("experiment.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(t *testing.T, s *jsonschema.Schema, file string) error {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

func TestSchemaAcceptsWhatLoads(t *testing.T) {
	s := compileSchema(t)
	files := map[string]string{"good": good, "template": strings.ReplaceAll(string(template), "NAME", "x")}
	for form, yaml := range map[string]string{
		"trend":     "form: trend, metric: cpu_pct, steps: load-*, factor: n, direction: rise",
		"cascade":   "form: cascade, steps: load-8, restarts: 6, within: 10s, unrecovered: 1m",
		"caused_by": "form: caused_by, metric: restarts, factor: pulse, on: wave-on, off: wave-off, effect: 2, direction: rise",
	} {
		files[form] = strings.Replace(formsFile, "%s", "{id: H1, claim: c, "+yaml+"}", 1)
	}
	for name, file := range files {
		mustParse(t, file)
		if err := validate(t, s, file); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The mistakes that an editor can show without looking at other fields.
func TestSchemaRefusesMistakes(t *testing.T) {
	s := compileSchema(t)
	shown := map[string]bool{}
	for _, name := range []string{
		"no mapping", "unknown field", "unknown field of traffic", "missing field", "empty field", "number for text", "list for text", "unknown type",
		"bad name", "zero workers", "too many workers", "text for number", "quoted number", "fraction for whole number", "backlog", "alloc", "cpus",
		"repetitions", "negative duration", "duration without unit", "no duration", "unknown runtime", "unknown worker class", "kind of traffic",
		"path without slash", "path with space", "rate", "empty levels", "level is a list", "unknown metric", "unknown form", "form lacks a part", "profile scale",
	} {
		shown[name] = true
	}
	for _, tc := range badFiles {
		if !shown[tc.name] {
			continue
		}
		delete(shown, tc.name)
		if err := validate(t, s, strings.Replace(good, tc.old, tc.new, 1)); err == nil {
			t.Errorf("%s: the schema accepts it", tc.name)
		}
	}
	for name := range shown {
		t.Errorf("no bad file is named %s", name)
	}
}

func TestSchemaDescribesEveryField(t *testing.T) {
	text := Schema()
	for key, f := range fields() {
		if !bytes.Contains(text, []byte(strings.SplitAfter(f.doc, "\"")[0])) {
			t.Errorf("%s: its description is not in the schema", key)
		}
	}
}

// The files that ship are those that editors are shown as examples.
func TestSchemaAcceptsTheCatalogue(t *testing.T) {
	s := compileSchema(t)
	files, err := filepath.Glob("../../catalog/*/experiment.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, s, string(text)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
