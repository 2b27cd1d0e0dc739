package evidence

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// sheet is a table as a file has it, whatever the file: CSV, or rows of JSON.
type sheet struct {
	file   *file
	header []string
	rows   []sheetRow
	cut    int // rows that were not kept
	// refused are its rows and cells with what cannot be.
	refused refusals
}

type sheetRow struct {
	line  int
	cells []string
}

const (
	mostRows    = 500_000
	mostColumns = 512
)

// column returns the place of the first heading that equals one of the names,
// without regard to case; -1 if there is none.
func (s *sheet) column(names ...string) int {
	for _, name := range names {
		for i, h := range s.header {
			if strings.EqualFold(h, name) {
				return i
			}
		}
	}
	return -1
}

func (s *sheet) has(names ...string) bool {
	for _, n := range names {
		if s.column(n) < 0 {
			return false
		}
	}
	return true
}

func (r *sheetRow) cell(i int) string {
	if i < 0 || i >= len(r.cells) {
		return ""
	}
	return strings.TrimSpace(r.cells[i])
}

// parseTable reads CSV, semicolon-separated or tab-separated text.
func (b *builder) parseTable(f *file) bool {
	comma, ok := separator(f)
	if !ok {
		return false
	}
	s, err := readCSV(f, comma)
	if err != nil || len(s.header) < 2 {
		return false
	}
	if err := b.takeSheet(s); err != nil {
		b.strange(f, err.Error())
	}
	return true
}

// separator tells what separates the cells: the heading has it, and so has the
// next line, as often.
func separator(f *file) (rune, bool) {
	first, rest, _ := bytes.Cut(bytes.TrimLeft(f.data, "\r\n"), []byte{'\n'})
	second, _, _ := bytes.Cut(rest, []byte{'\n'})
	if len(first) > 64<<10 || headingSpoilt(first) {
		return 0, false
	}
	for _, c := range []byte{',', ';', '\t'} {
		n := bytes.Count(first, []byte{c})
		named := strings.HasSuffix(strings.ToLower(f.base()), ".csv") || strings.HasSuffix(strings.ToLower(f.base()), ".tsv")
		if n > 0 && (named || bytes.Count(second, []byte{c}) >= n) {
			return rune(c), true
		}
	}
	return 0, false
}

// headingSpoilt says that a first line is no heading: it begins like a log.
func headingSpoilt(first []byte) bool {
	if _, _, ok := stamp(string(first[:min(len(first), 128)])); ok {
		return true
	}
	if line := string(first[:min(len(first), 512)]); kmsgPrefix().MatchString(line) || syslogPrefix().MatchString(line) {
		return true
	}
	return bytes.ContainsAny(first, "{}=") || clockTime().Match(first[:min(len(first), 512)])
}

// clockTime stands in lines of logs and in no heading.
var clockTime = expression(`\b\d{1,2}:\d{2}:\d{2}\b`)

func readCSV(f *file, comma rune) (*sheet, error) {
	r := csv.NewReader(bytes.NewReader(f.data))
	r.Comma, r.LazyQuotes, r.FieldsPerRecord, r.TrimLeadingSpace = comma, true, -1, true
	s := &sheet{file: f}
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return s, err
		}
		if len(cells) > mostColumns {
			cells = cells[:mostColumns]
		}
		line, _ := r.FieldPos(0)
		if s.header == nil {
			for _, c := range cells {
				s.header = append(s.header, strings.TrimSpace(c))
			}
			continue
		}
		if comma != ',' {
			decimalPoints(cells)
		}
		s.add(sheetRow{line: line, cells: cells})
	}
}

var decimalComma = expression(`^-?\d{1,15},\d+$`)

// decimalPoints writes numbers with a decimal comma as all others do: where the
// comma does not separate cells, it is that of the language.
func decimalPoints(cells []string) {
	for i, c := range cells {
		if decimalComma().MatchString(c) {
			cells[i] = strings.Replace(c, ",", ".", 1)
		}
	}
}

func (s *sheet) add(r sheetRow) {
	if len(s.rows) >= mostRows {
		s.cut++
		return
	}
	s.rows = append(s.rows, r)
}

// takeSheet finds out what a table is of, by its headings, and takes it in.
func (b *builder) takeSheet(s *sheet) error {
	defer s.refused.tell(b, s.file.name)
	return b.takeKnownSheet(s)
}

func (b *builder) takeKnownSheet(s *sheet) error {
	switch {
	case s.has("ScStatus") || s.has("CsUriStem") || s.has("TimeTaken"):
		return b.httpLogs(s)
	case s.has("ResultDescription"):
		return b.tableLog(s, "AppServiceConsoleLogs", FromServer, s.column("ResultDescription"))
	case s.has("Reason_s", "Log_s"), s.has("Reason", "Log"):
		return b.containerAppsRows(s)
	case s.has("Log_s"), s.has("LogEntry"), s.has("LogMessage"):
		return b.tableLog(s, "container console log", FromServer, s.column("Log_s", "LogEntry", "LogMessage"))
	case s.has("Message") && (s.has("OperationName") || s.has("ContainerId") || s.has("Level")):
		return b.platformLogs(s)
	case s.has("KubeEventType"), s.has("Reason", "Message", "Type"):
		return b.kubeRows(s)
	case s.has("MetricName") && s.column("Average", "Total", "Maximum") >= 0:
		return b.azureMetricsRows(s)
	case s.ofLog() >= 0:
		return b.tableLog(s, "log in a table", FromServer, s.ofLog())
	case s.column("bucket") >= 0 && s.column("count") >= 0:
		return b.buckets(s)
	case s.column("status", "status_code", "http_code") >= 0 && (s.column("url") >= 0 || s.timed()):
		return b.probeRows(s)
	}
	return b.plainTable(s)
}

// timeColumn finds the column that says when: by its name and because one
// of its first cells is a time. The portal writes "TimeGenerated [UTC]".
func (s *sheet) timeColumn() int {
	for i, h := range s.header {
		name := strings.ToLower(h)
		name, _, _ = strings.Cut(name, " [")
		switch name {
		case "timegenerated", "timestamp", "time", "ts", "date", "datetime", "timestamp_utc", "at", "eventtime", "timestamps", "firstseen", "_time", "@timestamp":
			if len(s.rows) == 0 {
				return i
			}
			for j := range s.rows[:min(len(s.rows), 20)] {
				if _, ok := s.time(&s.rows[j], i); ok {
					return i
				}
			}
		}
	}
	return -1
}

// ofLog finds the column of a log's lines in what CloudWatch, Splunk, Datadog and
// others export: there is a time, and a line of words that is no number.
func (s *sheet) ofLog() int {
	i := s.column("message", "@message", "_raw", "log", "line", "msg", "content")
	if i < 0 || s.timeColumn() < 0 || len(s.rows) == 0 {
		return -1
	}
	for _, r := range s.rows[:min(len(s.rows), 20)] {
		if text := r.cell(i); numeric(text) || !strings.Contains(text, " ") && text != "" {
			return -1
		}
	}
	return i
}

// timed reports whether each row has a time and how long something took.
func (s *sheet) timed() bool {
	took, _ := s.durationColumn()
	return took >= 0 && s.timeColumn() >= 0
}

func (s *sheet) time(r *sheetRow, column int) (time.Time, bool) {
	text := r.cell(column)
	if at, ok := parseTime(text); ok {
		return at, true
	}
	return parseEpoch(text)
}

func (s *sheet) from(r *sheetRow, column int) Source {
	at := Source{File: s.file.name, Line: r.line}
	if column >= 0 && column < len(s.header) {
		at.Field = s.header[column]
	}
	return at
}

// appColumn finds who a row is of.
func (s *sheet) appColumn() int {
	return s.column("SiteName", "CsHost", "ContainerAppName_s", "ContainerAppName", "app", "Host", "Resource", "Name", "_ResourceId")
}

// tableLog reads the cells of a column as the lines of a log, oldest first:
// exports have the newest first.
func (b *builder) tableLog(s *sheet, as string, origin Origin, column int) error {
	r := b.newLog(s.file.name)
	r.log.As, r.origin = as, origin
	when, app := s.timeColumn(), s.appColumn()
	rows := slices.Clone(s.rows)
	slices.SortStableFunc(rows, func(x, y sheetRow) int {
		a, okA := s.time(&x, when)
		b, okB := s.time(&y, when)
		if !okA || !okB {
			return 0
		}
		return a.Compare(b)
	})
	for i := range rows {
		row := &rows[i]
		at, _ := s.time(row, when)
		for line := range strings.Lines(row.cell(column)) {
			r.line(row.line, strings.TrimRight(line, "\r\n"), at, siteOf(row.cell(app)))
		}
	}
	r.close()
	note := ""
	if len(s.rows) == 0 {
		note = "it has a heading and no lines"
	}
	b.input(s.file, as, joinNotes(note, s.cutNote()))
	return nil
}

func (s *sheet) cutNote() string {
	if s.cut == 0 {
		return ""
	}
	return fmt.Sprintf("%d rows beyond the first %d were not read", s.cut, mostRows)
}

// siteOf takes the site's name out of a resource id or a host name.
func siteOf(text string) string {
	if i := strings.LastIndexByte(text, '/'); i >= 0 {
		text = text[i+1:]
	}
	return shorten(text)
}
