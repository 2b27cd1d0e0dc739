package evidence

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	documentRow = regexp.MustCompile("^\\| (.+?) \\| `(.+)` \\| [^|]+ \\|$")
	documentTag = regexp.MustCompile("^`(/?[\\w./]+)`")
)

// TestEveryExampleOfTheDocumentIsUnderstood feeds what docs/evidence.md shows of
// each input to the readers: it has to be understood, and to leave something.
func TestEveryExampleOfTheDocumentIsUnderstood(t *testing.T) {
	text, err := os.ReadFile("../../docs/evidence.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text2, _ := strings.Cut(string(text), "## What is recognised")
	section, _, _ := strings.Cut(text2, "\n## ")
	seen := 0
	for line := range strings.Lines(section) {
		m := documentRow.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			if strings.HasPrefix(line, "| ") && !strings.Contains(line, " example ") {
				t.Errorf("a row without an example: %s", line)
			}
			continue
		}
		seen++
		name := "x"
		if tag := documentTag.FindStringSubmatch(m[1]); tag != nil && strings.Contains(tag[1], "/") && tag[1][0] != '/' {
			name = tag[1]
		}
		example := strings.NewReplacer("⏎", "\n", `\|`, "|").Replace(m[2]) + "\n"
		c := readFiles(t, map[string]string{name: example})
		switch {
		case len(c.Strangers) > 0:
			t.Errorf("%s: %s", m[1], c.Strangers[0].Why)
		case len(c.Readings)+len(c.Events)+len(c.Activities)+len(c.Pools)+len(c.Containers)+len(c.Processes)+len(c.Series)+len(c.Tables)+
			len(c.Requests)+len(c.Config.Start)+len(c.Config.Probes)+len(c.Config.Pools)+len(c.Config.Settings) == 0:
			t.Errorf("%s: it was taken for %s, and nothing is left of it", m[1], c.Inputs[0].As)
		default:
			t.Logf("%-40.40s %s", m[1], c.Inputs[0].As)
		}
	}
	if seen < 60 {
		t.Errorf("%d examples were found", seen)
	}
}
