package doctor

import (
	"fmt"
	"io"
	"strings"

	"brink/internal/evidence"
)

// Markdown writes a report for a ticket: all of it, with a table of numbers and
// where they stand.
func Markdown(out io.Writer, r *Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## brink doctor: %s\n\n%s\n", r.Verdict, plain(r.Summary))
	if r.From != nil && r.To != nil {
		fmt.Fprintf(&b, "\nThe evidence is from %s to %s (UTC).\n", r.From.UTC().Format("2006-01-02 15:04:05"), r.To.UTC().Format("2006-01-02 15:04:05"))
	}
	for i := range r.Findings {
		markdownFinding(&b, i+1, &r.Findings[i])
	}
	markdownChecks(&b, "Looked at and in order", r.Good)
	markdownChecks(&b, "Cannot be told", r.Unsure)
	markdownChecks(&b, "To know", r.Notes)
	markdownUnseen(&b, r)
	_, err := io.WriteString(out, b.String())
	return err
}

func markdownFinding(b *strings.Builder, n int, f *Finding) {
	fmt.Fprintf(b, "\n### %d. %s\n\n%s\n\n", n, f.Mode, plain(f.What))
	if f.CausedBy != "" {
		fmt.Fprintf(b, "- **Follows from:** %s\n", f.CausedBy)
	}
	if f.Subject != "" {
		fmt.Fprintf(b, "- **Of:** %s\n", plain(f.Subject))
	}
	if f.Span != "" {
		fmt.Fprintf(b, "- **Since when:** %s\n", plain(f.Span))
	}
	fmt.Fprintf(b, "- **How sure:** %s: %s\n- **Likely cause:** %s\n", f.Level, plain(f.LevelRule), plain(f.Cause))
	markdownList(b, "Do now", f.Now)
	markdownList(b, "Do properly", f.Properly)
	markdownList(b, "Would settle it", f.Settle)
	var others []string
	for _, o := range f.Others {
		others = append(others, o.What+": "+o.Why)
	}
	markdownList(b, "What it is not", others)
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
	for _, row := range rows {
		fmt.Fprintf(b, "  - %s\n", plain(row))
	}
}

func markdownChecks(b *strings.Builder, name string, checks []Check) {
	if len(checks) == 0 {
		return
	}
	fmt.Fprintf(b, "\n### %s\n\n", name)
	for _, c := range checks {
		fmt.Fprintf(b, "- %s: %s", c.Area, plain(c.Text))
		if c.Settle != "" {
			fmt.Fprintf(b, " It would settle it: %s", plain(c.Settle))
		}
		b.WriteString("\n")
	}
}

func markdownUnseen(b *strings.Builder, r *Report) {
	if len(r.Unseen)+len(r.Strangers) == 0 {
		return
	}
	b.WriteString("\n### Could not see\n\nThis does not count as healthy.\n\n")
	for _, u := range r.Unseen {
		fmt.Fprintf(b, "- %s: %s", u.What, u.Why)
		if u.Detail != "" {
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
	for _, s := range r.Strangers {
		fmt.Fprintf(b, "- not understood: %s (%s)\n", plain(s.File), plain(s.Why))
	}
	if len(r.Inputs) > 0 {
		fmt.Fprintf(b, "\nRead: %s.\n", plain(inputNames(r.Inputs)))
	}
}

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
// breaking a line of it.
var plain = strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "\n", " ", "\r", " ", "`", "'", "*", "\\*", "_", "\\_", "[", "\\[").Replace
