package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits of an expansion.
const (
	maxSteps     = 1000
	maxExpansion = 500_000
	maxLevelText = 256
	maxText      = 16 << 10
	maxApps      = 64
)

// factor is one factor of an authored step with its levels in order.
type factor struct {
	name   string
	node   *node
	levels []level
	// matrix marks a factor that was written as a list.
	matrix bool
}

// level is one value of a factor before the profile's scale.
type level struct {
	node *node
	// span is the level as a duration, where timed says that it is one.
	span  Duration
	timed bool
}

// resolved returns the level as a step keeps it.
func (l level) resolved(scale float64) Level {
	out := Level{Text: l.node.text}
	switch x := l.node.value.(type) {
	case int64:
		out.Number, out.Numeric = float64(x), true
	case float64:
		out.Number, out.Numeric = x, true
	case string:
		if l.timed {
			out.Number, out.Numeric, out.Unit = l.span.times(scale).Seconds(), true, "s"
		}
	}
	return out
}

// factors reads the factors of an authored step, in the order of the file.
func (d decoder) factors(n *node) []factor {
	if n == nil {
		return nil
	}
	if n.kind != mapping {
		d.at(n, "is %s; write factors as names with their levels", n.describe())
		return nil
	}
	var all []factor
	for _, e := range n.entries {
		f := factor{name: e.key, node: e.value, matrix: e.value.kind == sequence}
		if !factorPattern.match(e.key) {
			p := n.keyProblem(e, quote(e.key)+" cannot name a factor")
			p.Allowed = factorPattern.allowed
			d.add(p)
			continue
		}
		if slices.Contains(reserved, e.key) {
			d.add(n.keyProblem(e, quote(e.key)+" is a word of formulas and cannot name a factor"))
			continue
		}
		if f.matrix && len(e.value.items) == 0 {
			d.at(e.value, "is an empty list; a factor has at least one level")
			continue
		}
		for _, item := range e.value.elements() {
			f.levels = append(f.levels, d.level(item))
		}
		all = append(all, f)
	}
	return all
}

func (d decoder) level(n *node) level {
	l := level{node: n}
	switch {
	case n.kind != scalar || n.value == nil:
		d.at(n, "is %s; a level is a number, a duration, a word or true or false", n.describe())
	case len(n.text) > maxLevelText:
		d.at(n, "a level has %d bytes; at most %d are allowed", len(n.text), maxLevelText)
	case hasReference(n.text):
		d.at(n, "%s refers to a factor; a level is a plain value", n.describe())
	}
	if text, ok := n.value.(string); ok {
		if span, err := time.ParseDuration(text); err == nil {
			l.span, l.timed = Duration(span), true
			d.inside(n, field{max: day, above: true}, l.span.times(d.scale).Seconds(), true)
		}
	}
	return l
}

// combinations yields the matrix of the factors' levels, the first factor
// changing slowest.
func combinations(factors []factor) []map[string]level {
	all := []map[string]level{{}}
	for _, f := range factors {
		next := make([]map[string]level, 0, len(all)*len(f.levels))
		for _, c := range all {
			for _, l := range f.levels {
				m := maps.Clone(c)
				m[f.name] = l
				next = append(next, m)
			}
		}
		all = next
	}
	return all
}

// count is the number of combinations, without making them.
func count(factors []factor) int {
	total := 1
	for _, f := range factors {
		if total *= len(f.levels); total > maxSteps {
			return maxSteps + 1
		}
	}
	return total
}

// reference is ${name}; $${ stands for ${ itself.
var reference = expression(`\$?\$\{([^{}]*)\}`)

func hasReference(text string) bool { return strings.Contains(text, "${") }

// binding resolves the references of one concrete step.
type binding struct {
	*problems
	levels map[string]level
	scale  float64
	// used collects the factors that something refers to.
	used map[string]bool
	// written makes levels appear as the file writes them, for names, which must
	// not change with the profile.
	written bool
}

// resolve returns the tree with its references replaced. What holds none is
// shared with the original.
func (b binding) resolve(n *node) *node {
	switch {
	case n == nil:
		return nil
	case n.kind == scalar:
		if text, ok := n.value.(string); ok && hasReference(text) {
			return b.scalar(n, text)
		}
		return n
	}
	c := *n
	c.entries, c.items = slices.Clone(n.entries), slices.Clone(n.items)
	changed := false
	for i, e := range c.entries {
		c.entries[i].value = b.resolve(e.value)
		changed = changed || c.entries[i].value != e.value
	}
	for i, item := range c.items {
		c.items[i] = b.resolve(item)
		changed = changed || c.items[i] != item
	}
	if !changed {
		return n
	}
	return &c
}

// scalar replaces the references in one text. A text that is nothing but a
// reference takes the level's own type; within a longer text a duration is
// written as its number of seconds.
func (b binding) scalar(n *node, text string) *node {
	c := *n
	c.substituted = true
	if m := reference().FindStringSubmatch(text); m != nil && m[0] == text && !strings.HasPrefix(text, "$$") {
		l, ok := b.level(n, m[1])
		if !ok {
			return n
		}
		c.value, c.text, c.timed = l.node.value, l.node.text, l.timed
		if l.timed && !b.written {
			c.text = l.span.times(b.scale).String()
			c.value = c.text
		}
		return &c
	}
	ok := true
	c.text = reference().ReplaceAllStringFunc(text, func(ref string) string {
		if strings.HasPrefix(ref, "$$") {
			return ref[1:]
		}
		l, found := b.level(n, ref[2:len(ref)-1])
		if !found {
			ok = false
			return ref
		}
		c.timed = c.timed || l.timed
		if l.timed && !b.written {
			return strconv.FormatFloat(l.span.times(b.scale).Seconds(), 'f', -1, 64)
		}
		return l.node.text
	})
	if !ok {
		return n
	}
	if len(c.text) > maxText {
		b.at(n, "grows beyond %d bytes when its factors are filled in", maxText)
		return n
	}
	c.value = c.text
	return &c
}

func (b binding) level(n *node, name string) (level, bool) {
	l, ok := b.levels[name]
	if ok {
		b.used[name] = true
		return l, true
	}
	b.word(n, fmt.Sprintf("%s refers to a factor that the step does not have", quote("${"+name+"}")), name, slices.Collect(maps.Keys(b.levels)))
	return level{}, false
}
