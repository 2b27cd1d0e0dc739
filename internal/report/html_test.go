package report

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

func renderedHTML(t *testing.T, m *Model, libraries []string) string {
	t.Helper()
	var b bytes.Buffer
	if err := renderHTML(&b, m, libraries); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func parsed(t *testing.T, page string) *html.Node {
	t.Helper()
	n, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// elements returns all elements of one name below n.
func elements(n *html.Node, a atom.Atom) []*html.Node {
	var out []*html.Node
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.DataAtom == a {
			out = append(out, d)
		}
	}
	return out
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// readable is the text of a page, a line per element that stands on its own.
func readable(n *html.Node) string {
	own := map[atom.Atom]bool{atom.P: true, atom.Li: true, atom.Tr: true, atom.H1: true, atom.H2: true, atom.H3: true, atom.Caption: true,
		atom.Summary: true, atom.Figcaption: true, atom.Pre: true, atom.Footer: true, atom.Button: true}
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		switch {
		case n.Type == html.TextNode:
			b.WriteString(n.Data)
		case n.DataAtom == atom.Script || n.DataAtom == atom.Style:
			return
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
		if n.DataAtom == atom.Td || n.DataAtom == atom.Th {
			b.WriteString(" | ")
		}
		if own[n.DataAtom] {
			b.WriteString("\n")
		}
	}
	walk(n)
	var lines []string
	for _, l := range strings.Split(b.String(), "\n") {
		if l = strings.Join(strings.Fields(l), " "); l != "" {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

func TestHTMLTextGolden(t *testing.T) {
	golden(t, "report.txt", readable(parsed(t, renderedHTML(t, fixture(t), []string{"library()"}))))
}

func TestHTMLBeginsWithNoticesAndVerdicts(t *testing.T) {
	lines := strings.Split(readable(elements(parsed(t, renderedHTML(t, fixture(t), nil)), atom.Body)[0]), "\n")
	at := func(what string) int {
		for i, l := range lines {
			if strings.Contains(l, what) {
				return i
			}
		}
		t.Fatalf("%q is not in the page", what)
		return 0
	}
	order := []string{"gunicorn was not there", "Worker exhaustion under", "At what concurrency", "4 hypotheses: 2 supported", "Figure 1", "farthest repetition is 0.3 % off", "Run 20260504", "Contents"}
	for i := 1; i < len(order); i++ {
		if at(order[i-1]) >= at(order[i]) {
			t.Errorf("%q does not stand before %q", order[i-1], order[i])
		}
	}
}

func TestHTMLWithoutLibrariesShowsTheNumbers(t *testing.T) {
	page := parsed(t, renderedHTML(t, fixture(t), nil))
	words := readable(page)
	if n := strings.Count(words, "make build"); n != 1 {
		t.Errorf("the page says %d times how to get the pictures, want once", n)
	}
	open := 0
	for _, d := range elements(page, atom.Details) {
		if attr(d, "class") == "numbers" {
			for _, a := range d.Attr {
				if a.Key == "open" {
					open++
				}
			}
		}
	}
	if want := len(fixture(t).Charts); open != want {
		t.Errorf("%d tables of numbers are open, want %d", open, want)
	}
	for _, div := range elements(page, atom.Div) {
		if attr(div, "class") == "chart" {
			t.Error("there is room for a picture that cannot be drawn")
		}
	}
}

// The policy names every script by its hash and allows nothing else.
func TestHTMLPolicyAllowsOnlyItsOwn(t *testing.T) {
	page := parsed(t, renderedHTML(t, fixture(t), []string{"one()", "two()"}))
	var policy string
	for _, m := range elements(page, atom.Meta) {
		if attr(m, "http-equiv") == "Content-Security-Policy" {
			policy = attr(m, "content")
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || strings.Count(policy, "sha256-") != 4 {
		t.Errorf("policy: %s", policy)
	}
	// SHA-256 of "one()" in base64, by openssl.
	if want := "'sha256-HR7iaask9daLMRRskMI++QeJtjWDOjyPA6lGzYGzKW4='"; !strings.Contains(policy, want) {
		t.Errorf("policy lacks %s: %s", want, policy)
	}
	for _, s := range elements(page, atom.Script) {
		if attr(s, "src") != "" {
			t.Errorf("a script comes from %s", attr(s, "src"))
		}
	}
}

func TestHostileStringsChangeNothingInHTML(t *testing.T) {
	count := func(payload string) map[string]int {
		kinds := map[string]int{}
		for n := range parsed(t, renderedHTML(t, tainted(t, payload), []string{"library()"})).Descendants() {
			if n.Type == html.ElementNode {
				kinds[n.Data]++
			}
			if n.Type == html.CommentNode {
				kinds["comment"]++
			}
		}
		return kinds
	}
	for _, payload := range hostile {
		want, got := count("harmless"), count(payload)
		if strings.Contains(payload, "`") { // in prose backticks mark code
			delete(want, "code")
			delete(got, "code")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q changes the page (-harmless +hostile):\n%s", payload, diff)
		}
	}
}

func TestClassNamesAreLettersAndDashes(t *testing.T) {
	for word, want := range map[string]string{"Not Proven": "not-proven", "supported": "supported", `a" onclick="b`: "a-onclickb"} {
		if got := slug(word); got != want {
			t.Errorf("slug(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestLibrariesAreAllOrNothing(t *testing.T) {
	files := fstest.MapFS{}
	for i, name := range libraryFiles {
		if _, err := readLibraries(files); err == nil {
			t.Errorf("%d of %d libraries are taken for all", i, len(libraryFiles))
		}
		files[name] = &fstest.MapFile{Data: []byte("x()")}
	}
	if got, err := readLibraries(files); err != nil || len(got) != len(libraryFiles) {
		t.Errorf("all libraries: %v, %v", got, err)
	}
}

type fullDisk struct{}

var errFull = errors.New("no space left on device")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestRenderersReportWhatFails(t *testing.T) {
	misplaced := &Model{Charts: []Chart{{ID: "x", Section: 17, Spec: []byte("{}")}}}
	broken := &Model{Charts: []Chart{{ID: "x", Section: 10, Spec: []byte("{")}}}
	for name, render := range map[string]func(io.Writer, *Model) error{"Markdown": RenderMarkdown, "HTML": RenderHTML} {
		if err := render(fullDisk{}, &Model{}); !errors.Is(err, errFull) {
			t.Errorf("%s to a full disk: %v", name, err)
		}
		for what, m := range map[string]*Model{"no model": nil, "a chart in section 17": misplaced, "a specification that is no JSON": broken} {
			var b bytes.Buffer
			if err := render(&b, m); err == nil || b.Len() > 0 {
				t.Errorf("%s of %s: error %v, %d bytes written", name, what, err, b.Len())
			}
		}
	}
}
