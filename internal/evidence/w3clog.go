package evidence

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// parseW3C reads a log in the extended format of the W3C, as IIS and App Service's
// front end write it: the time is when the answer ended, in UTC, and what it took is in
// ms. CloudFront has seconds.
//
// https://www.w3.org/TR/WD-logfile.html
// https://learn.microsoft.com/previous-versions/iis/6.0-sdk/ms525807(v=vs.90)
// https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/standard-logs-reference.html
func (b *builder) parseW3C(f *file) bool {
	first, _, _ := bytes.Cut(bytes.TrimSpace(f.data), []byte{'\n'})
	if !bytes.HasPrefix(first, []byte("#Software: ")) && !bytes.HasPrefix(first, []byte("#Version: ")) && !bytes.HasPrefix(first, []byte("#Fields: ")) {
		return false
	}
	r := Requests{File: f.name, As: "W3C log"}
	var columns []string
	n, bad := 0, 0
	for line := range bytes.Lines(f.data) {
		if n++; n > mostLines {
			b.gap(HasRequests, TooMuch, "a log may have 2,000,000 lines", Source{File: f.name, Line: n})
			break
		}
		text := strings.TrimRight(string(line[:min(len(line), mostLine)]), "\r\n")
		if fields, ok := strings.CutPrefix(text, "#Fields: "); ok {
			columns = strings.Fields(fields)
			continue
		}
		if text == "" || text[0] == '#' {
			continue
		}
		if q, ok := w3cRequest(n, columns, text); ok {
			r.add(q)
		} else {
			bad++
		}
	}
	if !slices.Contains(columns, "sc-status") {
		return false
	}
	note := ""
	if bad > 0 {
		note = fmt.Sprintf("%d of its lines do not have the fields that it names", bad)
	}
	b.c.Requests = append(b.c.Requests, r)
	b.input(f, r.As, note)
	return true
}

func w3cRequest(n int, columns []string, text string) (Request, bool) {
	cells := strings.Fields(text)
	if len(cells) != len(columns) || len(columns) == 0 {
		return Request{}, false
	}
	cell := func(name string) string {
		if i := slices.Index(columns, name); i >= 0 && cells[i] != "-" {
			return cells[i]
		}
		return ""
	}
	q := Request{Path: pathOf(cell("cs-uri-stem")), Asks: cell("cs-uri-query") != "", Status: atoi(cell("sc-status")), App: siteOf(cell("cs-host")), Seconds: -1, Line: n}
	if q.App == "" {
		q.App = siteOf(cell("s-sitename"))
	}
	q.At, _ = parseTime(cell("date") + " " + cell("time"))
	took := parsedNumber(cell("time-taken"), Millis, Source{})
	switch {
	case !took.AtLeast(0):
	case slices.Contains(columns, "x-edge-location"):
		q.Seconds = took.Number
	default:
		q.Seconds = took.Number / 1000
	}
	return q, q.Status > 0
}
