package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Text for people is never wider than widest, and plainWidth where it does not
// go to a terminal.
const (
	narrowest  = 40
	widest     = 110
	plainWidth = 100
)

// page is where text for people is written.
type page struct {
	io.Writer
	width    int
	terminal bool
	colour   bool
}

// newPage finds out what w is capable of. Colours are for terminals only, and
// NO_COLOR (https://no-color.org) switches them off there.
func newPage(w io.Writer) page {
	p := page{Writer: w, width: plainWidth}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return p
	}
	if columns := columnsOf(w); columns > 0 {
		p.width = min(max(columns, narrowest), widest)
	}
	p.terminal = true
	p.colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return p
}

// columnsOf is the width of the terminal that w is; 0 where it is none, or does
// not tell.
func columnsOf(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// style is a code of ECMA-48, 8.3.117.
type style string

const (
	bold   style = "1"
	faint  style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
)

func (p page) styled(s style, text string) string {
	if !p.colour {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// paragraph writes text below lead, wrapped.
func (p page) paragraph(lead, text string) error {
	_, err := io.WriteString(p, indent(harmless(text), lead, p.width))
	return err
}

// columns writes rows whose first is the heading. The last column wraps.
func (p page) columns(rows [][]string) error {
	last := len(rows[0]) - 1
	widths := make([]int, last)
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	for _, row := range rows {
		var lead strings.Builder
		for i, width := range widths {
			lead.WriteString(row[i] + strings.Repeat(" ", width-utf8.RuneCountInString(row[i])+2))
		}
		if err := p.paragraph(lead.String(), row[last]); err != nil {
			return err
		}
	}
	return nil
}

// indent wraps text at width, the first line after lead, the others under it.
// A lead that leaves no room stands on a line of its own.
func indent(text, lead string, width int) string {
	var b strings.Builder
	at := utf8.RuneCountInString(lead)
	pad := strings.Repeat(" ", at)
	line := lead
	if at > width-20 {
		b.WriteString(strings.TrimRight(lead, " ") + "\n")
		pad = "    "
		line = pad
	}
	empty := true
	for _, word := range strings.Fields(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			b.WriteString(line + "\n")
			line, empty = pad, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
	return b.String()
}

// harmless replaces what could control a terminal or the order of its text: much
// of it comes from apps. Lines stay: what an app may have written into one has
// to go through printable before it becomes part of more.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if controls(r) {
			return ' '
		}
		return r
	}, text)
}

func controls(r rune) bool {
	return r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp))
}

// harmlessJSON is harmless for a document, which keeps its meaning: JSON has an
// escape for every character.
func harmlessJSON(document string) string {
	if !strings.ContainsFunc(document, controls) {
		return document
	}
	var b strings.Builder
	for _, r := range document {
		if !controls(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// printable cuts a text that an app may have written to one harmless line.
func printable(text string, width int) string {
	clean := strings.ReplaceAll(harmless(text), "\n", " ")
	if r := []rune(clean); len(r) > width {
		return string(r[:max(width-1, 0)]) + "…"
	}
	return clean
}

// interactive tells whether someone sits in front of f and the keyboard, and
// has not sent brink to the background, where it may not touch the terminal.
func interactive(f *os.File) bool {
	if !term.IsTerminal(int(f.Fd())) || !term.IsTerminal(int(os.Stdin.Fd())) {
		return false
	}
	group, err := unix.IoctlGetInt(int(os.Stdin.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
