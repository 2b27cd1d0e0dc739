package doctor

import (
	"fmt"
	"io"
	"strings"

	"brink/internal/evidence"
	"brink/internal/phrase"
)

// A ticket has so many sections about findings, and so many rows in a list of what
// is alike, in order, unsure or to know. The JSON document has all.
const (
	mostSections = 30
	mostRows     = 20
)

// Markdown writes a report for a ticket: all of it, what is alike together, with a
// table of numbers and where they stand.
func Markdown(out io.Writer, r *Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## brink doctor: %s\n\n%s\n", r.Verdict, plain(r.Summary))
	if r.From != nil && r.To != nil {
		fmt.Fprintf(&b, "\nThe evidence is from %s to %s (UTC).\n", r.From.UTC().Format("2006-01-02 15:04:05"), r.To.UTC().Format("2006-01-02 15:04:05"))
	}
	all := groups(r.Findings)
	for i, g := range all {
		if i == mostSections {
			fmt.Fprintf(&b, "\n### And more\n\n%s (`--json` has all).\n", countModes(all[i:]))
			break
		}
		markdownFinding(&b, i+1, g)
	}
	markdownChecks(&b, "Looked at and in order", r.Good)
	markdownChecks(&b, "Cannot be told", r.Unsure)
	markdownChecks(&b, "To know", r.Notes)
	markdownUnseen(&b, r)
	_, err := io.WriteString(out, b.String())
	return err
}

func markdownFinding(b *strings.Builder, n int, g group) {
	f := g[0]
	title, of := string(f.Mode), f.Subject
	if len(g) > 1 {
		title, of = g.title(), ""
	}
	fmt.Fprintf(b, "\n### %d. %s\n\n%s\n\n", n, plain(title), plain(g.worst()))
	if f.CausedBy != "" {
		fmt.Fprintf(b, "- **Follows from:** %s\n", f.CausedBy)
	}
	if of != "" {
		fmt.Fprintf(b, "- **Of:** %s\n", plain(of))
	}
	if when := g.when(); when != "" {
		fmt.Fprintf(b, "- **Since when:** %s\n", plain(when))
	}
	fmt.Fprintf(b, "- **How sure:** %s: %s\n- **Likely cause:** %s\n", f.Level, plain(f.LevelRule), plain(f.Cause))
	markdownList(b, "Do now", f.Now)
	markdownList(b, "Do properly", f.Properly)
	markdownList(b, "Would settle it", f.Settle)
	var others, alike []string
	for _, o := range f.Others {
		others = append(others, o.What+": "+o.Why)
	}
	markdownList(b, "What it is not", others)
	for _, f := range g[1:] {
		alike = append(alike, f.named())
	}
	markdownList(b, "Alike", alike)
	if len(f.Numbers) == 0 {
		return
	}
	b.WriteString("\n| number | value | where it stands |\n|---|---|---|\n")
	for _, n := range f.Numbers {
		var where []string
		for _, s := range n.From {
			where = append(where, s.String())
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", plain(n.Name), plain(n.Text), plain(strings.Join(where, ", ")))
	}
}

func markdownList(b *strings.Builder, name string, rows []string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "- **%s:**\n", name)
	for i, row := range rows {
		if i == mostRows {
			fmt.Fprintf(b, "  - %s\n", leftOut(len(rows)-i))
			return
		}
		fmt.Fprintf(b, "  - %s\n", plain(row))
	}
}

func markdownChecks(b *strings.Builder, name string, checks []Check) {
	if len(checks) == 0 {
		return
	}
	fmt.Fprintf(b, "\n### %s\n\n", name)
	for i, c := range areasFirst(checks) {
		if i == mostRows {
			fmt.Fprintf(b, "- %s\n", leftOut(len(checks)-i))
			return
		}
		fmt.Fprintf(b, "- %s: %s", c.Area, plain(c.Text))
		if c.Settle != "" {
			fmt.Fprintf(b, " What would settle it: %s", plain(c.Settle))
		}
		b.WriteString("\n")
	}
}

func markdownUnseen(b *strings.Builder, r *Report) {
	strangers := r.unread()
	if len(r.Unseen)+len(strangers) == 0 {
		return
	}
	b.WriteString("\n### Could not see\n\nThis does not count as healthy.\n\n")
	for _, u := range r.Unseen {
		fmt.Fprintf(b, "- %s: %s", u.What, u.Why)
		if u.Detail != "" && !toldUnsure(u) {
			fmt.Fprintf(b, " (%s)", plain(u.Detail))
		}
		if len(u.Modes) > 0 {
			var modes []string
			for _, m := range u.Modes {
				modes = append(modes, string(m))
			}
			fmt.Fprintf(b, "; leaves open: %s", strings.Join(modes, ", "))
		}
		b.WriteString("\n")
	}
	for i, s := range strangers {
		if i == mostRows {
			fmt.Fprintf(b, "- %s\n", leftOut(len(strangers)-i))
			break
		}
		fmt.Fprintf(b, "- not understood: %s (%s)\n", plain(s.File), plain(s.Why))
	}
	if len(r.Inputs) > 0 {
		fmt.Fprintf(b, "\nRead: %s.\n", plain(inputNames(r.Inputs)))
	}
}

// leftOut is the last row of a list from which so many were left out.
func leftOut(n int) string { return phrase.Count(int64(n)) + " more (`--json` has all)" }

func inputNames(inputs []evidence.Input) string {
	const most = 40
	var names []string
	for i, in := range inputs {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(inputs)-most))
			break
		}
		names = append(names, in.File+" ("+in.As+")")
	}
	return strings.Join(names, ", ")
}

// plain keeps text of the evidence from being read as Markdown or HTML, or from
// breaking a line of it; and from calling people, other tickets or addresses, which
// trackers find in the text itself: a comment parts it there and is not shown.
func plain(text string) string {
	text = escaped(text)
	if strings.ContainsAny(text, "@#:") || strings.Contains(text, "www.") {
		text = mentions().ReplaceAllString(text, "$1$2<!-- -->$3")
		text = tickets().ReplaceAllString(text, "#<!-- -->$1")
		text = links().ReplaceAllString(text, "$1<!-- -->$2")
	}
	return text
}

// https://github.github.com/gfm/#autolinks-extension-
// https://docs.github.com/get-started/writing-on-github/working-with-advanced-formatting/autolinked-references-and-urls
var (
	mentions = expression(`(^|[^\w])(@)(\w)`)
	tickets  = expression(`#(\d)`)
	links    = expression(`(?i)(\b(?:https?|ftp):|\bwww)(//|\.)`)
)

var escaped = strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "\n", " ", "\r", " ", "`", "'", "*", "\\*", "_", "\\_", "[", "\\[").Replace
