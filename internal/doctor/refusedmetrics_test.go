package doctor

import (
	"strings"
	"testing"

	"brink/internal/evidence"
)

// A metric that cannot be is told of once, with its file; where there is no verdict the
// first line of a ticket says why.
func TestRefusedMetricsAreToldOnce(t *testing.T) {
	c, err := evidence.FromFiles(map[string][]byte{"ladder.csv": []byte("Time,Memory Percentage (Avg)\n2026-04-01T10:00:00Z,50\n2026-04-01T10:01:00Z,185\n2026-04-01T10:02:00Z,60\n")})
	if err != nil {
		t.Fatal(err)
	}
	r := Diagnose(c)
	var text, ticket strings.Builder
	if err := Text(&text, r, TextOptions{Width: 4000, All: true}); err != nil {
		t.Fatal(err)
	}
	if err := Markdown(&ticket, r); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]string{"text": text.String(), "ticket": ticket.String()} {
		if n := strings.Count(s, "such as 185"); n != 1 && !(name == "ticket" && n == 2 && r.Verdict == Unknown) || !strings.Contains(s, "ladder.csv: ") {
			t.Errorf("%s: told %d times, want once and the file with it:\n%s", name, n, s)
		}
	}
}
