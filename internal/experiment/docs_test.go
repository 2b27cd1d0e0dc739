package experiment

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite schema.json and the field tables of docs/experiment-file.md")

const docs = "../../docs/experiment-file.md"

// The tables of the documentation are what the decoder's own dictionary says.
func TestDocumentationListsEveryField(t *testing.T) {
	data, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	got := string(data)
	want := got
	for _, typ := range fileTypes {
		section := regexp.MustCompile(`(?s)(<!-- fields ` + typ.Name() + ` -->\n).*?(<!-- end -->)`)
		if !section.MatchString(want) {
			t.Fatalf("%s has no section for %s", docs, typ.Name())
		}
		want = section.ReplaceAllStringFunc(want, func(old string) string {
			m := section.FindStringSubmatch(old)
			return m[1] + table(typ) + m[2]
		})
	}
	if want == got {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the types say; run go test ./internal/experiment -run Documentation -update", docs)
	}
	if err := os.WriteFile(docs, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func table(t reflect.Type) string {
	var b strings.Builder
	b.WriteString("\n| field | value | default | meaning |\n|---|---|---|---|\n")
	for i := range t.NumField() {
		sf := t.Field(i)
		f, ok := fieldOf(t, nameOf(sf))
		if !ok {
			continue
		}
		def := f.def
		if f.required {
			def = "required"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", nameOf(sf), describeValue(f, sf.Type), def, f.doc)
	}
	b.WriteString("\n")
	return b.String()
}

func describeValue(f field, t reflect.Type) string {
	switch {
	case f.words != nil:
		return "`" + strings.Join(f.words, "`, `") + "`"
	case t == reflect.TypeFor[Duration]():
		return "duration, " + f.bounds(true)
	case t == reflect.TypeFor[*Margin]():
		return "size"
	case t == reflect.TypeFor[map[string]Level]():
		return "levels by name"
	case f.pattern == &namePattern || f.pattern == &idPattern || f.pattern == &stepPattern:
		return "name"
	case f.pattern == &pathPattern:
		return "path"
	case f.pattern == &urlPattern:
		return "address"
	}
	star := map[bool]string{true: "*"}[f.many]
	switch t.Kind() {
	case reflect.Slice:
		if t.Elem().Kind() == reflect.String {
			return "list of text" + star
		}
		return "list" + star
	case reflect.Map:
		return "mapping by name"
	case reflect.Struct, reflect.Pointer:
		if t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Float64 {
			return "number"
		}
		return "mapping"
	case reflect.Int:
		return "whole number, " + f.bounds(false)
	case reflect.Float64:
		if !f.bounded() {
			return "number"
		}
		return "number, " + f.bounds(false)
	case reflect.Bool:
		return "true or false"
	}
	return "text"
}

// Every field of the types is either a field of the file or known to exist in
// resolved values only, and the dictionary names no field that is not there.
func TestDictionaryMatchesTypes(t *testing.T) {
	resolvedOnly := map[string]bool{"Step.rung": true, "Experiment.": true}
	seen := map[string]bool{}
	for _, typ := range fileTypes {
		for i := range typ.NumField() {
			key := typ.Name() + "." + nameOf(typ.Field(i))
			seen[key] = true
			if _, ok := fields()[key]; !ok && !resolvedOnly[key] {
				t.Errorf("%s is not in the dictionary of fields", key)
			}
		}
	}
	for key, f := range fields() {
		if !seen[key] {
			t.Errorf("the dictionary has %s, which no type has", key)
		}
		if f.doc == "" {
			t.Errorf("%s has no description", key)
		}
	}
}
