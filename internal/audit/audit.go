// Package audit recomputes the claims of a published experiment from the
// figures that the publication itself gives. Claims, figures and their source
// stand in a data file (docs/reference-file.md); the arithmetic stands here.
package audit

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"brink/internal/verdict"
)

//go:embed references/*.yaml
var shipped embed.FS

// Outcome is what became of a claim when its own numbers were computed.
type Outcome string

// The outcomes. The first two are findings.
const (
	// Contradicts: the published figures or statements say otherwise.
	Contradicts Outcome = "contradicts"
	// DoesNotFollow: the published figures do not give what is claimed.
	DoesNotFollow Outcome = "does not follow"
	// Holds: the published figures give what is claimed.
	Holds Outcome = "holds"
	// CannotBeChecked: the figures that it takes are not published.
	CannotBeChecked Outcome = "cannot be checked"
)

// Kind is what sort of statement a claim makes.
type Kind string

// The kinds of docs/METHODOLOGY.md, "Two axes".
const (
	Descriptive Kind = "descriptive"
	Association Kind = "association"
	Causal      Kind = "causal"
)

// Reference is one publication: its figures, and its claims as they were
// computed from them.
type Reference struct {
	Name   string `json:"name"`
	Title  string `json:"title"`
	Source Source `json:"source"`

	results []Result
}

// Source says where figures and claims come from.
type Source struct {
	// Kind is the sort of publication.
	Kind string `yaml:"kind" json:"kind"`
	// Date is a day as the publication gives it, DateOf what happened on it.
	Date   string `yaml:"date" json:"date"`
	DateOf string `yaml:"date_of" json:"date_of"`
}

// Result is one claim, recomputed.
type Result struct {
	Claim   string `json:"claim"`
	Section string `json:"section"`
	// Says is the claim in other words.
	Says string `json:"says"`
	Kind Kind   `json:"kind"`
	// Check is the kind of check, empty where there is none; Figures are the
	// figures that it used.
	Check   string   `json:"check,omitempty"`
	Figures []string `json:"figures,omitempty"`

	Outcome Outcome `json:"outcome"`
	// Computed is the number that decided, in Unit; Claimed is what is claimed
	// for it. Both are absent where the check is not about one number.
	Computed *float64 `json:"computed,omitempty"`
	Claimed  *Span    `json:"claimed,omitempty"`
	Unit     string   `json:"unit,omitempty"`
	// Gives says in a sentence what the numbers give.
	Gives string `json:"gives"`
	// Note is what another source has to say about it.
	Note string `json:"note,omitempty"`

	Repetitions int `json:"repetitions"`
	// PageLevel is the level that the publication gives the claim, empty if
	// none; Level is the highest that its repetitions allow.
	PageLevel verdict.Level `json:"page_level,omitempty"`
	Level     verdict.Level `json:"level"`
	// Overstated tells that PageLevel is above Level.
	Overstated bool `json:"overstated"`
}

// Finding tells whether the claim is at odds with its own numbers.
func (r Result) Finding() bool {
	return r.Outcome == Contradicts || r.Outcome == DoesNotFollow
}

// References lists the names of the references that ship with brink, sorted.
func References() []string {
	entries, err := shipped.ReadDir("references")
	if err != nil {
		return nil // an embedded directory is always there
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// Load reads a reference that ships with brink.
func Load(name string) (*Reference, error) {
	if !slices.Contains(References(), name) {
		return nil, fmt.Errorf("no reference is called %q; there are %s, or give a file that ends in .yaml",
			name, strings.Join(References(), " and "))
	}
	file := name + ".yaml"
	data, err := shipped.ReadFile(path.Join("references", file))
	if err != nil {
		return nil, fmt.Errorf("read reference %s: %w", name, err)
	}
	return Parse(file, data)
}

// Audit returns the claims of the reference, recomputed, in the order of the
// file.
func (r *Reference) Audit() []Result {
	return slices.Clone(r.results)
}
