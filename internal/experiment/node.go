package experiment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// kind is the shape of a node.
type kind uint8

const (
	scalar kind = iota
	mapping
	sequence
)

// node is one value of an experiment file with the place where it stands. The
// tree is what overrides, inheritance and references work on, before anything
// is decoded.
type node struct {
	kind         kind
	line, column int
	// override is the argument that brought the value in, or empty.
	override string
	// path is the field's path in the file, such as steps[2].traffic.kind.
	path string

	// value is a scalar's: nil, bool, int64, float64 or string; text is how it is
	// written, without quotes.
	value any
	text  string
	// substituted marks a scalar that came from a reference, timed one into
	// which a duration factor went, so that it is scaled already.
	substituted, timed bool

	entries []entry
	items   []*node
}

// entry is one key of a mapping.
type entry struct {
	key          string
	line, column int
	value        *node
}

func (n *node) problem(message string) FileError {
	return FileError{Line: n.line, Column: n.column, Override: n.override, Field: n.path, Message: message}
}

func (n *node) fieldProblem(field, message string) FileError {
	if v := n.get(field); v != nil {
		return v.problem(message)
	}
	e := n.problem(message)
	e.Field = join(n.path, field)
	return e
}

// keyProblem is a problem with the key of an entry and not with its value.
func (n *node) keyProblem(e entry, message string) FileError {
	return FileError{Line: e.line, Column: e.column, Override: e.value.override, Field: join(n.path, e.key), Message: message}
}

func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// get returns the value of a key, or nil.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for _, e := range n.entries {
		if e.key == key {
			return e.value
		}
	}
	return nil
}

// set replaces or appends a key, keeping the key's place.
func (n *node) set(key string, value *node) {
	for i := range n.entries {
		if n.entries[i].key == key {
			n.entries[i].value = value
			return
		}
	}
	n.entries = append(n.entries, entry{key: key, line: value.line, column: value.column, value: value})
}

func (n *node) remove(key string) {
	n.entries = slices.DeleteFunc(n.entries, func(e entry) bool { return e.key == key })
}

// elements returns a sequence's items; any other value stands for a list of
// itself.
func (n *node) elements() []*node {
	switch {
	case n == nil:
		return nil
	case n.kind == sequence:
		return n.items
	}
	return []*node{n}
}

// merged is base with the fields of over put over it. It stands where over
// stands; fields keep their own places.
func merged(base, over *node) *node {
	if base == nil || base.kind != mapping {
		return over
	}
	if over == nil {
		return base
	}
	m := *over
	m.entries = slices.Clone(base.entries)
	for _, e := range over.entries {
		m.set(e.key, e.value)
	}
	return &m
}

// size counts the nodes of a tree.
func (n *node) size() int {
	total := 1
	for _, e := range n.entries {
		total += e.value.size()
	}
	for _, i := range n.items {
		total += i.size()
	}
	return total
}

// place gives the tree below n the paths that start at path.
func (n *node) place(path string) {
	n.path = path
	for _, e := range n.entries {
		e.value.place(join(path, e.key))
	}
	for i, item := range n.items {
		item.place(index(path, i))
	}
}

// brought marks the tree below n as coming from an argument.
func (n *node) brought(by string) {
	n.override = by
	for _, e := range n.entries {
		e.value.brought(by)
	}
	for _, item := range n.items {
		item.brought(by)
	}
}

// describe says what a node is, for a sentence about what it should be.
func (n *node) describe() string {
	switch n.kind {
	case mapping:
		return "a mapping"
	case sequence:
		return "a list"
	}
	switch n.value.(type) {
	case nil:
		return "empty"
	case string:
		return quote(n.text)
	}
	return n.text
}

// quote quotes text for a sentence, cut so that the sentence stays readable.
func quote(text string) string {
	const most = 80
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", strings.TrimSpace(text))
}

// plain turns the tree into values that a YAML writer takes, keys in order.
func (n *node) plain() any {
	switch n.kind {
	case mapping:
		return mapSlice(n)
	case sequence:
		items := make([]any, len(n.items))
		for i, item := range n.items {
			items[i] = item.plain()
		}
		return items
	}
	return n.value
}
