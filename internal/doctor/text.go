package doctor

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"brink/internal/evidence"
)

// TextOptions is how a report is printed.
type TextOptions struct {
	// Width is the widest that a line may be.
	Width int
	// All prints everything, what is alike together; otherwise it fits about one
	// screen: the first finding in short, the others in a line.
	All bool
}

// mostLines is how many findings and groups of them stand below the first where
// all has to fit a screen.
const mostLines = 8

// Text prints a report for a terminal. The text holds names and lines of the
// evidence as they are; the caller makes them harmless.
func Text(out io.Writer, r *Report, o TextOptions) error {
	p := printer{width: max(o.Width, 40), all: o.All}
	all := groups(r.Findings)
	p.line("", strings.ToUpper(string(r.Verdict))+": "+r.heading(all))
	for i, g := range all {
		if i > mostLines && !o.All {
			p.line("", "")
			p.line("", "And more: "+countModes(all[i:])+".")
			break
		}
		switch f := g[0]; {
		case i == 0 || o.All:
			p.finding(g)
		case f.CausedBy != "":
			p.row("follows", g.title()+g.colon()+g.inShort())
		default:
			p.line("", "")
			p.line("", fmt.Sprintf("%s (%s) %s", g.title(), f.Level, g.inShort()))
		}
	}
	p.checks("in order", r.Good, 5)
	p.checks("unsure", r.Unsure, 4)
	p.checks("note", r.Notes, 3)
	p.unseen(r)
	if len(r.Findings) > 0 && !o.All {
		p.line("", "")
		p.line("", "More: --all, --format markdown for a ticket, --explain "+string(r.Findings[0].Mode)+" for the long story.")
	}
	_, err := io.WriteString(out, p.b.String())
	return err
}

// heading is the summary where no finding says the same right below.
func (r *Report) heading(all []group) string {
	switch {
	case len(all) == 0 && len(r.Unsure) > 0 && r.Summary == noVerdict+r.Unsure[0].Text:
		return "The evidence does not carry a verdict."
	case len(all) == 0:
		return r.Summary
	}
	return countModes(slices.DeleteFunc(slices.Clone(all), func(g group) bool { return g[0].CausedBy != "" }))
}

// title is the mode, and of whom where the sentence does not name it: several
// apps can have the same.
func (f *Finding) title() string {
	if f.Subject == "" || strings.Contains(f.What, f.Subject) {
		return string(f.Mode)
	}
	return string(f.Mode) + " of " + f.Subject
}

type printer struct {
	b     strings.Builder
	width int
	all   bool
}

// label is the width of the words before the rows.
const label = 10

// finding prints the worst of a group in full, and what the others are if all is
// printed.
func (p *printer) finding(g group) {
	f := g[0]
	p.line("", "")
	p.line("", fmt.Sprintf("%s (%s: %s)", g.title(), f.Level, f.LevelRule))
	p.row("what", g.worst())
	if f.CausedBy != "" {
		p.row("follows", "from "+string(f.CausedBy))
	}
	if when := g.when(); when != "" {
		p.row("when", when)
	}
	p.row("cause", f.Cause)
	p.list("now", f.Now, 2)
	p.list("properly", f.Properly, 2)
	p.list("numbers", p.numbers(f.Numbers), 5)
	var others []string
	for _, o := range f.Others {
		others = append(others, o.What+": "+o.Why)
	}
	p.list("not", others, 2)
	p.list("settles it", f.Settle, 2)
	if p.all {
		var alike []string
		for _, f := range g[1:] {
			alike = append(alike, f.named())
		}
		p.list("alike", alike, len(alike))
	}
}

// numbers are rows of numbers with their places; those that follow each other and
// stand in one place share a row.
func (p *printer) numbers(numbers []Number) []string {
	var rows []string
	text, place := "", ""
	for i := range numbers {
		n := &numbers[i]
		here := p.sourceText(n.From)
		if i > 0 && here != place {
			rows = append(rows, text+place)
			text = ""
		}
		if text != "" {
			text += ", "
		}
		text, place = text+n.Name+" "+n.Text, here
	}
	if text != "" {
		rows = append(rows, text+place)
	}
	return rows
}

// sourceText says where a number stands: the first place and the last. What two
// readings have in the same file is named once.
func (p *printer) sourceText(from []evidence.Source) string {
	if len(from) == 0 {
		return ""
	}
	first, last := from[0], from[len(from)-1]
	if p.all {
		if len(from) == 1 {
			return " (" + first.String() + ")"
		}
		return " (" + first.String() + ", " + last.String() + ")"
	}
	first.File, last.File = shortPath(first.File), shortPath(last.File)
	reading, within, deep := strings.Cut(first.File, "/")
	other, same, _ := strings.Cut(last.File, "/")
	text := " (" + first.String()
	switch {
	case first == last:
	case deep && within == same && reading != "" && first.Field == last.Field:
		text += ", and in " + other
	default:
		text += ", " + last.String()
	}
	return text + ")"
}

// mostPath is how many letters of a file's path stand beside a number; of longer
// ones the first and the last part do.
const mostPath = 48

func shortPath(path string) string {
	first, last := strings.Index(path, "/"), strings.LastIndex(path, "/")
	if utf8.RuneCountInString(path) <= mostPath || first <= 0 || first == last {
		return path
	}
	return path[:first] + "/…" + path[last:]
}

func (p *printer) list(name string, rows []string, most int) {
	for i, row := range rows {
		if i == most && !p.all {
			p.row("", fmt.Sprintf("… %d more", len(rows)-most))
			return
		}
		if i > 0 {
			name = ""
		}
		p.row(name, row)
	}
}

func (p *printer) checks(name string, checks []Check, most int) {
	if len(checks) == 0 {
		return
	}
	p.line("", "")
	var rows []string
	for _, c := range areasFirst(checks) {
		text := c.Text
		if c.Settle != "" {
			text += " What would settle it: " + c.Settle
		}
		rows = append(rows, text)
	}
	p.list(name, rows, most)
}

// areasFirst puts the first check of each area before the others: the list may
// be cut.
func areasFirst(checks []Check) []Check {
	var firsts, others []Check
	for _, c := range checks {
		if slices.ContainsFunc(firsts, func(f Check) bool { return f.Area == c.Area }) {
			others = append(others, c)
		} else {
			firsts = append(firsts, c)
		}
	}
	return append(firsts, others...)
}

// row prints text beside its label.
func (p *printer) row(name, text string) {
	p.line(name+strings.Repeat(" ", max(label-utf8.RuneCountInString(name), 0))+" ", text)
}

// line wraps text after lead; the lines after the first stand under it, and
// never where headings begin, which text of the evidence could pass for.
func (p *printer) line(lead, text string) {
	pad := strings.Repeat(" ", max(utf8.RuneCountInString(lead), 2))
	line, empty := lead, true
	for _, word := range strings.Fields(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > p.width {
			p.b.WriteString(line + "\n")
			line, empty = pad, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	p.b.WriteString(strings.TrimRight(line, " ") + "\n")
}

// expression compiles a pattern when it is first used: all of them at once would
// slow every start of brink.
func expression(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
