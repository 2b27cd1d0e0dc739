package compare

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	"brink/internal/phrase"
	"brink/internal/verdict"
)

// width is that of the terminal for which text is laid out.
const width = 100

// Render writes a comparison for people: what is compared, a table, and a
// sentence to forward for each metric. Of several pairs of steps it tells only
// what changed by as much as matters.
func Render(w io.Writer, c *Comparison) error {
	var b strings.Builder
	fmt.Fprintf(&b, "A  %s\nB  %s\n", c.A.Describe(), c.B.Describe())
	if c.Interleaved {
		b.WriteString("One run: the repetitions of A and B were interleaved.\n")
	}
	for _, text := range c.Caveats {
		wrap(&b, "NOTE ", text)
	}
	if len(c.Pairs) > 1 {
		renderBrief(&b, c)
	} else {
		for _, p := range c.Pairs {
			renderPair(&b, c, p)
		}
	}
	_, err := io.WriteString(w, harmless(b.String()))
	return err
}

// harmless keeps what apps may have written from moving the terminal's cursor.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// Describe is the side in one line.
func (s *Side) Describe() string {
	if s.Run == nil {
		return s.Name + " (data that brink did not measure)"
	}
	return fmt.Sprintf("%s (run %s of %s, %s, host %s)", s.Name, s.Run.ID, s.Run.Started.Format("2006-01-02 15:04 UTC"), s.Run.Experiment, s.Run.Host)
}

// renderBrief gives each pair of steps the metrics that changed by as much as
// matters, a line each, and the sentences of those whose test says so.
func renderBrief(b *strings.Builder, c *Comparison) {
	b.WriteByte('\n')
	w := tabwriter.NewWriter(b, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "STEP\tMETRIC\tn\tMEDIAN A\tMEDIAN B\tCHANGE\tp HOLM\tLEVEL")
	var alike, forward []string
	for _, p := range c.Pairs {
		before := len(alike)
		alike = append(alike, p.Name())
		for _, r := range p.Rows {
			if r.Outcome == verdict.Supported {
				forward = append(forward, r.Sentence)
			}
			if !r.counts() {
				continue
			}
			alike = alike[:before]
			fmt.Fprintf(w, "%s\t%s\t%d/%d\t%s\t%s\t%s\t%s\t%s\n", p.Name(), r.Metric.Name, r.A.N, r.B.N,
				atLeast(medianText(r.A, r.Metric)), atLeast(medianText(r.B, r.Metric)), atLeast(r.changeText()), orDash(r.PHolm, phrase.P), r.Level)
		}
	}
	_ = w.Flush() // a strings.Builder cannot fail
	trimLines(b)
	b.WriteByte('\n')
	if len(alike) > 0 {
		wrap(b, "No change that matters: ", strings.Join(alike, ", ")+".")
	}
	for _, text := range missingIn(c.Pairs) {
		wrap(b, "Not compared: ", text)
	}
	if len(forward) > 0 {
		b.WriteString("\nTo forward:\n")
		for _, text := range forward {
			wrap(b, "  ", text)
		}
	}
	wrap(b, "", "Changes smaller than what matters are left out. DIR:STEP on both sides shows all numbers of one step, --json those of all.")
}

// missingIn lists what could not be compared, each with its steps.
func missingIn(pairs []Pair) []string {
	var all differences
	for _, p := range pairs {
		for _, text := range p.Missing {
			all.add("", p.Name(), "%s", text)
		}
	}
	texts := make([]string, len(all.all))
	for i, d := range all.all {
		texts[i] = d.String()
	}
	return texts
}

func renderPair(b *strings.Builder, c *Comparison, p Pair) {
	if p.StepA == p.StepB {
		fmt.Fprintf(b, "\n%s\n", p.StepA)
	} else {
		fmt.Fprintf(b, "\n%s (A) and %s (B)\n", p.StepA, p.StepB)
	}
	if len(p.Differs) > 0 {
		wrap(b, "Compared: ", strings.Join(p.Differs, "; "))
	}
	b.WriteByte('\n')
	renderTable(b, p.Rows)
	renderNotes(b, p.Rows)
	for _, text := range p.Missing {
		wrap(b, "  not compared: ", text)
	}
	b.WriteString("\nTo forward:\n")
	for _, r := range p.Rows {
		wrap(b, "  ", r.Sentence)
	}
	if p.Spread != nil {
		wrap(b, "  ", p.Spread.Sentence)
	}
}

// renderNotes says each note once, with the metrics that it is about.
func renderNotes(b *strings.Builder, rows []Row) {
	var order []string
	about := map[string][]string{}
	for _, r := range rows {
		for note := range strings.SplitSeq(r.Note, "; ") {
			if note == "" {
				continue
			}
			if about[note] == nil {
				order = append(order, note)
			}
			about[note] = append(about[note], r.Metric.Name)
		}
	}
	for _, note := range order {
		names := strings.Join(about[note], ", ")
		if len(about[note]) == len(rows) {
			names = "all"
		}
		wrap(b, "  ", names+": "+note)
	}
}

// renderTable gives each metric two lines: the numbers, and their intervals.
func renderTable(b *strings.Builder, rows []Row) {
	if len(rows) == 0 {
		b.WriteString("No metric has values on both sides.\n")
		return
	}
	w := tabwriter.NewWriter(b, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "METRIC\tn\tMEDIAN A\tMEDIAN B\tCHANGE\tSIZE\tU\tp HOLM")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%d/%d\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Metric.Name, r.A.N, r.B.N,
			atLeast(medianText(r.A, r.Metric)), atLeast(medianText(r.B, r.Metric)),
			atLeast(r.changeText()), r.Word, orDash(r.U, digits), orDash(r.PHolm, phrase.P))
		fmt.Fprintf(w, "\t\t%s\t%s\t%s\t\t\t\n", bracket(r.A.intervalText()), bracket(r.B.intervalText()), bracket(r.intervalText()))
	}
	_ = w.Flush() // a strings.Builder cannot fail
	trimLines(b)
	b.WriteString("[95 % intervals; “–” where the repetitions are too few for one]\n")
}

// trimLines drops the blanks that a table leaves at the ends of its lines.
func trimLines(b *strings.Builder) {
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	b.Reset()
	b.WriteString(strings.Join(lines, "\n"))
}

// atLeast shortens the words of a bound to a sign.
func atLeast(text string) string {
	return strings.NewReplacer("at least", "≥", "at most", "≤").Replace(text)
}

func bracket(text string) string {
	if text == "" {
		return "[–]"
	}
	return "[" + atLeast(text) + "]"
}

func orDash(x *float64, format func(float64) string) string {
	if x == nil {
		return "–"
	}
	return format(*x)
}

// wrap writes text in lines of the terminal's width, the later ones under the
// text of the first.
func wrap(b *strings.Builder, lead, text string) {
	pad := strings.Repeat(" ", min(utf8.RuneCountInString(lead), 4))
	line, empty := lead, true
	for _, word := range strings.Fields(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			b.WriteString(line + "\n")
			line, empty = pad, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	b.WriteString(line + "\n")
}

// Table is the comparison's numbers as cells of text, for a page.
func (c *Comparison) Table() (columns []string, rows [][]string) {
	columns = []string{"Steps", "Metric", "n", "Median A", "Median B", "Change", "Effect", "U", "Cliff's delta", "p", "p after Holm", "Level"}
	for _, p := range c.Pairs {
		for _, r := range p.Rows {
			rows = append(rows, []string{
				p.Name(), r.Metric.Name, fmt.Sprintf("%d/%d", r.A.N, r.B.N),
				medianText(r.A, r.Metric) + " " + bracket(r.A.intervalText()), medianText(r.B, r.Metric) + " " + bracket(r.B.intervalText()),
				r.changeText() + " " + bracket(r.intervalText()), r.Word, orDash(r.U, digits), orDash(r.Delta, digits),
				orDash(r.P, phrase.P), orDash(r.PHolm, phrase.P), string(r.Level),
			})
		}
	}
	return columns, rows
}

// Metrics are the names of all metrics that were compared, in order.
func (c *Comparison) Metrics() []string {
	var names []string
	for _, p := range c.Pairs {
		for _, r := range p.Rows {
			if !slices.Contains(names, r.Metric.Name) {
				names = append(names, r.Metric.Name)
			}
		}
	}
	return names
}
