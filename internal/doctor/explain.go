package doctor

import (
	"embed"
	"fmt"
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
