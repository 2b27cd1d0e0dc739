package compare

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestExamplesOfTheDocumentationLoad(t *testing.T) {
	text, err := os.ReadFile("../../docs/comparing.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```(csv|yaml)\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(examples) != 2 {
		t.Fatalf("%d examples, want one per format", len(examples))
	}
	for _, x := range examples {
		if _, err := parseData("example", x[1], []byte(x[2])); err != nil {
			t.Errorf("%s: %v", x[1], err)
		}
	}
	for _, a := range Aspects() {
		if !strings.Contains(string(text), "| `"+string(a)+"` |") {
			t.Errorf("aspect %s is not in the table", a)
		}
	}
}
