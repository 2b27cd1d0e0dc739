package report

import (
	"fmt"
	"net/url"
	"strings"

	"brink/internal/verdict"
)

// document is a report before it is Markdown or HTML: the same content for
// both, so that they cannot disagree.
type document struct {
	Title    string
	Kicker   string
	Notices  []Notice
	Question []span
	Verdicts []verdictLine
	// Tally counts the verdicts by outcome, Broke names the ways in which plans
	// broke, and Waiting the hypotheses that wait for steps; both may be empty.
	Tally    string
	Broke    string
	Waiting  string
	Lead     *figure
	RunLine  []span
	Sections []section
}

// Up to fewVerdicts stand beside the picture; more of them flow around it in
// two columns, and more than manyVerdicts are set smaller, so that they still
// meet the reader on one screen.
const (
	fewVerdicts  = 5
	manyVerdicts = 14
)

// Dense tells that the verdicts flow around the picture.
func (d *document) Dense() bool { return len(d.Verdicts) > fewVerdicts }

// Crowded tells that the verdicts are set smaller.
func (d *document) Crowded() bool { return len(d.Verdicts) > manyVerdicts }

// verdictLine is one hypothesis on the first screen.
type verdictLine struct {
	ID string
	// Anchor names the paragraph in section 10 that says more.
	Anchor  string
	Claim   []span
	Outcome verdict.Outcome
	Level   verdict.Level
	Numbers []span
}

// section is one of the sixteen.
type section struct {
	Number int
	Title  string
	Blocks []block
}

// block is one element of a section. Exactly one field is set, but for Fold,
// the summary under which Children are folded away, and Anchor, the name by
// which a paragraph is linked to.
type block struct {
	Anchor   string
	Heading  string
	Para     []span
	List     [][]span
	Table    *grid
	Figure   *figure
	Command  string
	Fold     string
	Children []block
}

type grid struct {
	Caption string
	Columns []column
	Rows    [][]cell
}

type column struct {
	Title string
	// Number columns are set flush right.
	Number bool
}

type cell []span

// figure is a chart with its number in the document and its table.
type figure struct {
	*Chart
	Number int
	Grid   *grid
}

// spanKind says what a run of text is.
type spanKind string

const (
	plainText    spanKind = "text"
	codeText     spanKind = "code"
	strongText   spanKind = "strong"
	mutedText    spanKind = "muted"
	outcomeBadge spanKind = "outcome"
	levelBadge   spanKind = "level"
	webLink      spanKind = "link"
	figureLink   spanKind = "figure"
)

// span is a run of text of one kind; Href is for links only.
type span struct {
	Kind spanKind
	Text string
	Href string
}

func text(s string) span    { return span{Kind: plainText, Text: safe(s)} }
func strong(s string) span  { return span{Kind: strongText, Text: safe(s)} }
func muted(s string) span   { return span{Kind: mutedText, Text: safe(s)} }
func code(s string) span    { return span{Kind: codeText, Text: visible(s)} }
func words(s string) []span { return []span{text(s)} }

func outcome(o verdict.Outcome) span { return span{Kind: outcomeBadge, Text: safe(string(o))} }
func level(l verdict.Level) span     { return span{Kind: levelBadge, Text: safe(string(l))} }

// prose reads authored or generated Text: pairs of backticks mark code.
func prose(s string) []span {
	parts := strings.Split(clean(s), "`")
	if len(parts)%2 == 0 { // an odd backtick is only a character
		last := len(parts) - 1
		parts = append(parts[:last-1], parts[last-1]+"`"+parts[last])
	}
	var spans []span
	for i, p := range parts {
		switch {
		case p == "":
		case i%2 == 1:
			spans = append(spans, span{Kind: codeText, Text: p})
		default:
			spans = append(spans, text(p))
		}
	}
	return spans
}

func proseList(ss []string) block {
	b := block{}
	for _, s := range ss {
		b.List = append(b.List, prose(s))
	}
	return b
}

// paragraphs splits authored text at blank lines.
func paragraphs(s string) []block {
	var blocks []block
	for _, p := range strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n\n") {
		if strings.TrimSpace(p) != "" {
			blocks = append(blocks, block{Para: prose(p)})
		}
	}
	return blocks
}

func para(spans ...span) block          { return block{Para: spans} }
func heading(s string) block            { return block{Heading: s} }
func gridBlock(g *grid) block           { return block{Table: g} }
func folded(s string, b ...block) block { return block{Fold: s, Children: b} }

func columns(titles ...string) []column {
	cols := make([]column, len(titles))
	for i, t := range titles {
		cols[i] = column{Title: strings.TrimPrefix(t, "#"), Number: strings.HasPrefix(t, "#")}
	}
	return cols
}

// link is a web link where the address is one, and otherwise its text.
func link(title, address string) []span {
	title, address = clean(title), clean(address)
	if title == "" {
		title = address
	}
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		if address == "" || address == title {
			return words(title)
		}
		return []span{text(title + " "), code(address)}
	}
	return []span{{Kind: webLink, Text: title, Href: u.String()}}
}

// compose lays a model out. It fails on a model that no section can hold.
func compose(m *Model) (*document, error) {
	if m == nil {
		return nil, fmt.Errorf("report: no model")
	}
	figures, lead, err := numberFigures(m)
	if err != nil {
		return nil, err
	}
	d := &document{
		Title: clean(m.Title), Kicker: clean(m.Run.Experiment), Notices: m.Notices,
		Question: prose(m.Question), Lead: lead, RunLine: runLine(m.Run),
	}
	waiting := m.waitingFor()
	d.Tally = tally(decided(m))
	if n := len(waiting); n > 0 {
		d.Tally += fmt.Sprintf("; %d more wait for steps that were not executed", n)
		d.Waiting = strings.Join(waiting, ", ")
	}
	if n := len(m.LeftOut); n > 0 {
		d.Tally += fmt.Sprintf("; %d more not tested by %s", n, profileWords(m.Run.Profile))
	}
	d.Broke = modesInShort(m)
	for i, v := range m.Verdicts {
		if len(m.Extent.lacks(v)) > 0 {
			continue
		}
		d.Verdicts = append(d.Verdicts, verdictLine{
			ID: clean(v.Hypothesis.ID), Anchor: verdictAnchor(i), Claim: prose(v.Hypothesis.Claim),
			Outcome: v.Outcome, Level: v.Level, Numbers: prose(v.Numbers),
		})
	}
	for i, s := range sixteen {
		n := i + 1
		var blocks []block
		if n == resultsSection {
			blocks = resultBlocks(m, figures[n], lead)
		} else {
			blocks = append(s.blocks(m), figureBlocks(figures[n], lead)...)
		}
		if len(blocks) == 0 {
			blocks = []block{para(muted(s.empty))}
		}
		d.Sections = append(d.Sections, section{Number: n, Title: s.title, Blocks: blocks})
	}
	return d, nil
}

// decided are the verdicts of hypotheses that do not wait for steps.
func decided(m *Model) []verdict.Verdict {
	var all []verdict.Verdict
	for _, v := range m.Verdicts {
		if len(m.Extent.lacks(v)) == 0 {
			all = append(all, v)
		}
	}
	return all
}

// verdictAnchor is the name of the i-th verdict's paragraph in section 10.
func verdictAnchor(i int) string { return fmt.Sprintf("verdict-%d", i+1) }

// tally counts the outcomes in one line, the best first.
func tally(verdicts []verdict.Verdict) string {
	counts := map[verdict.Outcome]int{}
	for _, v := range verdicts {
		counts[v.Outcome]++
	}
	var parts []string
	for _, o := range []verdict.Outcome{verdict.Supported, verdict.PartiallySupported, verdict.NotSupported, verdict.Inconclusive} {
		if counts[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[o], o))
		}
	}
	noun := "hypotheses"
	if len(verdicts) == 1 {
		noun = "hypothesis"
	}
	if len(parts) == 0 {
		return "0 hypotheses decided"
	}
	return fmt.Sprintf("%d %s: %s", len(verdicts), noun, strings.Join(parts, ", "))
}

func profileWords(name string) string {
	if name == "" {
		return "no profile"
	}
	return "profile " + clean(name)
}

func runLine(r Run) []span {
	parts := []string{
		"Run " + clean(r.ID),
		r.Started.UTC().Format("2006-01-02 15:04 UTC"),
		"took " + formatDuration(r.Duration),
		profileWords(r.Profile),
		fmt.Sprintf("seed %d", r.Seed),
		"host " + hostWords(r),
		"brink " + clean(r.Brink),
	}
	if r.Status != "done" {
		parts = append(parts, statusWords(r.Status))
	}
	return words(strings.Join(parts, " · "))
}

func hostWords(r Run) string {
	s := clean(r.Host)
	if r.Accelerator != "" && r.Accelerator != "none" {
		s += " (" + clean(r.Accelerator) + ")"
	}
	return s
}

func statusWords(status string) string {
	switch status {
	case "running":
		return "cut off before its end"
	case "done", "interrupted", "broken", "invalid", "failed":
		return status
	}
	return visible(status)
}
