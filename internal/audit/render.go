package audit

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Count is how many claims ended how.
type Count struct {
	Claims          int `json:"claims"`
	Contradict      int `json:"contradict"`
	DoNotFollow     int `json:"do_not_follow"`
	Hold            int `json:"hold"`
	CannotBeChecked int `json:"cannot_be_checked"`
	// Overstated are the claims whose published level is above what their
	// repetitions allow.
	Overstated int `json:"overstated"`
}

// CountOf counts results.
func CountOf(results []Result) Count {
	c := Count{Claims: len(results)}
	for _, r := range results {
		switch r.Outcome {
		case Contradicts:
			c.Contradict++
		case DoesNotFollow:
			c.DoNotFollow++
		case Holds:
			c.Hold++
		case CannotBeChecked:
			c.CannotBeChecked++
		}
		if r.Overstated {
			c.Overstated++
		}
	}
	return c
}

// Widths of the table's columns, in characters.
var widths = []int{18, 34, 44, 15, 12}

// Render writes the audit of a reference as a table for a terminal of 130
// columns: findings first, a line with the counts last.
func Render(w io.Writer, r *Reference) error {
	results := r.Audit()
	slices.SortStableFunc(results, func(a, b Result) int { return rank(a) - rank(b) })
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s: %s, %s %s\n\n", r.Title, r.Name, r.Source.Kind, r.Source.DateOf, r.Source.Date)
	row(&b, "CLAIM", "SAYS", "ITS NUMBERS GIVE", "VERDICT", "LEVEL")
	for _, x := range results {
		b.WriteByte('\n')
		gives := x.Gives + "."
		if x.Note != "" {
			gives += " " + x.Note
		}
		row(&b, x.Claim+"\nsection "+x.Section, x.Says, gives, string(x.Outcome), levelText(x))
	}
	c := CountOf(results)
	fmt.Fprintf(&b, "\nClaims: %d. Contradicted: %d, do not follow: %d, hold: %d, cannot be checked: %d. Level above what the repetitions allow: %d.\n",
		c.Claims, c.Contradict, c.DoNotFollow, c.Hold, c.CannotBeChecked, c.Overstated)
	_, err := io.WriteString(w, b.String())
	return err
}

// rank puts findings first, then what is only overstated.
func rank(r Result) int {
	switch {
	case r.Finding():
		return 0
	case r.Overstated:
		return 1
	case r.Outcome == CannotBeChecked:
		return 2
	}
	return 3
}

func levelText(r Result) string {
	text := string(r.Level)
	if r.Overstated {
		text += ", not " + string(r.PageLevel)
	}
	return text
}

// row writes one row, its cells wrapped in their columns.
func row(b *strings.Builder, cells ...string) {
	var columns [][]string
	height := 0
	for i, c := range cells {
		lines := wrap(c, widths[i])
		columns = append(columns, lines)
		height = max(height, len(lines))
	}
	for line := range height {
		var text strings.Builder
		for i, lines := range columns {
			cell := ""
			if line < len(lines) {
				cell = lines[line]
			}
			fmt.Fprintf(&text, "%-*s  ", widths[i], cell)
		}
		b.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
}

// wrap breaks text at its line breaks and at spaces; a word that is wider than
// the column stands alone.
func wrap(text string, width int) []string {
	if first, rest, has := strings.Cut(text, "\n"); has {
		return append(wrap(first, width), wrap(rest, width)...)
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
