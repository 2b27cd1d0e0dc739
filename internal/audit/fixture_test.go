package audit

import (
	"strings"
	"testing"
)

// text is the data file of a reference that ships.
func text(t *testing.T, name string) string {
	t.Helper()
	data, err := shipped.ReadFile("references/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// edit replaces what stands exactly once.
func edit(t *testing.T, text string, edits ...string) string {
	t.Helper()
	for i := 0; i < len(edits); i += 2 {
		if n := strings.Count(text, edits[i]); n != 1 {
			t.Fatalf("%q stands %d times in the file, not once", edits[i], n)
		}
		text = strings.Replace(text, edits[i], edits[i+1], 1)
	}
	return text
}

func parse(t *testing.T, text string) *Reference {
	t.Helper()
	r, err := Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// result finds a claim.
func result(t *testing.T, r *Reference, claim string) Result {
	t.Helper()
	for _, x := range r.Audit() {
		if x.Claim == claim {
			return x
		}
	}
	t.Fatalf("%s has no claim %q", r.Name, claim)
	return Result{}
}

// one is a file with the given figures, tables and a single check.
func one(figures, check string) string {
	return `name: small
title: A small reference
source: {kind: test, date: "2026-01-02", date_of: written}
tolerance: 0.05
repetitions: 1
` + figures + `
claims:
  - id: it
    section: "1"
    says: It is so.
    kind: descriptive
    check:
      ` + check + "\n"
}
