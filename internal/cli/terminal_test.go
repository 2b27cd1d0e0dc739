package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"brink/internal/experiment"
	"brink/internal/verdict"
)

// Wrapping moves words to other lines and does nothing else.
func TestIndentKeepsEveryWordWithinTheWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.StringMatching(`[a-zé×≥]{1,12}`)).Draw(t, "words")
		lead := rapid.StringMatching(`[a-z→]{0,30} ?`).Draw(t, "lead")
		width := rapid.IntRange(40, 110).Draw(t, "width")
		got := indent(strings.Join(words, " "), lead, width)
		if want := append(strings.Fields(lead+"\n"), words...); strings.HasSuffix(lead, " ") || lead == "" {
			if strings.Join(strings.Fields(got), " ") != strings.Join(want, " ") {
				t.Fatalf("words %q became %q", want, got)
			}
		}
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Fatalf("%d characters, want at most %d: %q", n, width, line)
			}
		}
	})
}

func TestHarmlessLeavesNoControlCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		if got := harmless(text); strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) {
			t.Fatalf("%q became %q", text, got)
		}
		if got := printable(text, 20); strings.ContainsFunc(got, unicode.IsControl) || utf8.RuneCountInString(got) > 20 {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

func TestVerdictsAreAlignedAndWrapped(t *testing.T) {
	all := []verdict.Verdict{
		{Hypothesis: experiment.Hypothesis{ID: "H1", Claim: "Requests are served in rounds of as many as there are workers."},
			Outcome: verdict.Supported, Level: verdict.Measured, Numbers: "6 of 6"},
		{Hypothesis: experiment.Hypothesis{ID: "published", Claim: "It holds."},
			Outcome: verdict.PartiallySupported, Level: verdict.StronglySuggested, Sentence: "Said in full, \x1b]0;evil\athere being no numbers."},
		{Hypothesis: experiment.Hypothesis{ID: "x", Claim: "No."}, Outcome: verdict.NotSupported, Level: verdict.Observed, Numbers: "0 of 6"},
		{Hypothesis: experiment.Hypothesis{ID: "y", Claim: "Perhaps."}, Outcome: verdict.Inconclusive, Level: verdict.Unknown, Numbers: "none"},
	}
	var plain, coloured bytes.Buffer
	if err := (page{Writer: &plain, width: 40}).verdicts(all); err != nil {
		t.Fatal(err)
	}
	const want = `✓ H1         supported            Measured
  Requests are served in rounds of as
  many as there are workers.
  → 6 of 6

~ published  partially supported  Strongly Suggested
  It holds.
  → Said in full, ]0;evil there being no
    numbers.

✗ x          not supported        Observed
  No.
  → 0 of 6

? y          inconclusive         Unknown
  Perhaps.
  → none

`
	if plain.String() != want {
		t.Errorf("got\n%s\nwant\n%s", plain.String(), want)
	}
	if got, want := tally(all), "4 hypotheses: 1 supported, 1 partially supported, 1 not supported, 1 inconclusive"; got != want {
		t.Errorf("tally %q, want %q", got, want)
	}
	if err := (page{Writer: &coloured, width: 40, colour: true}).verdicts(all); err != nil {
		t.Fatal(err)
	}
	// ECMA-48: 32 is green, 33 yellow, 31 red, 0 the default again.
	for _, text := range []string{"\x1b[32m✓\x1b[0m", "\x1b[33m~\x1b[0m", "\x1b[31m✗\x1b[0m", "\x1b[33m?\x1b[0m"} {
		if !strings.Contains(coloured.String(), text) {
			t.Errorf("%q is not in %q", text, coloured.String())
		}
	}
}

// A JSON document keeps its meaning without what could control a terminal.
func TestDocumentsAreHarmless(t *testing.T) {
	const text = "a\u009b31m\x1b[2J\u202etxt\n\u2028 é \U000e0041 end"
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	if err := enc.Encode(map[string]string{"what": text}); err != nil {
		t.Fatal(err)
	}
	shown := harmlessJSON(b.String())
	if strings.ContainsFunc(shown, controls) {
		t.Errorf("%q", shown)
	}
	var back map[string]string
	if err := json.Unmarshal([]byte(shown), &back); err != nil || back["what"] != text {
		t.Errorf("%q, %v; want %q", back["what"], err, text)
	}
}
