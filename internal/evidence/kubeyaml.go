package evidence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"
)

var (
	kubeYAMLKey = expression(`^(?:- )?(?:apiVersion|kind|items|metadata|spec|status|containerStatuses|initContainerStatuses|containerID|lastState|state|restartCount):(?:\s|$)`)
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
	understood := ""
	for _, document := range yamlDocuments(f.data) {
		v, err := kubeDocument(document)
		if err != nil {
			b.strange(f, "it begins like YAML of kubectl and is none: "+firstLine(err.Error()))
			return true
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
	b.input(f, understood, "")
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

// yamlDocuments cuts a file at the lines that begin a document.
func yamlDocuments(data []byte) [][]byte {
	const most = 1000
	var documents [][]byte
	begin, at := 0, 0
	for line := range bytes.Lines(data) {
		if bytes.Equal(bytes.TrimRight(line, " \t\r\n"), []byte("---")) && len(documents) < most {
			documents = append(documents, data[begin:at])
			begin = at + len(line)
		}
		at += len(line)
	}
	documents = append(documents, data[begin:])
	return slices.DeleteFunc(documents, func(d []byte) bool { return len(bytes.TrimSpace(d)) == 0 })
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

// firstLine is a message without the piece of the file that follows it.
func firstLine(text string) string {
	line, _, _ := bytes.Cut([]byte(text), []byte{'\n'})
	return shorten(string(line))
}
