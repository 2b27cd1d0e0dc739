package audit

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
)

func TestParseNamesTheLine(t *testing.T) {
	good := one("figures:\n  a: {value: 2, unit: s, section: \"1\"}\n  b: {value: 0, unit: s, section: \"1\"}\ntables: {t: {section: \"1\", rows: [x], columns: {}}}", "ratio: {of: a, to: a, claimed: 1}")
	parse(t, good)
	for _, x := range []struct {
		from, to string
		line     int
		says     string
	}{
		{"title: A small", "titel: A small", 2, "titel"},
		{"unit: s, section: \"1\"}\n  b", "unit: s, chapter: \"1\"}\n  b", 7, "chapter"},
		{"value: 2", "value: two", 7, "\"two\" stands where a number is wanted"},
		{"value: 2", "value: 1e16", 7, "between 1e-15 and 1e15"},
		{"value: 2", "value: .nan", 7, "between 1e-15 and 1e15"},
		{"value: 2, ", "", 7, "value is missing"},
		{"  a: {", "  A: {", 7, "small letters"},
		{"  b: {", "  a: {", 8, "a"},
		{"tolerance: 0.05", "tolerance: 1.5", 4, "tolerance is a share"},
		{"tolerance: 0.05\n", "", 1, "tolerance: it is missing"},
		{"\"2026-01-02\"", "\"soon\"", 3, "it is a day"},
		{"repetitions: 1", "repetitions: -1", 5, "0 or more"},
		{"kind: descriptive", "kind: certain", 14, "descriptive, association or causal"},
		{"kind: descriptive", "kind: descriptive\n    level: Sure", 15, "it is Measured, Observed"},
		{"kind: descriptive", "kind: descriptive\n    unchecked: why not", 17, "exactly one of check and unchecked"},
		{"ratio: {of: a, to: a", "ratio: {of: a, to: c", 16, "\"c\" is no figure"},
		{"ratio: {of: a, to: a", "ratio: {of: a, to: b", 16, "it is 0"},
		{"ratio: {of: a, to: a, claimed: 1}", "ratio: {of: a, to: a}", 16, "the claimed number is missing"},
		{"claimed: 1}", "claimed: {from: 2, to: 1}}", 16, "a lower number to a higher one"},
		{"claimed: 1}", "claimed: lots}", 16, "number"},
		{"ratio: {of: a, to: a, claimed: 1}", "formula: {formula: 1 +, claimed: 1}", 16, "formula"},
		{"ratio: {of: a, to: a, claimed: 1}", "formula: {formula: x, claimed: 1}", 16, "\"x\" is no number"},
		{"ratio: {of: a, to: a, claimed: 1}", "formula: {formula: 1 / 0, claimed: 1}", 16, "formula"},
		{"ratio: {of: a, to: a, claimed: 1}", "magic: {of: a}", 16, "magic"},
		{"ratio: {of: a, to: a, claimed: 1}", "ratio: {of: a, to: a, claimed: 1}\n      range: {of: [a], claimed: 1}", 16, "exactly one kind"},
		{"name: small", "name: &x small", 1, "anchors"},
		{"name: small", "name: small\n---\nname: b", 1, "second document"},
		{"name: small", "name: [small", 1, "must be specified"},
		{"rows: [x]", "rows: x", 9, "sequence is expected"},
	} {
		_, err := Parse("f.yaml", []byte(edit(t, good, x.from, x.to)))
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: error %v, want an *Error", x.to, err)
			continue
		}
		if e.Line != x.line && x.line > 1 || !strings.Contains(e.Error(), x.says) || strings.Contains(e.Error(), "\n") {
			t.Errorf("%s: %q (line %d), want line %d and %q", x.to, e, e.Line, x.line, x.says)
		}
	}
	for _, bad := range []string{"", "# nothing\n", "[]", "3", "a: \x00", "\xff", strings.Repeat("[", 100), strings.Repeat("x", MaxBytes+1)} {
		if _, err := Parse("f.yaml", []byte(bad)); err == nil || !strings.HasPrefix(err.Error(), "f.yaml:") {
			t.Errorf("%.20q: error %v, want one that names the file", bad, err)
		}
	}
}

func TestTablesAreChecked(t *testing.T) {
	const good = `tables:
  t:
    section: "1"
    rows: [x, y]
    columns:
      c: {unit: s, values: [1, null]}
      d: {unit: ms, values: [1, 2]}`
	const check = "range: {of: [t.c], claimed: 1}"
	parse(t, one(good, check))
	for _, x := range []struct{ from, to, says string }{
		{"[x, y]", "[x, x]", "f.yaml:9: tables.t.rows[1]: \"x\" is the name of an earlier row"},
		{"[x, y]", "[x, y.z]", "a row's name has letters"},
		{"[1, null]", "[1]", "f.yaml:11: tables.t.columns.c: it has 1 values for 2 rows"},
		{"[1, null]", "[1, 1e20]", "tables.t.columns.c: a value is"},
		{"  t:", "  T:", "tables.T: a name has small letters"},
		{"tables:", "figures: {t: {value: 1}}\ntables:", "a figure has the same name"},
		{"[t.c]", "[t.e]", "table t has the columns c, d and the rows x, y"},
		{"[t.c]", "[t.y.c]", "f.yaml:19: claims[0].check.range.of[0]: t.y.c has no number in its cell"},
		{"[t.c]", "[t.c, t.d]", "t.d is in \"ms\" and what stands before it in \"s\""},
		{"[t.c]", "[t.c], rows: [z]", "claims[0].check.range.rows[0]: \"z\" is no row of t.c; it has x, y"},
		{"[t.c]", "[t.c], rows: [y]", "there is no number in it"},
		{"[t.c]", "[\"1e300\"]", "1e300 is not 0 or a number"},
		{check, "ratio: {of: t.x.c, to: t.x.d, claimed: 1}", "t.x.d is in \"ms\" and t.x.c in \"s\""},
		{check, "plateau: {of: [t.d], within: -1}", "is not negative"},
		{check, "plateau: {of: [t.c], within: 1}", "two numbers or more"},
		{check, "monotone: {of: [t.d], direction: up}", "it is rising or falling"},
		{check, "monotone: {of: [t.d], by: [t.x.c], direction: rising}", "two numbers or more"},
		{check, "threshold: {of: [t.d], fail: [t.c]}", "the range in which it fails is missing"},
		{check, "proportional: {y: [t.d], x: [\"1\"]}", "no row in common"},
		{check, "consistency: {statements: [{says: a, formula: \"1\"}]}", "two statements or more"},
		{check, "consistency: {statements: [{says: a, formula: x, with: {x: q}}, {says: b, formula: \"1\"}]}", "claims[0].check.consistency.statements[0].with.x: \"q\" is no figure"},
		{check, "formula: {formula: \"1\"}", "exactly one of claimed and observed"},
		{check, "clock_resolution: {observed: \"1\", least: \"2\", resolution: \"-1\"}", "is not negative"},
		{check, "blind_measure: {controlled: \"1\", measured: \"2\", resolution: \"1\", bounded_by: luck}", "it is wall_time or work"},
		{check, "definition: {cache: perhaps, percent: \"1\", total: \"2\"}", "it is included or excluded"},
		{check, "definition: {cache: included, percent: \"1\", total: \"0\"}", "it is above 0"},
		{check, "query_columns: {query: \"\"}", "the name of a table"},
		{"id: it", "id: It", "f.yaml:14: claims[0].id: it has small letters, digits and hyphens"},
		{"says: It is so.", "says: \" \"", "claims[0].says: it is missing"},
		{"kind: descriptive", "kind: descriptive\n    intervention: true", "only a causal claim rests on one"},
		{"kind: descriptive", "kind: descriptive\n    intervention: 7", "\"7\" stands where true or false is wanted"},
		{"kind: descriptive", "kind: descriptive\n    repetitions: some", "\"some\" stands where a whole number is wanted"},
	} {
		_, err := Parse("f.yaml", []byte(edit(t, one(good, check), x.from, x.to)))
		if err == nil || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: error %v, want %q", x.to, err, x.says)
		}
	}
}

// The example of docs/reference-file.md is a file, and its table has all kinds
// of checks.
func TestDocumentedFormat(t *testing.T) {
	doc, err := os.ReadFile("../../docs/reference-file.md")
	if err != nil {
		t.Fatal(err)
	}
	var example strings.Builder
	for line := range strings.Lines(string(doc)) {
		if code, ok := strings.CutPrefix(line, "    "); ok {
			example.WriteString(code)
		}
	}
	// 900 → 990 is +10 %.
	got := result(t, parse(t, example.String()), "slower")
	if got.Outcome != DoesNotFollow || got.Computed == nil || *got.Computed != 10 || !got.Overstated {
		t.Errorf("the example gives %+v", got)
	}
	for f := range reflect.TypeFor[checks]().Fields() {
		kind := f.Tag.Get("yaml")
		if !strings.Contains(string(doc), "| `"+kind+"` |") || !strings.Contains(checkKinds, kind) {
			t.Errorf("check %s is missing from the document or from the message that lists them", kind)
		}
	}
}

func TestLoadUnknownReference(t *testing.T) {
	_, err := Load("nothing")
	if err == nil || !strings.Contains(err.Error(), "memory-pressure and worker-exhaustion") {
		t.Errorf("error %v, want one that lists the references", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range References() {
		data, err := shipped.ReadFile("references/" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	const tables = "figures:\n  a: {value: 2, unit: s, section: \"1\"}\ntables:\n  t: {section: \"1\", rows: [x, y], columns: {c: {unit: s, values: [1, null]}}}"
	for _, check := range []string{
		"ratio: {of: a, to: t.x.c, claimed: {from: 1}}", "range: {of: [t.c], rows: [y], claimed: 1}", "plateau: {of: [t.c, a], within: 1}",
		"formula: {formula: a / b, with: {a: a, b: t.c}, claimed: 1}", "query_columns: {query: \"T | project x = 'a'\"}", "percent_change: {from: 1e-15, to: 1e15, claimed: -99.99}",
	} {
		f.Add(one(tables, check))
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse("f.yaml", []byte(text))
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Line < 1 {
				t.Fatalf("error without a line: %v", err)
			}
			return
		}
		if len(r.Audit()) == 0 {
			t.Fatal("a reference without claims")
		}
		if _, err := json.Marshal(r.Audit()); err != nil {
			t.Fatal(err)
		}
		if err := Render(io.Discard, r); err != nil {
			t.Fatal(err)
		}
	})
}
