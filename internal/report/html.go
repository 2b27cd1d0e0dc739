package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"strings"
	"sync"
)

//go:embed all:assets
var assets embed.FS

// libraryFiles are the chart libraries in the order in which they must load.
// The build puts them there; see assets/vendor/README.
var libraryFiles = []string{"assets/vendor/vega.js", "assets/vendor/vega-lite.js", "assets/vendor/vega-embed.js"}

// HasPictures tells whether brink was built with the chart libraries, so that
// its HTML reports draw their pictures.
func HasPictures() bool { return len(embeddedLibraries()) > 0 }

var embeddedLibraries = sync.OnceValue(func() []string {
	libraries, err := readLibraries(assets)
	if err != nil {
		return nil
	}
	return libraries
})

// readLibraries returns all libraries or an error: some of them draw nothing.
func readLibraries(files fs.FS) ([]string, error) {
	var out []string
	for _, name := range libraryFiles {
		b, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("chart library: %w", err)
		}
		out = append(out, string(b))
	}
	return out, nil
}

// RenderHTML writes the report as one HTML file that needs nothing else: no
// network, no other file, no evaluation of strings as code. It fails on a nil
// model, on a chart outside the sixteen sections or with a specification that
// is no JSON, and when w does.
func RenderHTML(w io.Writer, m *Model) error { return renderHTML(w, m, embeddedLibraries()) }

func renderHTML(w io.Writer, m *Model, libraries []string) error {
	d, err := compose(m)
	if err != nil {
		return err
	}
	for _, c := range m.Charts {
		if !json.Valid(c.Spec) {
			return fmt.Errorf("report: chart %q: its specification is no JSON", c.ID)
		}
	}
	t, err := pageTemplate(libraries)
	if err != nil {
		return err
	}
	// A page is a megabyte; a template that fails midway must not leave half
	// of one behind.
	var page bytes.Buffer
	if err := t.Execute(&page, d); err != nil {
		return fmt.Errorf("report: HTML: %w", err)
	}
	if _, err := w.Write(page.Bytes()); err != nil {
		return fmt.Errorf("report: writing HTML: %w", err)
	}
	return nil
}

func pageTemplate(libraries []string) (*template.Template, error) {
	style, errStyle := assets.ReadFile("assets/report.css")
	script, errScript := assets.ReadFile("assets/report.js")
	page, errPage := assets.ReadFile("assets/report.html.tmpl")
	config, errConfig := json.Marshal(pagePalette.config())
	if err := errors.Join(errStyle, errScript, errPage, errConfig); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	trusted := make([]template.JS, len(libraries))
	for i, l := range libraries {
		trusted[i] = template.JS(l)
	}
	policy := contentPolicy(string(style), append(append([]string{}, libraries...), string(script)))
	t, err := template.New("page").Funcs(template.FuncMap{
		"prose": prose, "visible": visible, "noticeWord": noticeWord, "slug": slug,
		"pictures":  func() bool { return len(libraries) > 0 },
		"libraries": func() []template.JS { return trusted },
		"style":     func() template.CSS { return template.CSS(style) },
		"script":    func() template.JS { return template.JS(script) },
		"config":    func() json.RawMessage { return config },
		"policy":    func() string { return policy },
	}).Parse(string(page))
	if err != nil {
		return nil, fmt.Errorf("report: page template: %w", err)
	}
	return t, nil
}

// contentPolicy allows exactly the page's own style and scripts, by their
// hashes, and nothing from anywhere else.
func contentPolicy(style string, scripts []string) string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	hashes := make([]string, len(scripts))
	for i, s := range scripts {
		hashes[i] = hash(s)
	}
	return "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + hash(style) + "; script-src " + strings.Join(hashes, " ")
}

// slug turns a badge's word into a class name of letters and dashes.
func slug(v any) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r
		case r == ' ':
			return '-'
		}
		return -1
	}, strings.ToLower(fmt.Sprint(v)))
}
