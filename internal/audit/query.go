package audit

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
)

//go:embed known.yaml
var knownYAML []byte

// knowledge is what other documentation says.
type knowledge struct {
	Tables []struct {
		Name    string            `yaml:"name"`
		Columns []string          `yaml:"columns"`
		Instead map[string]string `yaml:"instead"`
	} `yaml:"tables"`
	Common    []string `yaml:"common"`
	ExitCodes []struct {
		Program string `yaml:"program"`
		Code    int    `yaml:"code"`
		Shows   string `yaml:"shows"`
		Meaning string `yaml:"meaning"`
		Source  string `yaml:"source"`
	} `yaml:"exit_codes"`
}

var known = sync.OnceValues(func() (knowledge, error) {
	var k knowledge
	if err := yaml.UnmarshalWithOptions(knownYAML, &k, yaml.Strict()); err != nil {
		return k, fmt.Errorf("read known.yaml: %w", err)
	}
	return k, nil
})

// queryColumns: a KQL query runs on the documented columns of its table.
type queryColumns struct {
	Query string `yaml:"query"`
}

func (c *queryColumns) run(*figures) (answer, error) {
	name, columns := parseKQL(c.Query)
	if name == "" {
		return answer{}, at("query", "it begins with the name of a table")
	}
	k, err := known()
	if err != nil {
		return answer{}, err
	}
	for _, t := range k.Tables {
		if t.Name != name {
			continue
		}
		var missing []string
		for _, column := range columns {
			if slices.Contains(t.Columns, column) || slices.Contains(k.Common, column) {
				continue
			}
			text := column
			if instead := t.Instead[column]; instead != "" {
				text += fmt.Sprintf(" (there is %s)", instead)
			}
			missing = append(missing, text)
		}
		if len(missing) > 0 {
			return answer{outcome: Contradicts, gives: fmt.Sprintf("%s has no column %s", name, strings.Join(missing, " and no column "))}, nil
		}
		return answer{outcome: Holds, gives: fmt.Sprintf("%s has all of %s", name, strings.Join(columns, ", "))}, nil
	}
	return answer{outcome: CannotBeChecked, gives: fmt.Sprintf("the columns of %s are not known", name)}, nil
}

var (
	kqlString  = expression(`"(\\.|[^"\\])*"|'(\\.|[^'\\])*'`)
	kqlComment = expression(`//[^\n]*`)
	// Numbers and time spans begin with a digit and are matched to be passed
	// over.
	kqlWord = expression(`[0-9][A-Za-z0-9_.]*|[A-Za-z_][A-Za-z0-9_]*`)
)

// kqlWords are names in a query that are no columns.
var kqlWords = strings.Fields(`and or not in has has_any has_all has_cs contains contains_cs startswith endswith
	matches regex between by asc desc nulls first last true false null on kind`)

// parseKQL reads the table of a query and the columns that it takes from it,
// in the order of their first use. A column that the query itself names is not
// among them. It knows queries of one table and of pipes with where, summarize,
// project, extend, order and the like: no let, no join.
func parseKQL(query string) (table string, columns []string) {
	text := kqlComment().ReplaceAllString(kqlString().ReplaceAllString(query, `0`), "")
	stages := strings.Split(text, "|")
	if table = strings.TrimSpace(stages[0]); table != kqlWord().FindString(table) || table == "" || table[0] <= '9' {
		return "", nil
	}
	named := map[string]bool{}
	for _, stage := range stages[1:] {
		_, body, _ := strings.Cut(strings.TrimSpace(stage), " ")
		var assigned []string
		for _, place := range kqlWord().FindAllStringIndex(body, -1) {
			word, after := body[place[0]:place[1]], strings.TrimSpace(body[place[1]:])
			switch {
			case word[0] <= '9' || slices.Contains(kqlWords, word) || strings.HasPrefix(after, "("):
			case strings.HasPrefix(after, "=") && !strings.HasPrefix(after, "==") && !strings.HasPrefix(after, "=~"):
				assigned = append(assigned, word)
			case !named[word] && !slices.Contains(columns, word):
				columns = append(columns, word)
			}
		}
		for _, a := range assigned {
			named[a] = true
		}
	}
	return table, columns
}
