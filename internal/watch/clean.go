package watch

import (
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// Clean makes one printable line, at most so many columns wide, of a text that
// processes of others may have written: their names and command lines, and the
// paths of their sockets.
func Clean(text string, widest int) string {
	printable := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	return ansi.Truncate(strings.Join(strings.Fields(printable), " "), widest, "…")
}

// cleanPath is Clean for what is told apart by its end.
func cleanPath(text string, widest int) string {
	clean := Clean(text, len(text)*4)
	if over := ansi.StringWidth(clean) - widest; over > 0 {
		return ansi.TruncateLeft(clean, over+1, "…")
	}
	return clean
}
