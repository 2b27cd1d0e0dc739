package evidence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

var (
	kubeYAMLKey = expression(`^(?:- )?(?:apiVersion|kind|items|metadata|spec|status|containerStatuses|initContainerStatuses|containerID|lastState|state|restartCount):(?:\s|$)`)
	yamlFaultAt = expression(`^(?:yaml: )?line \d+: `)
	kubeYAMLOf  = expression(`(?m)^[\s-]*(?:kind: (?:Pod|PodList|Event|EventList)\s*$|containerStatuses:|restartCount:|involvedObject:)`)
)

// mostYAML is the most YAML that is read at once.
const mostYAML = 4 << 20

// parseKubeYAML reads "kubectl get pod -o yaml" and its like, which say what -o
// json says: of one, a list, several documents, or an excerpt.
//
// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/
func (b *builder) parseKubeYAML(f *file) bool {
	if !kubeYAMLKey().Match(firstYAMLLine(f.data)) || !kubeYAMLOf().Match(f.data[:min(len(f.data), mostYAML)]) {
		return false
	}
	if len(f.data) > mostYAML {
		b.strange(f, fmt.Sprintf("it is YAML of more than %d MiB: kubectl's -o json is read up to %d", mostYAML>>20, mostJSON>>20))
		return true
	}
	understood, note := "", ""
	documents, more := yamlDocuments(f.data)
	if more {
		note = fmt.Sprintf("only its first %d documents were read", len(documents))
	}
	for _, d := range documents {
		v, err := kubeDocument(d.text)
		if err != nil {
			note = fmt.Sprintf("what begins in line %d is no YAML as kubectl writes it: %s", d.line, yamlFault(err))
			if understood == "" {
				b.strange(f, note)
				return true
			}
			break
		}
		for _, known := range []func(*builder, *file, any) (string, bool){podJSON, kubeEventsJSON} {
			if as, ok := known(b, f, v); ok {
				understood = as
				break
			}
		}
	}
	if understood == "" {
		b.strange(f, "it is YAML of Kubernetes without a pod's status or an event")
		return true
	}
	b.input(f, understood, note)
	return true
}

// firstYAMLLine is the first line that is no comment and begins no document.
func firstYAMLLine(data []byte) []byte {
	for line := range bytes.Lines(data[:min(len(data), 64<<10)]) {
		text := bytes.TrimRight(line, " \t\r\n")
		if len(text) > 0 && text[0] != '#' && !bytes.Equal(text, []byte("---")) {
			return text[:min(len(text), 512)]
		}
	}
	return nil
}

// mostDocuments is how many documents of one file are read.
const mostDocuments = 1000

// yamlDocument is one of a file's, which begins in a line.
type yamlDocument struct {
	line int
	text []byte
}

// yamlDocuments cuts a file at the marks that begin a document; more tells that
// there are others.
func yamlDocuments(data []byte) (documents []yamlDocument, more bool) {
	begin, at, n, first := 0, 0, 0, 1
	end := func() {
		if len(bytes.TrimSpace(data[begin:at])) > 0 {
			documents = append(documents, yamlDocument{first, data[begin:at]})
		}
	}
	for line := range bytes.Lines(data) {
		n++
		if rest, ok := bytes.CutPrefix(line, []byte("---")); ok && (len(rest) == 0 || bytes.ContainsAny(rest[:1], " \t\r\n")) {
			if end(); len(documents) == mostDocuments {
				return documents, true
			}
			begin, first = at+len("---"), n
		}
		at += len(line)
	}
	end()
	return documents, false
}

// deepestYAML is how far objects of Kubernetes are nested, and more.
const deepestYAML = 64

// kubeDocument reads a document as decodeJSON does. It goes by way of the parser's
// nodes: making maps of a hostile file takes it a time that grows with the square of
// the keys.
func kubeDocument(data []byte) (any, error) {
	var node yaml.Node
	if err := yaml.Unmarshal(data, &node); err != nil {
		return nil, err
	}
	if node.Kind != yaml.DocumentNode || len(node.Content) != 1 {
		return nil, nil // comments alone
	}
	v, err := ofNode(node.Content[0], deepestYAML)
	if list, ok := v.([]any); ok { // an excerpt of containerStatuses
		v = object{"containerStatuses": list}
	}
	return v, err
}

// ofNode makes of a node what decodeJSON would have made of it.
func ofNode(n *yaml.Node, deep int) (any, error) {
	if deep == 0 {
		return nil, fmt.Errorf("line %d: it is nested deeper than %d", n.Line, deepestYAML)
	}
	switch n.Kind {
	case yaml.MappingNode:
		o := object{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, err := ofNode(n.Content[i+1], deep-1)
			if err != nil {
				return nil, err
			}
			if _, twice := o[n.Content[i].Value]; twice {
				return nil, fmt.Errorf("%s stands twice in one object", shorten(n.Content[i].Value))
			}
			o[n.Content[i].Value] = v
		}
		return o, nil
	case yaml.SequenceNode:
		list := []any{}
		for _, c := range n.Content {
			v, err := ofNode(c, deep-1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.ScalarNode:
		switch n.ShortTag() {
		case "!!null":
			return nil, nil
		case "!!bool":
			return n.Value == "true", nil
		case "!!int", "!!float":
			return json.Number(n.Value), nil
		}
		return n.Value, nil
	}
	return nil, fmt.Errorf("line %d: it has anchors or aliases, which kubectl does not write", n.Line)
}

// yamlFault is a parser's message without the line, which counts from the
// document, and the piece of the file that follows it.
func yamlFault(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return shorten(yamlFaultAt().ReplaceAllString(line, ""))
}
