package image

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// component is the part of the distribution that the image is made of.
const component = "main"

// sources returns the machine's own package sources of a suite and what
// belongs to it (updates, security), as lines of sources.list(5). Other
// distributions' and vendors' sources are left out.
func sources(etc, suite string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(etc, "sources.list.d", "*"))
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, file := range append([]string{filepath.Join(etc, "sources.list")}, files...) {
		b, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("the package sources: %w", err)
		}
		switch filepath.Ext(file) {
		case ".list":
			lines = append(lines, oneLine(string(b), suite)...)
		case ".sources":
			lines = append(lines, deb822(string(b), suite)...)
		}
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	if len(lines) == 0 {
		return nil, fmt.Errorf("this machine's package sources have no %s: name a mirror of Debian %s with --mirror", suite, suite)
	}
	return lines, nil
}

// belongs tells whether a suite of the sources is the wanted one or one of its
// updates.
func belongs(suite, wanted string) bool {
	return suite == wanted || suite == wanted+"-updates" || suite == wanted+"-security"
}

// oneLine reads "deb [OPTIONS] URI SUITE COMPONENT...".
func oneLine(text, wanted string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "deb ")
		if !ok {
			continue
		}
		options := ""
		if rest = strings.TrimSpace(rest); strings.HasPrefix(rest, "[") {
			if options, rest, ok = strings.Cut(rest, "]"); !ok {
				continue
			}
			options += "] "
		}
		f := strings.Fields(rest)
		if len(f) > 2 && belongs(f[1], wanted) && slices.Contains(f[2:], component) && !strings.HasPrefix(f[0], "cdrom:") {
			lines = append(lines, fmt.Sprintf("deb %s%s %s %s", options, f[0], f[1], component))
		}
	}
	return lines
}

// deb822 reads stanzas of fields, in which Types, URIs, Suites and Components
// are lists.
func deb822(text, wanted string) []string {
	var lines []string
	for stanza := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
		fields := stanzaFields(stanza)
		if !slices.Contains(strings.Fields(fields["types"]), "deb") || strings.EqualFold(fields["enabled"], "no") ||
			!slices.Contains(strings.Fields(fields["components"]), component) {
			continue
		}
		options := ""
		// A key that is written into the file itself cannot be said on one line.
		if key := fields["signed-by"]; key != "" && !strings.Contains(key, "BEGIN") {
			options += " signed-by=" + strings.Join(strings.Fields(key), ",")
		}
		if strings.EqualFold(fields["trusted"], "yes") {
			options += " trusted=yes"
		}
		if options != "" {
			options = "[" + strings.TrimSpace(options) + "] "
		}
		for _, uri := range strings.Fields(fields["uris"]) {
			for _, suite := range strings.Fields(fields["suites"]) {
				if belongs(suite, wanted) {
					lines = append(lines, fmt.Sprintf("deb %s%s %s %s", options, uri, suite, component))
				}
			}
		}
	}
	return lines
}

func stanzaFields(stanza string) map[string]string {
	fields := map[string]string{}
	last := ""
	for line := range strings.Lines(stanza) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
			fields[last] += " " + strings.TrimSpace(line)
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		last = strings.ToLower(strings.TrimSpace(name))
		fields[last] = strings.TrimSpace(value)
	}
	return fields
}
