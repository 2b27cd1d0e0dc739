package evidence

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// expression compiles a regular expression when it is first needed: most
// inputs need few of the hundreds, each of which every start pays for.
func expression(text string) func() *regexp.Regexp {
	return (&lateExpression{text: text}).compiled
}

// lateExpression takes fewer allocations than [sync.OnceValue].
type lateExpression struct {
	text string
	once sync.Once
	is   *regexp.Regexp
}

func (e *lateExpression) compiled() *regexp.Regexp {
	e.once.Do(func() { e.is = regexp.MustCompile(e.text) })
	return e.is
}

// stampForm is how a time is written: where to find it and how to read it.
type stampForm struct {
	find   func() *regexp.Regexp
	layout string // empty for ISO, which has many
}

const iso = `\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|[+-]\d{2}:?\d{2}))?`

// stampForms are the times that logs begin with. A time without a zone is
// taken for UTC: that of the machine is not known.
var stampForms = []stampForm{
	{expression(`^\[?(` + iso + `)`), ""},
	{expression(`^(\d{4}/\d{2}/\d{2} \d{2}:\d{2}:\d{2})`), "2006/01/02 15:04:05"},
	{expression(`^\[?(\d{2}-[A-Z][a-z]{2}-\d{4} \d{2}:\d{2}:\d{2})(?:\.\d+)?`), "02-Jan-2006 15:04:05"},
	{expression(`^\[?([A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4})`), "Mon Jan _2 15:04:05 2006"},
	{expression(`^\[?([A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2}\.\d{6} \d{4})`), "Mon Jan _2 15:04:05.000000 2006"},
	{expression(`^(\d{4}-\d{1,2}-\d{1,2} \d{1,2}:\d{2}:\d{2})`), "2006-1-2 15:04:05"},
	{expression(`^([A-Z][a-z]{2} \d{1,2}, \d{4} \d{1,2}:\d{2}:\d{2} [AP]M)`), "Jan 2, 2006 3:04:05 PM"},
}

// stamp reads the time at the beginning of a line and returns what follows.
func stamp(line string) (at time.Time, rest string, ok bool) {
	if len(line) < 8 {
		return time.Time{}, line, false
	}
	if c := line[0]; c != '[' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') {
		return time.Time{}, line, false
	}
	head := line[:min(len(line), 64)]
	for _, form := range stampForms {
		m := form.find().FindStringSubmatchIndex(head)
		if m == nil {
			continue
		}
		text := head[m[2]:m[3]]
		if form.layout == "" {
			at, ok = parseISO(text)
		} else if t, err := time.Parse(form.layout, text); err == nil {
			at, ok = t, true
		}
		if ok && plausible(at) {
			return at, strings.TrimLeft(line[m[1]:], "]"), true
		}
		return time.Time{}, line, false
	}
	return time.Time{}, line, false
}

// parseISO reads the variants of ISO 8601 that logs and exports have.
func parseISO(text string) (time.Time, bool) {
	text = strings.TrimSpace(strings.Replace(text, ",", ".", 1))
	if len(text) < 19 {
		return time.Time{}, false
	}
	text = text[:10] + "T" + text[11:]
	text = strings.TrimSuffix(strings.TrimSuffix(text, "UTC"), " ")
	text = strings.Replace(text, " ", "", 1)
	for _, layout := range []string{"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}

// parseTime reads a time that stands alone: in a cell or a field. Azure writes
// 01/01/0001 for never.
func parseTime(text string) (time.Time, bool) {
	text = strings.TrimSpace(text)
	if at, ok := parseISO(text); ok {
		return at, plausible(at)
	}
	for _, layout := range []string{
		"1/2/2006, 3:04:05 PM", "1/2/2006 3:04:05 PM", "01/02/2006 15:04:05",
		// The portal writes the time as the browser's language does: with a clock of
		// 24 hours the day stands before the month.
		"2/1/2006, 15:04:05", "2.1.2006, 15:04:05", "2.1.2006 15:04:05", "2-1-2006 15:04:05", "2006-1-2, 15:04:05", "2006/1/2 15:04:05",
		"2006/01/02 15:04:05", "Mon Jan _2 15:04:05 2006", "02/Jan/2006:15:04:05 -0700", "2006-01-02 15:04", "2006-01-02T15:04Z",
		"2006-01-02 15:04:05 -0700 MST",
	} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), plausible(at)
		}
	}
	return time.Time{}, false
}

// parseEpoch reads a Unix time in s, ms, µs or ns.
func parseEpoch(text string) (time.Time, bool) {
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || x < 1e9 || x > 4e18 {
		return time.Time{}, false
	}
	for x > 4e9 {
		x /= 1000
	}
	at := time.Unix(0, int64(x*1e9)).UTC()
	return at, plausible(at)
}

// plausible leaves out what stands for never, and what is no time.
func plausible(at time.Time) bool { return at.Year() >= 1990 && at.Year() <= 2200 }
