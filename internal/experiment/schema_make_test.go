package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"brink/internal/metric"
)

// fileTypes are the structs that a file is made of.
var fileTypes = []reflect.Type{
	reflect.TypeFor[Experiment](), reflect.TypeFor[Variables](), reflect.TypeFor[Plan](), reflect.TypeFor[Share](), reflect.TypeFor[Platform](), reflect.TypeFor[App](),
	reflect.TypeFor[Step](), reflect.TypeFor[Pressure](), reflect.TypeFor[Traffic](), reflect.TypeFor[Hypothesis](), reflect.TypeFor[Profile](), reflect.TypeFor[Calibration](),
	reflect.TypeFor[Link](), reflect.TypeFor[Reference](), reflect.TypeFor[ReferenceClaim](), reflect.TypeFor[ReferenceFigures](),
}

// The schema that ships is the one that the types and the decoder give. It is
// made here and not when it is asked for: what makes it would slow every start
// of brink.
func TestSchemaIsUpToDate(t *testing.T) {
	made, err := makeSchema()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("schema.json", made, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if shipped, err := os.ReadFile("schema.json"); err != nil || !bytes.Equal(shipped, made) {
		t.Errorf("schema.json is not what the types give (%v); go test ./internal/experiment -run SchemaIsUpToDate -update writes it", err)
	}
}

// makeSchema makes the schema from the types and from what the decoder allows.
func makeSchema() ([]byte, error) {
	r := &jsonschema.Reflector{
		Anonymous: true, ExpandedStruct: true, RequiredFromJSONSchemaTags: true, Mapper: special,
	}
	root := r.Reflect(&Experiment{})
	root.Title = "brink experiment"
	for _, t := range fileTypes {
		s := root
		if t != fileTypes[0] {
			s = root.Definitions[t.Name()]
		}
		if s == nil {
			return nil, fmt.Errorf("the schema of experiment files lacks %s", t.Name())
		}
		annotate(s, t)
	}
	changes := *root.Definitions["App"]
	changes.Required = []string{"name"}
	root.Definitions["AppOfStep"] = &changes
	root.Definitions["Hypothesis"].AllOf = formRules()
	return json.MarshalIndent(root, "", "  ")
}

// special gives the schema of types that files write in their own way.
func special(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[Duration]():
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
			{Type: "string", Pattern: `^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`}, {Const: 0},
		}}
	case reflect.TypeFor[Margin]():
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
			{Type: "string"}, {Type: "number", Minimum: "0"},
		}}
	case reflect.TypeFor[Level]():
		level := &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}}}
		return &jsonschema.Schema{AnyOf: append(slices.Clone(level.AnyOf), &jsonschema.Schema{Type: "array", Items: level, MinItems: new(uint64(1))})}
	}
	return nil
}

// annotate adds to one struct's schema what its fields allow.
func annotate(s *jsonschema.Schema, t reflect.Type) {
	templated := slices.Contains([]string{"Plan", "Share", "Platform", "Pressure", "App", "Step", "Traffic"}, t.Name())
	for i := range t.NumField() {
		sf := t.Field(i)
		name := nameOf(sf)
		f, ok := fieldOf(t, name)
		if !ok {
			s.Properties.Delete(name)
			continue
		}
		if f.required {
			s.Required = append(s.Required, name)
		}
		p := property(t.Name()+"."+name, f, sf, s)
		free := p.Type == "string" && p.Pattern == "" && p.Enum == nil
		if templated && isScalarType(sf.Type) && !free {
			p = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{p, {Type: "string", Pattern: `\$\{[^{}]*\}`}}}
		}
		p.Description = f.doc
		if f.def != "" {
			p.Default = literal(f.def).value
		}
		s.Properties.Set(name, p)
	}
}

func property(path string, f field, sf reflect.StructField, s *jsonschema.Schema) *jsonschema.Schema {
	p, _ := s.Properties.Get(nameOf(sf))
	switch path {
	case "Step.apps":
		p = &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Ref: "#/$defs/AppOfStep"}}}}
	case "App.env":
		p = &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}}}}
	case "Hypothesis.metric", "Calibration.metric", "ReferenceFigures.metric":
		f.words = metric.Names()
	case "Hypothesis.signals":
		p.Items.Enum = anyOf(metric.Names())
	}
	if f.words != nil {
		p.Enum = anyOf(f.words)
	}
	if f.pattern != nil {
		p.Pattern = f.pattern.source
	}
	if f.bounded() && sf.Type != reflect.TypeFor[Duration]() {
		limit := func(x float64) json.Number { return json.Number(strconv.FormatFloat(x, 'f', -1, 64)) }
		p.Maximum = limit(f.max)
		if f.above {
			p.ExclusiveMinimum = limit(f.min)
		} else {
			p.Minimum = limit(f.min)
		}
	}
	if p.Type == "array" {
		p.MinItems = new(uint64(1))
		if f.many {
			p = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{p, p.Items}}
		}
	}
	return p
}

func anyOf(words []string) []any {
	all := make([]any, len(words))
	for i, w := range words {
		all[i] = w
	}
	return all
}

func isScalarType(t reflect.Type) bool {
	return t == reflect.TypeFor[Duration]() || !slices.Contains([]reflect.Kind{reflect.Struct, reflect.Slice, reflect.Map, reflect.Pointer}, t.Kind())
}

// formRules say which fields each form of a hypothesis needs.
func formRules() []*jsonschema.Schema {
	var rules []*jsonschema.Schema
	for _, form := range forms {
		is := jsonschema.NewProperties()
		is.Set("form", &jsonschema.Schema{Const: form})
		rules = append(rules, &jsonschema.Schema{
			Comments: strings.ReplaceAll(form, "_", " "),
			If:       &jsonschema.Schema{Properties: is, Required: []string{"form"}},
			Then:     &jsonschema.Schema{Required: parts[Form(form)].needs},
		})
	}
	return rules
}
