package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"brink/internal/phrase"
)

const (
	// oneByOne is how many findings of one mode and cause are told one by one. With
	// more of them they are told together: by the worst, and how many there are.
	oneByOne = 4
	// mostNamed is how many of those that are told together are named.
	mostNamed = 4
	// mostNameWidth is how many letters of a name a list of names shows.
	mostNameWidth = 48
)

// group is what is told together: findings of one mode that follow from the same,
// or that have the same likely cause. The worst is the first. Most groups have one.
type group []*Finding

// groups puts findings together, each group where its first finding stands. What
// follows from a cause is one line beside it, however few there are.
func groups(findings []Finding) []group {
	type kind struct {
		mode, by Mode
		cause    string
	}
	kindOf := func(f *Finding) kind {
		if f.CausedBy != "" {
			return kind{mode: f.Mode, by: f.CausedBy}
		}
		return kind{mode: f.Mode, cause: withoutNumbers(f.Cause)}
	}
	sizes := map[kind]int{}
	for i := range findings {
		sizes[kindOf(&findings[i])]++
	}
	var all []group
	place := map[kind]int{}
	for i := range findings {
		f := &findings[i]
		k := kindOf(f)
		at, begun := place[k]
		switch {
		case begun:
			all[at] = append(all[at], f)
		case sizes[k] > oneByOne || f.CausedBy != "":
			place[k] = len(all)
			fallthrough
		default:
			all = append(all, group{f})
		}
	}
	for _, g := range all {
		slices.SortStableFunc(g, worse)
	}
	return all
}

// withoutNumbers is a text in which figures, addresses and ports are alike.
func withoutNumbers(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("0123456789.,:", r) {
			return -1
		}
		return r
	}, text)
}

// levels are in the order of how far they carry.
var levels = []Level{Observed, StronglySuggested, Inferred, Correlated}

// worse orders findings of one mode: the surest first, then those with the larger
// number that says how bad it is.
func worse(a, b *Finding) int {
	return cmp.Or(cmp.Compare(slices.Index(levels, a.Level), slices.Index(levels, b.Level)), cmp.Compare(b.gravity(), a.gravity()))
}

// gravities are the numbers that tell how bad a finding of a mode is, by name.
var gravities = map[Mode][]string{
	CPUThrottling:     {"throttled share"},
	OOMKill:           {"OOM kills", "memory.events oom_kill"},
	BootTimeoutLoop:   {"workers given up while booting", "workers replaced"},
	FailedStart:       {"exits", "load failures", "refused checks"},
	SlowStart:         {"start time"},
	CrashLoop:         {"ends", "restarts"},
	WorkerExhaustion:  {"queued", "busy"},
	AcceptQueueFilled: {"accept queue"},
	WorkerTimeout:     {"worker time-outs"},
	EventLoopBlocked:  {"stalls", "accept queue"},
}

func (f *Finding) gravity() float64 {
	for _, name := range gravities[f.Mode] {
		for i := range f.Numbers {
			if f.Numbers[i].Name == name {
				return f.Numbers[i].Value
			}
		}
	}
	return 0
}

// title is the mode, and of whom: several apps can have the same.
func (g group) title() string {
	f := g[0]
	if len(g) == 1 {
		return f.title()
	}
	var names []string
	named := 0
	for _, f := range g {
		name := shortName(f.Subject)
		switch {
		case name == "":
		case slices.Contains(names, name):
			named++
		case len(names) < mostNamed:
			names = append(names, name)
			named++
		}
	}
	if len(names) == 0 {
		return fmt.Sprintf("%s, %s times", f.Mode, phrase.Count(int64(len(g))))
	}
	return string(f.Mode) + " of " + strings.Join(names, ", ") + andMore(len(g)-named)
}

// colon stands between the title and the sentence, which may have one of its own.
func (g group) colon() string {
	if len(g) == 1 {
		return ": "
	}
	return "; "
}

// andMore is the end of a list from which so many were left out.
func andMore(n int) string {
	if n <= 0 {
		return ""
	}
	return " and " + phrase.Count(int64(n)) + " more"
}

// worst is the sentence of the worst, by name where it is not alone.
func (g group) worst() string {
	if len(g) == 1 {
		return g[0].What
	}
	return g[0].named()
}

// inShort is the first sentence of the worst where there are others.
func (g group) inShort() string {
	text := g.worst()
	if len(g) == 1 {
		return text
	}
	for i := range text {
		if rest, ok := strings.CutPrefix(text[i:], ". "); ok && rest != "" && unicode.IsUpper(rune(rest[0])) {
			return text[:i+1]
		}
	}
	return text
}

// named is the sentence of a finding with the name of what it is about.
func (f *Finding) named() string {
	if f.Subject == "" || strings.Contains(f.What, f.Subject) {
		return f.What
	}
	return f.Subject + ": " + f.What
}

// when is since when the worst was seen, and the first of all.
func (g group) when() string {
	first := g[0].Since
	for _, f := range g {
		if first != nil && f.Since != nil && f.Since.Before(*first) {
			first = f.Since
		}
	}
	if first == nil || first == g[0].Since {
		return g[0].Span
	}
	return g[0].Span + "; the first of all since " + first.UTC().Format("2006-01-02 15:04:05")
}

// shortName keeps the end of a long name, where those of cgroups and pods differ.
func shortName(name string) string {
	letters := []rune(name)
	if len(letters) <= mostNameWidth {
		return name
	}
	tail := letters[len(letters)-mostNameWidth+1:]
	if i := slices.Index(tail, '/'); i >= 0 && i < len(tail)-1 {
		tail = tail[i:]
	}
	return "…" + string(tail)
}

// countModes says what modes groups have, each once, and how many findings where there
// are several.
func countModes(all []group) string {
	sizes := map[Mode]int{}
	var modes []Mode
	for _, g := range all {
		if sizes[g[0].Mode] == 0 {
			modes = append(modes, g[0].Mode)
		}
		sizes[g[0].Mode] += len(g)
	}
	var parts []string
	for _, m := range modes {
		text := string(m)
		if n := sizes[m]; n > 1 {
			text += " (" + phrase.Count(int64(n)) + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
