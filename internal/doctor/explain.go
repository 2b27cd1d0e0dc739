package doctor

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed explain/*.md
var explanations embed.FS

// Explain returns the long story of a mode as Markdown: what it is, how it comes
// about, what misleads, and how to see it happen with brink.
func Explain(mode Mode) (string, error) {
	text, err := explanations.ReadFile("explain/" + string(mode) + ".md")
	if err != nil {
		return "", fmt.Errorf("there is no explanation of %q: %w", mode, err)
	}
	return string(text), nil
}

// ExplainFormat is the version of the document about a mode.
const ExplainFormat = "brink-doctor-explain/1"

// Explanation is the long story of a mode for programs.
type Explanation struct {
	Format string `json:"format"`
	Mode   Mode   `json:"mode"`
	// Title is the mode in a sentence.
	Title string `json:"title"`
	// Sections are in the order of the page.
	Sections []Section `json:"sections"`
}

// Section is a part of an explanation. Its text is Markdown.
type Section struct {
	Heading string `json:"heading"`
	Text    string `json:"text"`
}

// ExplainParts returns the story of [Explain] in its parts.
func ExplainParts(mode Mode) (*Explanation, error) {
	page, err := Explain(mode)
	if err != nil {
		return nil, err
	}
	head, rest, _ := strings.Cut(page, "\n## ")
	title := strings.TrimPrefix(strings.TrimSpace(head), "# ")
	e := &Explanation{Format: ExplainFormat, Mode: mode, Title: strings.TrimPrefix(title, string(mode)+": "), Sections: []Section{}}
	for part := range strings.SplitSeq(rest, "\n## ") {
		heading, text, _ := strings.Cut(part, "\n")
		e.Sections = append(e.Sections, Section{Heading: heading, Text: strings.TrimSpace(text)})
	}
	return e, nil
}
