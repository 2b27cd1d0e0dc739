package audit

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits of a file. The parser is recursive, so depth is bounded before it.
const (
	MaxBytes  = 256 << 10
	maxTokens = 50_000
	maxDepth  = 16
)

// Error is a mistake in a reference file, at the line where it stands.
type Error struct {
	File string
	// Line counts from 1.
	Line int
	// Field is the path of the field, empty for the file as a whole.
	Field   string
	Message string
}

// Error returns place, field and sentence in one line.
func (e *Error) Error() string {
	field := ""
	if e.Field != "" {
		field = e.Field + ": "
	}
	return fmt.Sprintf("%s:%d: %s%s", e.File, e.Line, field, e.Message)
}

// Parse reads a reference file and computes its claims. The name of the file
// is for messages. An error is an *Error: unknown and missing fields, values
// that are none, names of figures that do not exist, formulas that cannot be
// computed.
func Parse(name string, data []byte) (*Reference, error) {
	tree, err := parseTree(data)
	if err != nil {
		return nil, &Error{File: name, Line: err.line, Message: err.message}
	}
	var d document
	if err := decode(tree, &d); err != nil {
		return nil, &Error{File: name, Line: err.line, Message: err.message}
	}
	r, bad := d.reference()
	if bad == nil {
		return r, nil
	}
	var fe *fieldError
	if !errors.As(bad, &fe) {
		return nil, &Error{File: name, Line: 1, Message: bad.Error()}
	}
	return nil, &Error{File: name, Line: lineOf(tree, fe.field), Field: fe.field, Message: fe.message}
}

// textError is a mistake in the text, before there are fields.
type textError struct {
	line    int
	message string
}

func (e *textError) Error() string { return e.message }

func parseTree(data []byte) (body ast.Node, bad *textError) {
	switch {
	case len(data) > MaxBytes:
		return nil, &textError{1, fmt.Sprintf("the file has %d bytes; at most %d are read", len(data), MaxBytes)}
	case !utf8.Valid(data):
		return nil, &textError{1, "the file is not UTF-8"}
	}
	// Whatever text does to the parser is a problem of the text.
	defer func() {
		if r := recover(); r != nil {
			body, bad = nil, &textError{1, fmt.Sprintf("not YAML: the parser cannot read it (%v)", r)}
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if bad := unwanted(tokens); bad != nil {
		return nil, bad
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, fromYAML(err)
	}
	for _, d := range file.Docs {
		if d.Body == nil {
			continue
		}
		if body != nil {
			return nil, &textError{lineOfNode(d.Body), "the file has a second document; write one reference per file"}
		}
		body = d.Body
	}
	if body == nil {
		return nil, &textError{1, "the file is empty"}
	}
	return body, nil
}

// unwanted finds what a reference file has no use for: depth, anchors and
// aliases, tags.
func unwanted(tokens token.Tokens) *textError {
	flow, indicators, line := 0, 0, 0
	for i, t := range tokens {
		if t.Position.Line != line {
			line, indicators = t.Position.Line, 0
		}
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType, token.TagType:
			return &textError{line, "anchors, aliases, merge keys and tags are not read; write the value out"}
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow = max(flow-1, 0)
		case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType:
			indicators++
		}
		if i >= maxTokens || flow > maxDepth || flow == 0 && indicators > maxDepth || t.Position.IndentNum > 16*maxDepth {
			return &textError{line, "the file is nested too deeply or has too many values for a reference"}
		}
	}
	return nil
}

func decode(tree ast.Node, d *document) (bad *textError) {
	defer func() {
		if r := recover(); r != nil {
			bad = &textError{1, fmt.Sprintf("the file cannot be read as a reference (%v)", r)}
		}
	}()
	if err := yaml.NodeToValue(tree, d, yaml.Strict()); err != nil {
		return fromYAML(err)
	}
	return nil
}

// fromYAML keeps line and sentence of the decoder's error and drops its
// drawing of the source.
func fromYAML(err error) *textError {
	var ours *textError
	if errors.As(err, &ours) {
		return ours
	}
	var y yaml.Error
	if !errors.As(err, &y) {
		return &textError{1, err.Error()}
	}
	e := &textError{1, strings.TrimSuffix(y.GetMessage(), ".")}
	t := y.GetToken()
	if t != nil && t.Position != nil {
		e.line = max(t.Position.Line, 1)
	}
	var wrongType *yaml.TypeError
	if errors.As(err, &wrongType) && t != nil {
		e.message = fmt.Sprintf("%q stands where %s is wanted", t.Value, wanted(wrongType.DstType))
	}
	return e
}

// wanted is a type in the words of a file.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Float64:
		return "a number"
	case reflect.Int:
		return "a whole number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "a mapping"
	case reflect.Pointer:
		return wanted(t.Elem())
	}
	return "text"
}

var index = expression(`^([^\[]*)\[(\d+)\]$`)

// lineOf finds the line of a field such as claims[2].check.ratio.to, or of the
// nearest field above it that is there.
func lineOf(n ast.Node, field string) int {
	line := lineOfNode(n)
	for part := range strings.SplitSeq(field, ".") {
		name, item := part, -1
		if m := index().FindStringSubmatch(part); m != nil {
			name = m[1]
			fmt.Sscan(m[2], &item)
		}
		if n = child(n, name); n == nil {
			return line
		}
		line = lineOfNode(n)
		if s, ok := n.(*ast.SequenceNode); ok && item >= 0 && item < len(s.Values) {
			n = s.Values[item]
			line = lineOfNode(n)
		}
	}
	return line
}

func child(n ast.Node, name string) ast.Node {
	m, ok := n.(ast.MapNode)
	if !ok {
		return nil
	}
	for it := m.MapRange(); it.Next(); {
		if it.Key().String() == name {
			return it.Value()
		}
	}
	return nil
}

func lineOfNode(n ast.Node) int {
	if m, ok := n.(ast.MapNode); ok {
		if it := m.MapRange(); it.Next() {
			return lineOfNode(it.Key())
		}
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return max(t.Position.Line, 1)
	}
	return 1
}
