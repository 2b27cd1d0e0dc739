package compare

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits of a file's text. The parser is recursive, so depth is bounded before it.
const (
	maxDataTokens = 100_000
	maxDataDepth  = 8
)

// readYAML reads the head and a list of series.
func readYAML(data []byte) (dataHead, []series, *DataError) {
	var d struct {
		Head dataHead `yaml:",inline"`
		Data []series `yaml:"data"`
	}
	if bad := decodeYAML(data, &d); bad != nil {
		return dataHead{}, nil, bad
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return dataHead{}, nil, fromYAML(err)
	}
	for i := range d.Data {
		d.Data[i].lines = seriesLines(file, i)
	}
	return d.Head, d.Data, nil
}

// seriesLines gives the lines of a series: of each of its values where they
// can be found, otherwise its own.
func seriesLines(file *ast.File, i int) []int {
	if values, ok := nodeAt(file, fmt.Sprintf("$.data[%d].values", i)).(*ast.SequenceNode); ok && len(values.Values) > 0 {
		lines := make([]int, len(values.Values))
		for k, v := range values.Values {
			lines[k] = lineOf(v)
		}
		return lines
	}
	return []int{lineOf(nodeAt(file, fmt.Sprintf("$.data[%d]", i)))}
}

func nodeAt(file *ast.File, path string) ast.Node {
	p, err := yaml.PathString(path)
	if err != nil {
		return nil
	}
	n, err := p.FilterFile(file)
	if err != nil {
		return nil
	}
	return n
}

func lineOf(n ast.Node) int {
	if n == nil {
		return 1
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return max(t.Position.Line, 1)
	}
	return 1
}

// decodeYAML reads one flat document and refuses unknown fields.
func decodeYAML(data []byte, into any) (bad *DataError) {
	// Whatever text does to the parser is a problem of the text.
	defer func() {
		if r := recover(); r != nil {
			bad = &DataError{Line: 1, Message: fmt.Sprintf("not YAML: the parser cannot read it (%v)", r)}
		}
	}()
	if bad := unwanted(lexer.Tokenize(string(data))); bad != nil {
		return bad
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return fromYAML(err)
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return &DataError{Line: 1, Message: "the file is to hold one YAML document"}
	}
	if err := yaml.NodeToValue(file.Docs[0].Body, into, yaml.Strict()); err != nil {
		return fromYAML(err)
	}
	return nil
}

// unwanted finds what a data file has no use for: depth, anchors, tags.
func unwanted(tokens token.Tokens) *DataError {
	flow, indicators, line := 0, 0, 0
	for i, t := range tokens {
		if t.Position.Line != line {
			line, indicators = t.Position.Line, 0
		}
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType, token.TagType:
			return &DataError{Line: line, Message: "anchors, aliases, merge keys and tags are not read; write the value out"}
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow = max(flow-1, 0)
		case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType:
			indicators++
		}
		if i >= maxDataTokens || flow > maxDataDepth || flow == 0 && indicators > maxDataDepth || t.Position.IndentNum > 16*maxDataDepth {
			return &DataError{Line: line, Message: "the file is nested too deeply or has too many values for a data file"}
		}
	}
	return nil
}

// fromYAML keeps line and sentence of the parser's error and drops its drawing
// of the source.
func fromYAML(err error) *DataError {
	bad := &DataError{Line: 1, Message: err.Error()}
	var y yaml.Error
	if errors.As(err, &y) {
		bad.Message = strings.TrimSuffix(y.GetMessage(), ".")
		if t := y.GetToken(); t != nil && t.Position != nil {
			bad.Line = max(t.Position.Line, 1)
		}
	}
	return bad
}
