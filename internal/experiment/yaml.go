package experiment

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits of a file, far above what an experiment needs and far below what
// could exhaust a machine.
const (
	MaxBytes  = 1 << 20
	maxTokens = 50_000
	maxDepth  = 32
)

// parseYAML reads one document. What it cannot read it adds to p and returns
// nil.
func parseYAML(p *problems, data []byte) *node {
	start := &node{line: 1, column: 1}
	switch {
	case len(data) > MaxBytes:
		p.at(start, "the file has %d bytes; at most %d are read", len(data), MaxBytes)
		return nil
	case !utf8.Valid(data):
		line, column := position(data, invalid(data))
		p.at(&node{line: line, column: column}, "the file is not UTF-8 text")
		return nil
	case bytes.IndexByte(data, 0) >= 0:
		line, column := position(data, bytes.IndexByte(data, 0))
		p.at(&node{line: line, column: column}, "the file holds a zero byte, so it is no YAML")
		return nil
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	tokens := lexer.Tokenize(text)
	if n := excess(tokens); n != nil {
		p.add(n.problem("the file is nested too deeply or has too many values for an experiment"))
		return nil
	}
	file, err := parseTokens(tokens)
	if err != nil {
		p.add(syntaxProblem(err))
		return nil
	}
	return convert(p, file)
}

func convert(p *problems, file *ast.File) *node {
	var docs []*ast.DocumentNode
	for _, d := range file.Docs {
		if d.Body != nil {
			docs = append(docs, d)
		}
	}
	if len(docs) == 0 {
		p.at(&node{line: 1, column: 1}, "the file is empty; \"brink new NAME\" writes one to start from")
		return nil
	}
	if len(docs) > 1 {
		at := docs[1].Body.GetToken().Position
		p.at(&node{line: at.Line, column: at.Column}, "the file has a second document; write one experiment per file")
		return nil
	}
	c := converter{problems: p}
	return c.node(docs[0].Body, "", 0)
}

// parseTokens guards the parser: whatever text does to it is a problem of the
// text.
func parseTokens(tokens token.Tokens) (file *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the parser cannot read it (%v)", r)
		}
	}()
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

func syntaxProblem(err error) FileError {
	e := FileError{Line: 1, Column: 1, Message: "not YAML: " + err.Error()}
	var syntax *yaml.SyntaxError
	if errors.As(err, &syntax) {
		e.Message = "not YAML: " + strings.TrimSuffix(syntax.Message, ".")
		if strings.ContainsRune(syntax.Message, '\t') {
			e.Message = "not YAML: a tab cannot indent; use spaces"
		}
		if t := syntax.Token; t != nil && t.Position != nil {
			e.Line, e.Column = max(t.Position.Line, 1), max(t.Position.Column, 1)
		}
	}
	return e
}

// excess finds the token at which a file exceeds the limits. Depth is bounded
// here because the parser is recursive.
func excess(tokens token.Tokens) *node {
	flow, dashes, line := 0, 0, 0
	for i, t := range tokens {
		if t.Position.Line != line {
			line, dashes = t.Position.Line, 0
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow = max(flow-1, 0)
		case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType:
			dashes++
		}
		// Block nesting on one line is bounded by its indicators, over several
		// lines by the indent.
		if i >= maxTokens || flow > maxDepth || flow == 0 && dashes > maxDepth || t.Position.IndentNum > 16*maxDepth {
			return &node{line: t.Position.Line, column: t.Position.Column}
		}
	}
	return nil
}

// converter turns the parser's tree into ours, and refuses what an experiment
// has no use for: anchors, aliases, merge keys and tags.
type converter struct{ *problems }

func (c converter) node(a ast.Node, path string, depth int) *node {
	n := &node{line: 1, column: 1, path: path}
	if t := a.GetToken(); t != nil {
		n.line, n.column = t.Position.Line, t.Position.Column
	}
	if depth > maxDepth {
		c.at(n, "the file is nested too deeply for an experiment")
		return n
	}
	switch a := a.(type) {
	case *ast.MappingNode:
		n.kind = mapping
		c.mapping(n, a.Values, depth)
	case *ast.MappingValueNode:
		n.kind = mapping
		c.mapping(n, []*ast.MappingValueNode{a}, depth)
	case *ast.SequenceNode:
		n.kind = sequence
		for i, v := range a.Values {
			n.items = append(n.items, c.node(v, index(path, i), depth+1))
		}
	case *ast.AnchorNode, *ast.AliasNode:
		c.at(n, "anchors and aliases are not read; use a factor for a value that stands in several places")
	case *ast.TagNode:
		c.at(n, "tags are not read; leave %s out", quote(a.Start.Value))
	default:
		c.scalar(n, a)
	}
	return n
}

func (c converter) mapping(n *node, values []*ast.MappingValueNode, depth int) {
	lines := map[string]int{}
	for i, v := range values {
		if _, merge := v.Key.(*ast.MergeKeyNode); merge {
			c.at(c.node(v.Value, n.path, depth+1), "merge keys are not read; write the fields out")
			continue
		}
		key := v.Key.GetToken()
		e := entry{key: key.Value, line: key.Position.Line, column: key.Position.Column}
		e.value = c.node(v.Value, join(n.path, e.key), depth+1)
		if i == 0 {
			n.line, n.column = e.line, e.column
		}
		if first, twice := lines[e.key]; twice {
			c.add(n.keyProblem(e, fmt.Sprintf("%s stands here a second time; the first is on line %d", quote(e.key), first)))
			continue
		}
		lines[e.key] = e.line
		n.entries = append(n.entries, e)
	}
}

func (c converter) scalar(n *node, a ast.Node) {
	n.text = strings.TrimRight(a.GetToken().Value, "\n")
	switch a := a.(type) {
	case *ast.NullNode:
		n.text = ""
	case *ast.BoolNode:
		n.value = a.Value
	case *ast.IntegerNode:
		switch v := a.Value.(type) {
		case int64:
			n.value = v
		case uint64:
			n.value = int64(min(v, 1<<62))
		}
	case *ast.FloatNode:
		n.value = a.Value
	case *ast.StringNode:
		n.text = a.Value
		n.value = a.Value
	case *ast.LiteralNode:
		n.text = strings.TrimRight(a.Value.Value, "\n")
		n.value = n.text
	default:
		c.at(n, "%s is no value that an experiment can hold", quote(n.text))
	}
}

func mapSlice(n *node) yaml.MapSlice {
	m := make(yaml.MapSlice, len(n.entries))
	for i, e := range n.entries {
		m[i] = yaml.MapItem{Key: e.key, Value: e.value.plain()}
	}
	return m
}

// invalid is the offset of the first byte that is no UTF-8.
func invalid(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(data)
}

// position turns an offset into line and column.
func position(data []byte, offset int) (line, column int) {
	before := data[:offset]
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
}
