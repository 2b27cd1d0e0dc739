package experiment

import (
	"fmt"
	"strconv"
	"strings"
)

// override applies the options to the tree, so that they are checked as if
// they stood in the file.
func override(p *problems, src *source, opts Options) {
	for _, arg := range opts.Set {
		src.overridden = true
		apply(p, src.root, "--set "+arg, arg)
	}
	if opts.Repetitions != 0 {
		src.overridden = true
		n := strconv.Itoa(opts.Repetitions)
		apply(p, src.root, "--repetitions "+n, "repetitions="+n)
	}
}

// apply sets one "path=value". The experiment's own number of repetitions, set
// this way, holds for every profile.
func apply(p *problems, root *node, argument, assignment string) {
	fail := func(column int, message string) {
		p.add(FileError{Line: 1, Column: column, Override: argument, Message: message})
	}
	target, text, ok := strings.Cut(assignment, "=")
	if !ok || target == "" {
		fail(1, "is no path=value, such as apps[0].workers=2")
		return
	}
	column := len([]rune(target)) + 2
	side := &problems{file: p.file}
	value := parseYAML(side, []byte(text))
	if value == nil || len(side.list) > 0 || strings.TrimSpace(text) == "" {
		fail(column, fmt.Sprintf("%s is no value that a field can have", quote(text)))
		return
	}
	value.shift(column - 1)
	value.brought(argument)
	segments, err := splitPath(target)
	if err != nil {
		fail(1, err.Error())
		return
	}
	if e := assign(root, segments, value); e != nil {
		e.Line, e.Column, e.Override, e.Field = 1, 1, argument, ""
		p.add(*e)
		return
	}
	if target == "repetitions" {
		for _, profile := range entriesOf(root.get("profiles")) {
			profile.value.remove("repetitions")
		}
	}
}

// shift moves a tree to where it stands in its argument.
func (n *node) shift(columns int) {
	n.column += columns
	for i, e := range n.entries {
		n.entries[i].column += columns
		e.value.shift(columns)
	}
	for _, item := range n.items {
		item.shift(columns)
	}
}

// segment is one part of a path: a key, or a place in a list when key is
// empty.
type segment struct {
	key string
	at  int
}

func splitPath(target string) ([]segment, error) {
	var all []segment
	for part := range strings.SplitSeq(target, ".") {
		key, rest, _ := strings.Cut(part, "[")
		if key == "" {
			return nil, fmt.Errorf("%s is no path; write it like apps[0].workers or apps.api.workers", quote(target))
		}
		all = append(all, segment{key: key})
		for rest != "" {
			inside, more, closed := strings.Cut(rest, "]")
			i, err := strconv.Atoi(inside)
			if err != nil || i < 0 || !closed || more != "" && more[0] != '[' {
				return nil, fmt.Errorf("%s is no path; write it like apps[0].workers or apps.api.workers", quote(target))
			}
			all = append(all, segment{at: i})
			rest = strings.TrimPrefix(more, "[")
		}
	}
	if len(all) > maxDepth {
		return nil, fmt.Errorf("%s is too deep for an experiment", quote(target))
	}
	return all, nil
}

// assign puts value at the path, making mappings on the way where nothing
// stands yet.
func assign(n *node, segments []segment, value *node) *FileError {
	s, rest := segments[0], segments[1:]
	switch {
	case s.key == "" && n.kind == mapping && s.at == 0:
		// A single mapping stands for a list of itself.
		if len(rest) > 0 {
			return assign(n, rest, value)
		}
		return &FileError{Message: quote(n.path) + " is not a list"}
	case s.key == "" && n.kind == sequence:
		if s.at >= len(n.items) {
			return &FileError{Message: fmt.Sprintf("%s has %d items, so [%d] is none of them", n.path, len(n.items), s.at)}
		}
		return replace(&n.items[s.at], index(n.path, s.at), rest, value)
	case s.key != "" && n.kind == sequence:
		return assignNamed(n, s.key, rest, value)
	case s.key != "" && n.kind == mapping:
		child := n.get(s.key)
		if child == nil || child.kind == scalar && child.value == nil && len(rest) > 0 {
			child = &node{kind: mapping, line: 1, column: 1, override: value.override, path: join(n.path, s.key)}
		}
		if err := replace(&child, join(n.path, s.key), rest, value); err != nil {
			return err
		}
		n.set(s.key, child)
		return nil
	}
	return &FileError{Message: fmt.Sprintf("%s is %s, so the path ends there", n.path, n.describe())}
}

// replace puts value in the place of *n, or below it.
func replace(n **node, path string, rest []segment, value *node) *FileError {
	if len(rest) > 0 {
		return assign(*n, rest, value)
	}
	value.place(path)
	*n = value
	return nil
}

// assignNamed finds the item of a list by its name or id.
func assignNamed(n *node, key string, rest []segment, value *node) *FileError {
	var known []string
	for i, item := range n.items {
		for _, field := range []string{"name", "id"} {
			name := item.get(field)
			if name == nil || name.kind != scalar {
				continue
			}
			if name.text == key {
				return replace(&n.items[i], index(n.path, i), rest, value)
			}
			known = append(known, name.text)
		}
	}
	return &FileError{
		Message:    fmt.Sprintf("%s has no item named %s", n.path, quote(key)),
		Suggestion: nearest(key, known), Allowed: list(known),
	}
}
