package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	gmtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files of this test")

// golden compares with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); -update writes it:\n%s", path, diff)
	}
}

func renderedMarkdown(t *testing.T, m *Model) string {
	t.Helper()
	var b bytes.Buffer
	if err := RenderMarkdown(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var fence = regexp.MustCompile("(?m)^```vega-lite\n.*\n```$")

// Specifications have tests of their own; the golden file shows where they
// stand.
func TestMarkdownGolden(t *testing.T) {
	md := renderedMarkdown(t, fixture(t))
	golden(t, "report.md", fence.ReplaceAllString(md, "```vega-lite\n(specification)\n```"))
}

func TestMarkdownGoldenOfAnEmptyModel(t *testing.T) {
	golden(t, "empty.md", renderedMarkdown(t, &Model{Title: "Nothing ran", Run: Run{ID: "r", Status: "running"}, Notices: []Notice{{Kind: "cut-off", Text: "The record ends before the first repetition."}}}))
}

// gfm parses as GitHub does; its parser is an independent implementation.
func gfm(md string) (ast.Node, []byte) {
	src := []byte(md)
	return goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(gmtext.NewReader(src)), src
}

// shape counts the kinds of nodes of a document, and the raw HTML in it.
func shape(md string) (map[string]int, []string) {
	doc, src := gfm(md)
	kinds := map[string]int{}
	var raw []string
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text, *ast.String, *ast.CodeSpan:
		case *ast.RawHTML:
			raw = append(raw, string(n.Segments.Value(src)))
		case *ast.HTMLBlock:
			raw = append(raw, string(n.Lines().Value(src)))
		default:
			kinds[n.Kind().String()]++
		}
		return ast.WalkContinue, nil
	})
	return kinds, raw
}

func TestMarkdownHasTheSixteenSectionsInOrder(t *testing.T) {
	doc, src := gfm(renderedMarkdown(t, fixture(t)))
	var got []string
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level == 2 {
			got = append(got, string(h.Lines().Value(src)))
		}
	}
	want := []string{"1. Question", "2. Why this matters", "3. Customer symptom", "4. Hypothesis", "5. Environment", "6. Variables", "7. Instrumentation", "8. Procedure",
		"9. Expected signal", "10. Results", "11. Interpretation", "12. What this proves", "13. What this does not prove", "14. Support takeaway", "15. Reproduction notes", "16. Related documents"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A report whose every string is hostile has the structure of one whose
// strings are harmless.
func TestHostileStringsChangeNothingInMarkdown(t *testing.T) {
	harmless, rawHarmless := shape(renderedMarkdown(t, tainted(t, "harmless")))
	for _, payload := range hostile {
		got, raw := shape(renderedMarkdown(t, tainted(t, payload)))
		if diff := cmp.Diff(harmless, got); diff != "" {
			t.Errorf("%q changes the document (-harmless +hostile):\n%s", payload, diff)
		}
		for _, h := range raw {
			if rest := regexp.MustCompile(`</?(details|summary|code)>`).ReplaceAllString(h, ""); strings.ContainsAny(rest, "<>") {
				t.Errorf("%q leaves HTML: %q", payload, h)
			}
		}
		if len(raw) < len(rawHarmless) {
			t.Errorf("%q swallows %d pieces of the report's own HTML", payload, len(rawHarmless)-len(raw))
		}
	}
}

// Whatever an app writes comes back from the parser unchanged, out of one
// table cell.
func TestCodeInATableReadsBackAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.SampledFrom([]rune("`|\\<>&*_[]!# $~a")), 1, 12, -1)).Draw(t, "s")
		if clean(s) == "" {
			return
		}
		var md markdown
		md.table(&grid{Columns: columns("", ""), Rows: [][]cell{{{code(s)}, words("end")}}})
		doc, src := gfm(md.String())
		var cells []string
		_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if c, ok := n.(*extast.TableCell); ok && entering && n.Parent().Kind() == extast.KindTableRow {
				cells = append(cells, plain(c, src))
			}
			return ast.WalkContinue, nil
		})
		if len(cells) != 2 || cells[0] != visible(s) || cells[1] != "end" {
			t.Fatalf("%q becomes %q\n%s", s, cells, md.String())
		}
	})
}

func FuzzEscapedTextIsText(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Add("- a")
	f.Add("1. a")
	f.Add("===")
	f.Fuzz(func(t *testing.T, s string) {
		if clean(s) == "" || strings.Contains(s, "`") || strings.ContainsAny(s, ":@") || strings.Contains(strings.ToLower(s), "www.") {
			return // backticks mark code, addresses become links
		}
		var md markdown
		md.para(prose(s))
		doc, src := gfm(md.String())
		if got := plain(doc, src); got != clean(s) {
			t.Errorf("%q reads back as %q from\n%s", s, got, md.String())
		}
	})
}

// plain is the text of a node, entities and escapes resolved.
func plain(n ast.Node, src []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			v := t.Value(src)
			if n.Parent().Kind() != ast.KindCodeSpan {
				v = util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(v)))
			}
			b.Write(v)
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}
