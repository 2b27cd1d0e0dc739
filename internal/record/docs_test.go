package record

import (
	"os"
	"regexp"
	"testing"
)

// TestDocumentedColumns holds docs/record.md against the schema: the tables,
// the columns of samples in their order, and the metrics of the view.
func TestDocumentedColumns(t *testing.T) {
	text, err := os.ReadFile("../../docs/record.md")
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, golden2)
	named := func(row string) (names []string) {
		for _, m := range regexp.MustCompile(row).FindAllStringSubmatch(string(text), -1) {
			names = append(names, m[1])
		}
		return names
	}
	equal(t, "columns", named("(?m)^\\| `(\\w+)` \\| (?:app|plan|app, plan) \\| [^|]+ \\| [^|]+ \\|"), sampleNames())
	tables := map[string]bool{}
	for _, name := range named("(?m)^\\| `(\\w+)` \\| [^|]+ \\|$") {
		tables[name] = true
	}
	for _, name := range must(r.tables(t.Context()))(t) {
		if !tables[name] {
			t.Errorf("the table %s is not documented", name)
		}
		delete(tables, name)
	}
	if len(tables) > 0 {
		t.Errorf("documented, but not there: %v", tables)
	}
	for _, name := range ask(t, open(t, golden), "SELECT DISTINCT MetricName FROM AzureMetrics") {
		if !regexp.MustCompile("(?m)^\\| `" + name + "` \\| the (host|app) \\|").Match(text) {
			t.Errorf("the metric %s is not documented", name)
		}
	}
}
