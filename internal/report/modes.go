package report

import (
	"fmt"
	"strings"
)

// modeBlocks says in which ways plans broke, where, and by what that is told.
func modeBlocks(m *Model) []block {
	if len(m.Modes) == 0 {
		return nil
	}
	g := &grid{Caption: "Ways in which the plan broke", Columns: columns("Mode", "In", "#n", "What was seen")}
	var absent []span
	var rules [][]span
	for _, x := range m.Modes {
		rules = append(rules, []span{strong(capital(clean(x.Kind))), text(": " + clean(x.Found) + ".")})
		if len(x.Seen) == 0 {
			if len(absent) > 0 {
				absent = append(absent, text(", "))
			}
			absent = append(absent, text(clean(x.Kind)))
			continue
		}
		kind := cell{strong(capital(clean(x.Kind)))}
		for _, s := range x.Seen {
			g.Rows = append(g.Rows, []cell{kind, codes(s.Steps), words(fmt.Sprint(s.N)), prose(s.Says)})
			kind = words("")
		}
	}
	blocks := []block{heading("How the plan broke"), para(text(
		"Found in the record alone: in what was deployed and what was measured, whatever the steps are called and whatever was expected. A sighting is an observation and no test; n is how many repetitions each of its steps has at least."))}
	if len(g.Rows) > 0 {
		blocks = append(blocks, gridBlock(g))
	}
	if len(absent) > 0 {
		blocks = append(blocks, para(append([]span{text("Not seen in the steps that were executed: ")}, append(absent, text("."))...)...))
	}
	return append(blocks, folded("How each of them is told", block{List: rules}))
}

// modesInShort names the ways in which plans broke, for the first screen; empty
// where none was seen.
func modesInShort(m *Model) string {
	var seen []string
	for _, x := range m.Modes {
		var places []string
		for _, s := range x.Seen {
			first, last := s.Steps[0], s.Steps[len(s.Steps)-1]
			place := last
			if first != last {
				place = first + " to " + last
			}
			places = append(places, place)
		}
		if len(places) > 0 {
			seen = append(seen, fmt.Sprintf("%s (%s)", clean(x.Kind), clean(some(places))))
		}
	}
	return strings.Join(seen, ", ")
}
