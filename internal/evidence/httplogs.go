package evidence

import (
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
		q.At, _ = s.time(row, when)
		q.Status, _ = strconv.Atoi(row.cell(status))
		if ms := parsedNumber(row.cell(taken), Millis, Source{}); ms.Known && ms.Number >= 0 {
			q.Seconds = ms.Number / 1000
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
		var dated bool
		q.At, dated = s.time(row, when)
		text := row.cell(status)
		q.Status, _ = strconv.Atoi(text)
		if d := parsedNumber(row.cell(took), Seconds, Source{}); d.Known && d.Number >= 0 && d.Number*factor < 1e6 {
			q.Seconds = d.Number * factor
			// The time is that of its beginning.
			if dated {
				q.At = q.At.Add(time.Duration(q.Seconds * float64(time.Second)))
			}
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

func (b *builder) takeRequests(s *sheet, r Requests, bad int) {
	note := s.cutNote()
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
