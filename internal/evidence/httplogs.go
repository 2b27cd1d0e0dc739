package evidence

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// mostRequests bounds the requests that are kept of one file.
const mostRequests = 200_000

func (r *Requests) add(q Request) {
	if len(r.List) >= mostRequests {
		r.Cut++
		return
	}
	r.List = append(r.List, q)
}

// httpLogs reads AppServiceHTTPLogs: TimeTaken is in ms, TimeGenerated is when
// the answer ended, 499 is a client that left.
//
// https://learn.microsoft.com/azure/azure-monitor/reference/tables/appservicehttplogs
func (b *builder) httpLogs(s *sheet) error {
	r := Requests{File: s.file.name, As: "AppServiceHTTPLogs"}
	when, status, taken := s.timeColumn(), s.column("ScStatus"), s.column("TimeTaken")
	path, host := s.column("CsUriStem"), s.column("CsHost", "SiteName")
	bad := 0
	for i := range s.rows {
		row := &s.rows[i]
		q := Request{Path: shorten(row.cell(path)), App: siteOf(row.cell(host)), Line: row.line, Seconds: -1}
		ok := true
		if q.At, ok = s.whenOf(row, when); !ok {
			continue
		}
		if q.Status, ok = statusOf(row.cell(status)); !ok {
			s.refuse(row, status, statusWant)
			continue
		}
		if q.Seconds, ok = s.tookOf(row, taken, 1e-3); !ok {
			continue
		}
		if q.Status == 0 && q.Seconds < 0 {
			bad++
			continue
		}
		r.add(q)
	}
	b.takeRequests(s, r, bad)
	return nil
}

// probeRows reads what a prober wrote: traffic.csv of the reference, with a
// time, a URL, a status and a time in ms or s.
func (b *builder) probeRows(s *sheet) error {
	r := Requests{File: s.file.name, As: "probes", Outside: true}
	when, url := s.timeColumn(), s.column("url", "path", "uri", "endpoint", "target")
	status := s.column("status", "status_code", "http_code")
	took, factor := s.durationColumn()
	fault, app := s.column("outcome", "error", "err"), s.column("app")
	bad := 0
	for i := range s.rows {
		row := &s.rows[i]
		q := Request{App: hostOf(row.cell(url)), Path: pathOf(row.cell(url)), Asks: strings.Contains(row.cell(url), "?"), Line: row.line, Seconds: -1}
		ok := true
		if q.At, ok = s.whenOf(row, when); !ok {
			continue
		}
		text := row.cell(status)
		if q.Status, ok = statusOf(text); !ok && !failureWord().MatchString(text) {
			s.refuse(row, status, statusWant+", or a word for what kept the answer away")
			continue
		}
		if q.Status == 0 && strings.HasPrefix(row.cell(took), "-") {
			q.Seconds = -1 // which is how probers write that there was no answer to time
		} else if q.Seconds, ok = s.tookOf(row, took, factor); !ok {
			continue
		}
		if q.Seconds >= 0 && !q.At.IsZero() { // the time is that of its beginning
			q.At = q.At.Add(time.Duration(q.Seconds * float64(time.Second)))
		}
		if name := row.cell(app); name != "" {
			q.App = shorten(name)
		}
		q.Outcome = shorten(row.cell(fault))
		if q.Status == 0 && q.Outcome == "" && text != "" {
			q.Outcome = "no answer"
		}
		if text == "" && q.Seconds < 0 {
			bad++
			continue
		}
		r.add(q)
	}
	b.takeRequests(s, r, bad)
	return nil
}

// durationColumn finds how long requests took, and what makes seconds of it.
func (s *sheet) durationColumn() (column int, factor float64) {
	for i, h := range s.header {
		c := columnOfName(h)
		name := strings.ToLower(c.Metric)
		if strings.EqualFold(h, "time_total") { // curl's name for it, in s
			name = "time_total"
		}
		switch name {
		case "elapsed", "latency", "duration", "time_total", "took", "averageresponsetime", "response_time", "total_time":
			switch c.Unit {
			case "ms":
				return i, 1e-3
			case "µs":
				return i, 1e-6
			}
			return i, 1
		}
	}
	return -1, 1
}

const statusWant = "a status of HTTP, 100 to 599, or 0 or empty where no answer came"

// failureWord are words that probers write where a status would stand.
var failureWord = expression(`(?i)time|refus|reset|err|fail|unreach|abort|clos|dns|no answer|exception`)

// statusOf reads a status; 0 stands for no answer.
func statusOf(text string) (status int, ok bool) {
	if noValue(text) {
		return 0, true
	}
	x, err := strconv.ParseFloat(text, 64) // of JSON and of spreadsheets it may be 200.0
	if err != nil || x != math.Trunc(x) || x != 0 && (x < 100 || x > 599) {
		return 0, false
	}
	return int(x), true
}

// whenOf reads the time of a request, zero where the row has none; ok is false if
// what stands there is no time, which is refused.
func (s *sheet) whenOf(row *sheetRow, column int) (at time.Time, ok bool) {
	at, ok = s.time(row, column)
	if !ok && !noValue(row.cell(column)) {
		s.refuse(row, column, "a time")
		return time.Time{}, false
	}
	return at, true
}

// tookOf reads how long a request took, -1 where the row does not say; ok is
// false if what stands there cannot be, which is refused.
func (s *sheet) tookOf(row *sheetRow, column int, factor float64) (seconds float64, ok bool) {
	text := row.cell(column)
	if noValue(text) {
		return -1, true
	}
	const most = 1e6 // s, eleven days
	d := parsedNumber(text, Seconds, Source{})
	if !d.Known || d.Number < 0 || d.Number*factor >= most {
		s.refuse(row, column, "a number from 0, below eleven days")
		return -1, false
	}
	return d.Number * factor, true
}

func (b *builder) takeRequests(s *sheet, r Requests, bad int) {
	note := s.cutNote()
	if refused := s.refused.n; refused > 0 {
		note = joinNotes(note, strconv.Itoa(refused)+" rows hold what cannot be and were not read")
		b.gap(HasRequests, Unreadable, fmt.Sprintf("%s of %s rows hold what cannot be", grouped(refused), grouped(refused+len(r.List)+bad)), Source{File: s.file.name})
		if len(r.List) == 0 && len(r.Buckets) == 0 {
			b.input(s.file, r.As, note)
			return
		}
	}
	if bad > 0 {
		note = joinNotes(note, strconv.Itoa(bad)+" rows have neither a status nor a time")
	}
	b.c.Requests = append(b.c.Requests, r)
	b.input(s.file, r.As, note)
}

func hostOf(url string) string {
	_, rest, ok := strings.Cut(url, "://")
	if !ok {
		return ""
	}
	host, _, _ := strings.Cut(rest, "/")
	return shorten(host)
}

// pathOf is the path of a request's target or of a URL. It leaves the query out,
// which may hold secrets.
func pathOf(target string) string {
	target, _, _ = strings.Cut(target, "?")
	if _, rest, ok := strings.Cut(target, "://"); ok && target[0] != '/' {
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			target = rest[i:]
		} else {
			target = "/"
		}
	}
	return shorten(target)
}

var (
	bucketTime  = expression(`(\d+(?:\.\d+)?) ?(ms|s)\b`)
	bucketUnder = expression(`(?i)^(?:under|below|lt|<|<=|le)`)
	bucketOut   = expression(`(?i)time-?out`)
)

// buckets reads requests that were only counted: "under_0.5s,196".
func (b *builder) buckets(s *sheet) error {
	r := Requests{File: s.file.name, As: "probes in buckets", Outside: true}
	label, count := s.column("bucket"), s.column("count")
	for i := range s.rows {
		row := &s.rows[i]
		from := s.from(row, count)
		k := Bucket{Label: shorten(row.cell(label)), Count: parsedNumber(row.cell(count), Events, from)}
		none := Missing(Absent, "the bucket names no time", s.from(row, label))
		k.Least, k.Most = none, none
		text := strings.ReplaceAll(k.Label, "_", " ")
		if m := bucketTime().FindStringSubmatch(text); m != nil {
			v := parsedNumber(m[1], Seconds, s.from(row, label))
			if m[2] == "ms" {
				v = v.Times(1e-3, Seconds)
			}
			k.Most = v
			if !bucketUnder().MatchString(text) {
				k.Least = v
			} else {
				k.Least = Known(0, Seconds, s.from(row, label))
			}
		}
		if k.TimeOut = bucketOut().MatchString(text); k.TimeOut {
			k.Most = Missing(CannotTell, "it was given up", s.from(row, label))
		}
		r.Buckets = append(r.Buckets, k)
	}
	b.takeRequests(s, r, 0)
	return nil
}
