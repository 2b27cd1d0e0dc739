package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"brink/internal/verdict"
)

// look is how an outcome appears on a terminal.
type look struct {
	symbol string
	style  style
}

var looks = map[verdict.Outcome]look{
	verdict.Supported:          {"✓", green},
	verdict.PartiallySupported: {"~", yellow},
	verdict.NotSupported:       {"✗", red},
	verdict.Inconclusive:       {"?", yellow},
}

// outcomes in the order in which they are counted.
var outcomes = []verdict.Outcome{
	verdict.Supported, verdict.PartiallySupported, verdict.NotSupported, verdict.Inconclusive,
}

// printVerdicts is the last word of a run: what a reader must know first, each
// verdict with its deciding numbers, and where the report is.
func (a *app) printVerdicts(s *study) error {
	path := filepath.Join(s.out, "report.html")
	if a.json {
		return a.printJSON(map[string]any{
			"directory": s.dir, "report": path, "status": s.model.Run.Status,
			"notices": s.model.Notices, "verdicts": s.verdicts,
		})
	}
	p := newPage(a.stdout)
	for _, n := range s.model.Notices {
		text := indent(harmless(n.Text), "NOTE ", p.width)
		fmt.Fprint(p, p.styled(yellow, "NOTE"), strings.TrimPrefix(text, "NOTE"))
	}
	if len(s.model.Notices) > 0 {
		fmt.Fprintln(p)
	}
	if err := p.verdicts(s.verdicts); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p, "%s\n\nReport: %s\n", tally(s.verdicts), path)
	return err
}

func (p page) verdicts(all []verdict.Verdict) error {
	width := 0
	for _, v := range all {
		width = max(width, utf8.RuneCountInString(v.Hypothesis.ID))
	}
	for _, v := range all {
		l := looks[v.Outcome]
		fmt.Fprintf(p, "%s %s  %s  %s\n", p.styled(l.style, l.symbol), p.styled(bold, pad(v.Hypothesis.ID, width)),
			p.styled(l.style, pad(string(v.Outcome), len(verdict.PartiallySupported))), p.styled(faint, string(v.Level)))
		if err := p.paragraph("  ", v.Hypothesis.Claim); err != nil {
			return err
		}
		numbers := v.Numbers
		if numbers == "" {
			numbers = v.Sentence
		}
		if err := p.paragraph("  → ", numbers); err != nil {
			return err
		}
		fmt.Fprintln(p)
	}
	return nil
}

// tally counts the outcomes in one line.
func tally(all []verdict.Verdict) string {
	counts := map[verdict.Outcome]int{}
	for _, v := range all {
		counts[v.Outcome]++
	}
	var parts []string
	for _, o := range outcomes {
		if counts[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[o], o))
		}
	}
	if len(all) == 0 {
		return "no hypotheses: the report describes and judges nothing"
	}
	return count(len(all), "hypothesis", "hypotheses") + ": " + strings.Join(parts, ", ")
}

// unsettled counts what --strict does not accept.
func unsettled(verdicts []verdict.Verdict) int {
	n := 0
	for _, v := range verdicts {
		if v.Outcome == verdict.NotSupported || v.Outcome == verdict.Inconclusive {
			n++
		}
	}
	return n
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
