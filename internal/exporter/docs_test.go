package exporter

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

func page(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../docs/exporter.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var metricName = regexp.MustCompile(`\bbrink_[a-z_]*[a-z]\b`)

// The page's table has every metric with its type, and no other.
func TestPageDescribesTheMetrics(t *testing.T) {
	described := map[string]string{}
	for line := range strings.Lines(page(t)) {
		if cells := strings.Split(line, "|"); len(cells) == 5 {
			for _, name := range metricName.FindAllString(cells[1], -1) {
				described[name] = strings.TrimSpace(cells[2])
			}
		}
	}
	scraped := scrapeTypes(t)
	for _, m := range all {
		if kind := scraped[m.name]; described[m.name] != kind {
			t.Errorf("%s is a %s, and described as %q", m.name, kind, described[m.name])
		}
		delete(described, m.name)
	}
	if len(described) > 0 {
		t.Errorf("described and not there: %v", described)
	}
}

// The names in the page's rules are those of metrics, and the two alerts fire
// when they should, and only then, by Prometheus' own reckoning.
func TestPagesRules(t *testing.T) {
	_, rest, _ := strings.Cut(page(t), "```yaml\n")
	rules, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the page has no rules")
	}
	var file struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal([]byte(rules), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Groups) != 1 || len(file.Groups[0].Rules) != 2 {
		t.Fatalf("not one group of two rules: %+v", file)
	}
	for _, rule := range file.Groups[0].Rules {
		names := metricName.FindAllString(rule.Expr, -1)
		if len(names) == 0 {
			t.Errorf("%s asks for no metric", rule.Alert)
		}
		for _, name := range names {
			if !slices.ContainsFunc(all, func(m metric) bool { return m.name == name }) {
				t.Errorf("%s asks for %s, which there is not", rule.Alert, name)
			}
		}
	}

	cases, err := os.ReadFile("testdata/rules_test.yml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{"rules.yml": []byte(rules), "rules_test.yml": cases} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"check", "rules", "rules.yml"}, {"test", "rules", "rules_test.yml"}} {
		cmd := exec.Command("promtool", args...) // Debian package prometheus
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
