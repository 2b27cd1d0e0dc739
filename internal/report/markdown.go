package report

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
)

// markdownWidth is the width of charts, in pixels, where a reader of the
// Markdown draws them.
const markdownWidth = 640

// RenderMarkdown writes the report as GitHub Flavored Markdown with the
// charts as vega-lite fences. It fails on a nil model, on a chart outside the
// sixteen sections, and when w does.
func RenderMarkdown(w io.Writer, m *Model) error {
	d, err := compose(m)
	if err != nil {
		return err
	}
	var md markdown
	if err := md.document(d); err != nil {
		return err
	}
	if _, err := w.Write(md.Bytes()); err != nil {
		return fmt.Errorf("report: writing Markdown: %w", err)
	}
	return nil
}

type markdown struct{ bytes.Buffer }

func (md *markdown) document(d *document) error {
	fmt.Fprintf(md, "# %s\n\n", escapeMarkdown(d.Title))
	for _, n := range d.Notices {
		fmt.Fprintf(md, "> **%s** %s\n\n", escapeMarkdown(noticeWord(n.Kind)+":"), md.spans(prose(n.Text), false))
	}
	md.para(d.Question)
	if len(d.Verdicts) > 0 {
		md.table(verdictGrid(d.Verdicts))
	}
	if d.Waiting != "" {
		md.para(words("Not decided, since steps were not executed: " + d.Waiting + "."))
	}
	if d.Broke != "" {
		md.para([]span{strong("How the plan broke:"), text(" " + d.Broke + ".")})
	}
	if d.Lead != nil {
		if err := md.figure(d.Lead); err != nil {
			return err
		}
	}
	md.para(d.RunLine)
	for _, s := range d.Sections {
		fmt.Fprintf(md, "## %d. %s\n\n", s.Number, escapeMarkdown(s.Title))
		if err := md.blocks(s.Blocks); err != nil {
			return err
		}
	}
	return nil
}

func verdictGrid(lines []verdictLine) *grid {
	g := &grid{Columns: columns("", "Claim", "Verdict", "Evidence", "Deciding numbers")}
	for _, v := range lines {
		g.Rows = append(g.Rows, []cell{{strong(v.ID)}, v.Claim, {outcome(v.Outcome)}, {level(v.Level)}, v.Numbers})
	}
	return g
}

func (md *markdown) blocks(blocks []block) error {
	for _, b := range blocks {
		if err := md.block(b); err != nil {
			return err
		}
	}
	return nil
}

func (md *markdown) block(b block) error {
	switch {
	case b.Fold != "":
		fmt.Fprintf(md, "<details>\n<summary>%s</summary>\n\n", escapeMarkdown(b.Fold))
		if err := md.blocks(b.Children); err != nil {
			return err
		}
		md.WriteString("</details>\n\n")
	case b.Heading != "":
		fmt.Fprintf(md, "### %s\n\n", escapeMarkdown(b.Heading))
	case b.Table != nil:
		if b.Table.Caption != "" {
			fmt.Fprintf(md, "**%s**\n\n", escapeMarkdown(b.Table.Caption))
		}
		md.table(b.Table)
	case b.Figure != nil:
		return md.figure(b.Figure)
	case b.Command != "":
		fence := strings.Repeat("`", max(3, longestRun(b.Command, '`')+1))
		fmt.Fprintf(md, "%ssh\n%s\n%s\n\n", fence, b.Command, fence)
	case b.List != nil:
		for _, item := range b.List {
			fmt.Fprintf(md, "- %s\n", lineStart(md.spans(item, false)))
		}
		md.WriteString("\n")
	default:
		md.para(b.Para)
	}
	return nil
}

func (md *markdown) para(spans []span) {
	if s := md.spans(spans, false); s != "" {
		fmt.Fprintf(md, "%s\n\n", lineStart(s))
	}
}

func (md *markdown) figure(f *figure) error {
	spec, err := dress(f.Spec, lightPalette, markdownWidth)
	if err != nil {
		return fmt.Errorf("report: figure %d: %w", f.Number, err)
	}
	fmt.Fprintf(md, "**Figure %d. %s**\n\n```vega-lite\n%s\n```\n\n", f.Number, escapeMarkdown(visible(f.Title)), spec)
	md.para(append(prose(f.Alt), append(words(" "), prose(f.Note)...)...))
	if len(f.Grid.Rows) > 0 {
		fmt.Fprintf(md, "<details>\n<summary>%s</summary>\n\n", escapeMarkdown(f.Grid.Caption))
		md.table(f.Grid)
		md.WriteString("</details>\n\n")
	}
	return nil
}

func (md *markdown) table(g *grid) {
	for _, c := range g.Columns {
		fmt.Fprintf(md, "| %s ", escapeMarkdown(c.Title))
	}
	md.WriteString("|\n")
	for _, c := range g.Columns {
		if c.Number {
			md.WriteString("| ---: ")
		} else {
			md.WriteString("| --- ")
		}
	}
	md.WriteString("|\n")
	for _, row := range g.Rows {
		for _, c := range row {
			fmt.Fprintf(md, "| %s ", md.spans(c, true))
		}
		md.WriteString("|\n")
	}
	md.WriteString("\n")
}

func (md *markdown) spans(spans []span, inTable bool) string {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(markdownSpan(s, inTable))
	}
	return strings.TrimSpace(b.String())
}

func markdownSpan(s span, inTable bool) string {
	if s.Text == "" {
		return ""
	}
	switch s.Kind {
	case codeText:
		return markdownCode(s.Text, inTable)
	case strongText, outcomeBadge:
		return "**" + escapeMarkdown(strings.TrimSpace(s.Text)) + "**" // a space inside would undo it
	case levelBadge:
		return "*" + escapeMarkdown(strings.TrimSpace(s.Text)) + "*"
	case webLink:
		return "[" + escapeMarkdown(s.Text) + "](<" + strings.NewReplacer("<", "%3C", ">", "%3E", `\`, "%5C", "|", "%7C").Replace(s.Href) + ">)"
	}
	return escapeMarkdown(s.Text)
}

// markdownCode is a code span with a fence longer than any in the text. Pipes
// are escaped inside tables; the one thing that a code span in a table cannot
// hold, a backslash before a pipe, is written as HTML.
func markdownCode(s string, inTable bool) string {
	if inTable && strings.Contains(s, `\|`) {
		return "<code>" + strings.ReplaceAll(escapeMarkdown(s), `\|`, "&#124;") + "</code>"
	}
	if inTable {
		s = strings.ReplaceAll(s, "|", `\|`)
	}
	fence := strings.Repeat("`", longestRun(s, '`')+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + s + fence
}

func longestRun(s string, r rune) int {
	longest, run := 0, 0
	for _, c := range s {
		if c != r {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// markdownEscaper covers CommonMark's and GitHub's inline syntax; "$" opens
// mathematics on GitHub.
var markdownEscaper = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`,
	"[", `\[`, "]", `\]`, "#", `\#`, "~", `\~`, "|", `\|`, "!", `\!`, "$", `\$`,
)

func escapeMarkdown(s string) string { return markdownEscaper.Replace(s) }

var blockMarker = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d{1,9})([.)])(\s|$)`) })

// lineStart keeps text from opening a list or a rule at the start of a line.
func lineStart(s string) string {
	if s != "" && strings.ContainsRune("-+=", rune(s[0])) {
		return `\` + s
	}
	return blockMarker().ReplaceAllString(s, `$1\$2$3`)
}

func noticeWord(kind string) string {
	switch kind {
	case "substitute":
		return "Substitute"
	case "cut-off":
		return "Cut off"
	case "interrupted":
		return "Interrupted"
	case "broken":
		return "Broken"
	case "accelerator":
		return "Emulated"
	case "resumed":
		return "Resumed"
	case "override":
		return "Changed"
	}
	return "Note"
}
