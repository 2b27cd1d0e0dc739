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
	// All prints everything; otherwise it fits about one screen: the first
	// finding in short, the others in a line.
	All bool
}

// Text prints a report for a terminal. The text holds names and lines of the
// evidence as they are; the caller makes them harmless.
func Text(out io.Writer, r *Report, o TextOptions) error {
	p := printer{width: max(o.Width, 40), all: o.All}
	p.line("", strings.ToUpper(string(r.Verdict))+": "+r.heading())
	for i := range r.Findings {
		f := &r.Findings[i]
		switch {
		case i == 0 || o.All:
			p.finding(f)
		case f.CausedBy != "":
			p.row("follows", f.title()+": "+f.What)
		default:
			p.line("", "")
			p.line("", fmt.Sprintf("%s (%s) %s", f.title(), f.Level, f.What))
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
func (r *Report) heading() string {
	if len(r.Findings) == 0 {
		return r.Summary
	}
	var modes []string
	for i := range r.Findings {
		if r.Findings[i].CausedBy == "" {
			modes = append(modes, string(r.Findings[i].Mode))
		}
	}
	return strings.Join(modes, ", ")
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

func (p *printer) finding(f *Finding) {
	p.line("", "")
	p.line("", fmt.Sprintf("%s (%s: %s)", f.title(), f.Level, f.LevelRule))
	p.row("what", f.What)
	if f.CausedBy != "" {
		p.row("follows", "from "+string(f.CausedBy))
	}
	if f.Span != "" {
		p.row("when", f.Span)
	}
	p.row("cause", f.Cause)
	p.list("now", f.Now, 2)
	p.list("properly", f.Properly, 2)
	var numbers []string
	for _, n := range f.Numbers {
		numbers = append(numbers, n.Name+" "+n.Text+sourceText(n.From))
	}
	p.list("numbers", numbers, 5)
	var others []string
	for _, o := range f.Others {
		others = append(others, o.What+": "+o.Why)
	}
	p.list("not", others, 2)
	p.list("settles it", f.Settle, 2)
}

func sourceText(from []evidence.Source) string {
	if len(from) == 0 {
		return ""
	}
	text := " (" + from[0].String()
	if len(from) > 1 {
		text += ", " + from[len(from)-1].String()
	}
	return text + ")"
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
			text += " It would settle it: " + c.Settle
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

// unseen says in one paragraph what could not be seen.
func (p *printer) unseen(r *Report) {
	var parts, strangers []string
	for _, u := range r.Unseen {
		text := string(u.What)
		if u.Why != evidence.NotSeen {
			text += " (" + string(u.Why)
			if u.Detail != "" {
				text += ": " + u.Detail
			}
			text += ")"
		}
		parts = append(parts, text)
	}
	for _, s := range r.Strangers {
		strangers = append(strangers, s.File+" ("+s.Why+")")
	}
	if len(parts)+len(strangers) > 0 {
		p.line("", "")
	}
	if len(parts) > 0 {
		p.row("not seen", strings.Join(parts, ", ")+". What was not seen does not count as healthy.")
	}
	p.list("not read", strangers, 3)
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
