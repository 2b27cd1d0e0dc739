package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"brink/internal/phrase"
)

// maxRequests bounds the bars of one picture, maxRows its rows.
const (
	maxRequests = 500
	maxRows     = 60
)

// RequestsInput is one repetition's requests.
type RequestsInput struct {
	ID    string
	Title string
	// Requests may be in any order. At most the 500 that were due first are
	// drawn; the note says so.
	Requests []Request
	// Total is how many requests there were, when Requests holds only the
	// first of them; 0 means all.
	Total int
	// Workers is how many requests the app serves at once, 0 where it has no
	// fixed number, as on an event loop; Processes is how many processes do.
	Workers, Processes int
}

// Request is one request. Times are in seconds since the first was due.
type Request struct {
	// Due is when it was due, Start when a worker took it up (the end less the
	// time that the app says it served), End when the outcome was known.
	// Due ≤ Start ≤ End; Start is ignored when Pid is 0.
	Due, Start, End float64
	// Connected is when its connection was open for the client, 0 where that is
	// not known or no new one was needed.
	Connected float64
	// Pid is the process that served it, 0 when none is known.
	Pid int32
	// Outcome is traffic's word; "ok" is success.
	Outcome string
}

const inService = "in service"

// outcomeWords are what a legend calls traffic's outcomes.
var outcomeWords = map[string]string{
	"ok": inService, "timeout": "timed out", "refused": "refused", "reset": "reset",
	"aborted": "cut off", "http_4xx": "4xx answer", "http_5xx": "5xx answer", "canceled": "canceled", "unsent": "not sent",
}

func outcomeWord(outcome string) string {
	if w, ok := outcomeWords[outcome]; ok {
		return w
	}
	return "failed: " + visible(outcome)
}

// RequestBars draws every request as a bar on its worker's row over time. The
// time in service is a thick bar; the wait before it is thin ones below, on the
// row of the worker that ended the wait: for its connection, while all workers
// were busy, and while one was idle. Requests that no worker answered
// have a row of their own.
func RequestBars(in RequestsInput) (Chart, error) {
	if len(in.Requests) == 0 {
		return Chart{}, fmt.Errorf("chart %s: %w", in.ID, errNothingToDraw)
	}
	for _, r := range in.Requests {
		if err := checkFinite(in.ID, r.Due, r.Start, r.End, r.Connected); err != nil {
			return Chart{}, err
		}
	}
	requests := sortedBy(in.Requests, func(a, b Request) bool { return a.Due < b.Due })
	total := max(in.Total, len(requests))
	requests = requests[:min(len(requests), maxRequests)]
	rows := in.rows(requests)
	note := explainWaits(rows)
	if len(requests) < total {
		note += fmt.Sprintf(" Drawn are the %d requests that were due first, of %s.", len(requests), phrase.Count(int64(total)))
	}
	alt := in.describe(requests, rows)
	if len(rows) > maxRows {
		note += fmt.Sprintf(" Of %d workers the first %d are drawn.", len(rows), maxRows)
		rows = rows[:maxRows]
	}
	note = strings.TrimSpace(note)
	l := layOut(rows)
	return newChart(in.ID, in.Title, alt, note, l.spec(len(requests) <= 60), requestTable(rows))
}

// requestRow is one worker with its requests, numbered from 1 by due time.
type requestRow struct {
	pid      int32
	label    string
	requests []numbered
}

type numbered struct {
	Request
	number int
	pieces []piece
}

func (r numbered) wait() float64 { return max(0, r.Start-r.Due) }

// rows groups by worker, workers in the order of their first service; the row
// without a worker comes last.
func (in RequestsInput) rows(requests []Request) []requestRow {
	busy := occupancyOf(in)
	byPid := map[int32]*requestRow{}
	for i, r := range requests {
		row := byPid[r.Pid]
		if row == nil {
			row = &requestRow{pid: r.Pid}
			byPid[r.Pid] = row
		}
		if r.Pid == 0 {
			r.Start = r.Due
		}
		row.requests = append(row.requests, numbered{r, i + 1, busy.pieces(r)})
	}
	rows := make([]requestRow, 0, len(byPid))
	for _, row := range byPid {
		row.requests = sortedBy(row.requests, func(a, b numbered) bool { return a.Start < b.Start })
		rows = append(rows, *row)
	}
	sort.Slice(rows, func(i, j int) bool {
		a, b := rows[i], rows[j]
		if (a.pid == 0) != (b.pid == 0) {
			return b.pid == 0
		}
		if a.requests[0].number != b.requests[0].number {
			return a.requests[0].number < b.requests[0].number
		}
		return a.pid < b.pid
	})
	word := "worker"
	if in.Workers == 0 || in.Workers != in.Processes && in.Processes > 0 {
		word = "process"
	}
	for i := range rows {
		rows[i].label = fmt.Sprintf("%s %d (pid %d)", word, i+1, rows[i].pid)
		if rows[i].pid == 0 {
			rows[i].label = "no worker"
		}
	}
	return rows
}

// lanes places intervals side by side so that none covers another, in at most
// limit lanes; beyond that they share.
type lanes struct {
	free  []float64
	limit int
}

func (l *lanes) place(from, to float64) int {
	// Clocks of the worker and of the client differ by a little.
	const slack = 0.005
	earliest := 0
	for i, f := range l.free {
		if f <= from+slack {
			l.free[i] = to
			return i
		}
		if f < l.free[earliest] {
			earliest = i
		}
	}
	if len(l.free) == l.limit {
		l.free[earliest] = max(to, l.free[earliest])
		return earliest
	}
	l.free = append(l.free, to)
	return len(l.free) - 1
}

// requestLayout is the picture in pixels from the top.
type requestLayout struct {
	height                 float64
	bars, numbers, stripes []object
	ticks                  []float64
	labels                 map[string]string
	kinds                  []string
}

const (
	thick, thinBar, gap, rowPad = 22.0, 7.0, 2.0, 7.0
	maxHeight                   = 900.0
)

func layOut(rows []requestRow) requestLayout {
	l := requestLayout{labels: map[string]string{}}
	for i, row := range rows {
		l.addRow(row, i%2 == 0)
	}
	if l.height > maxHeight {
		l.scale(maxHeight / l.height)
	}
	l.kinds = distinct(l.kinds)
	return l
}

func (l *requestLayout) addRow(row requestRow, striped bool) {
	top := l.height + rowPad
	service, queue := lanes{limit: 8}, lanes{limit: 24}
	place := make([]int, len(row.requests))
	for i, r := range row.requests {
		place[i] = service.place(r.Start, r.End)
	}
	queueTop := top + float64(len(service.free))*(thick+gap)
	for i, r := range row.requests {
		y := top + float64(place[i])*(thick+gap)
		l.addBar(r, outcomeWord(r.Outcome), r.Start, r.End, y, y+thick)
		l.numbers = append(l.numbers, object{"x": round((r.Start + r.End) / 2), "y": y + thick/2, "n": r.number})
		if len(r.pieces) > 0 {
			q := queueTop + float64(queue.place(r.Due, r.Start))*(thinBar+gap)
			for _, p := range r.pieces {
				l.addBar(r, p.kind, p.a, p.b, q, q+thinBar)
			}
		}
	}
	bottom := queueTop + float64(len(queue.free))*(thinBar+gap) - gap + rowPad
	if striped {
		l.stripes = append(l.stripes, object{"y": l.height, "y2": bottom})
	}
	tick := top + float64(len(service.free))*(thick+gap)/2
	l.ticks = append(l.ticks, tick)
	l.labels[strconv.FormatFloat(tick, 'f', -1, 64)] = row.label
	l.height = bottom
}

func (l *requestLayout) addBar(r numbered, kind string, x, x2, y, y2 float64) {
	l.kinds = append(l.kinds, kind)
	bar := object{"n": r.number, "k": kind, "x": round(x), "x2": round(x2), "y": y, "y2": y2, "end": round(r.End)}
	if r.Pid != 0 {
		bar["wait"], bar["served"] = round(r.wait()), round(r.End-r.Start)
	}
	l.bars = append(l.bars, bar)
}

// scale shrinks a picture that would be too tall.
func (l *requestLayout) scale(by float64) {
	for _, set := range [][]object{l.bars, l.numbers, l.stripes} {
		for _, o := range set {
			for _, k := range []string{"y", "y2"} {
				if y, ok := o[k].(float64); ok {
					o[k] = round(y * by)
				}
			}
		}
	}
	labels := map[string]string{}
	for i, t := range l.ticks {
		l.ticks[i] = round(t * by)
		labels[strconv.FormatFloat(l.ticks[i], 'f', -1, 64)] = l.labels[strconv.FormatFloat(t, 'f', -1, 64)]
	}
	l.labels, l.height = labels, round(l.height*by)
}

func (l requestLayout) spec(number bool) object {
	labels, _ := json.Marshal(l.labels) // a map of strings always marshals
	y := object{"field": "y", "type": "quantitative", "title": nil,
		"scale": object{"domain": []float64{0, l.height}, "reverse": true, "nice": false, "zero": false},
		"axis":  object{"values": l.ticks, "tickCount": len(l.ticks), "labelExpr": string(labels) + "[toString(datum.value)]", "labelOverlap": false, "grid": false}}
	x := quantity("x", "seconds since the first was due")
	bars := object{
		"data": inlineData(l.bars), "mark": object{"type": "rect", "cornerRadius": 1.5},
		"encoding": object{
			"x": x, "x2": object{"field": "x2"}, "y": y, "y2": object{"field": "y2"},
			"color": l.colours(),
			"tooltip": []object{
				{"field": "n", "title": "request"}, {"field": "k", "title": "part"}, {"field": "wait", "title": "waited, s"},
				{"field": "served", "title": "in service, s"}, {"field": "end", "title": "answered at, s"},
			},
		},
	}
	layers := []object{
		{"data": inlineData(l.stripes), "mark": object{"type": "rect", "style": "stripe"}, "encoding": object{"y": y, "y2": object{"field": "y2"}}},
		bars,
	}
	if number {
		layers = append(layers, object{"data": inlineData(l.numbers), "mark": object{"type": "text", "style": "onbar"},
			"encoding": object{"x": x, "y": y, "text": object{"field": "n", "type": "quantitative"}}})
	}
	return object{"height": l.height, "layer": layered(layers...)}
}

// colours gives the served, the waiting and the failed theirs, and what is
// neither the others.
func (l requestLayout) colours() object {
	others := []string{connecting, besideIdle, untaken}
	domain, beside := []string{inService, waiting}, []string(nil)
	for _, k := range l.kinds {
		switch {
		case slices.Contains(others, k):
			beside = append(beside, k)
		case !slices.Contains(domain, k):
			domain = append(domain, k)
		}
	}
	if len(domain) == 2 {
		domain = append(domain, "")
	}
	domain = append(domain, beside...)
	shown := slices.DeleteFunc(slices.Clone(domain), func(k string) bool { return !slices.Contains(l.kinds, k) })
	return colours("k", domain, object{"values": shown})
}

// describe is the picture in words.
func (in RequestsInput) describe(requests []Request, rows []requestRow) string {
	failed, last := 0, 0.0
	for _, r := range requests {
		if r.Outcome != "ok" {
			failed++
		}
		last = max(last, r.End)
	}
	s := fmt.Sprintf("%s at %s: %s", phrase.Plural(len(requests), "request"), in.who(rows), in.describeWaits(rows))
	if failed > 0 {
		s += fmt.Sprintf("; %d failed", failed)
	}
	return s + fmt.Sprintf(". The last outcome was known after %s.", formatValue(last, "s"))
}

// requestTable lists the requests, or sums them up by worker where there are
// too many to read.
func requestTable(rows []requestRow) Table {
	var n int
	for _, row := range rows {
		n += len(row.requests)
	}
	if n > 60 {
		return workerTable(rows)
	}
	t := Table{Columns: []string{"Request", "Row", "Due at, s", "Waited, s", "For a worker, s", "In service, s", "Outcome at, s", "Outcome"}}
	var all []numbered
	label := map[int]string{}
	for _, row := range rows {
		for _, r := range row.requests {
			label[r.number] = row.label
			all = append(all, r)
		}
	}
	for _, r := range sortedBy(all, func(a, b numbered) bool { return a.number < b.number }) {
		wait, queued, service := "–", "–", "–" // nobody knows them of a request without a worker
		if r.Pid != 0 {
			wait, queued, service = phrase.Number(r.wait()), phrase.Number(r.waited(waiting)), phrase.Number(r.End-r.Start)
		}
		t.Rows = append(t.Rows, []string{strconv.Itoa(r.number), label[r.number], phrase.Number(r.Due), wait, queued, service, phrase.Number(r.End), r.Outcome})
	}
	return t
}

func workerTable(rows []requestRow) Table {
	t := Table{Columns: []string{"Row", "Requests", "Longest wait, s", "Last outcome at, s"}}
	for _, row := range rows {
		var wait, last float64
		for _, r := range row.requests {
			wait, last = max(wait, r.wait()), max(last, r.End)
		}
		t.Rows = append(t.Rows, []string{row.label, strconv.Itoa(len(row.requests)), phrase.Number(wait), phrase.Number(last)})
	}
	return t
}
