package evidence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// object is a JSON object; numbers in it are json.Number.
type object = map[string]any

// mostJSON is the most JSON that is read at once: it takes several times its
// size in memory.
const mostJSON = 32 << 20

// parseJSON reads exports in JSON. A file of a JSON value for each line is a
// log.
func (b *builder) parseJSON(f *file) bool {
	trimmed := bytes.TrimSpace(f.data)
	if len(trimmed) == 0 || trimmed[0] != '{' && trimmed[0] != '[' {
		return false
	}
	if kernelDay().Match(trimmed[:min(len(trimmed), 64)]) || kernelApart().Match(trimmed[:min(len(trimmed), 64)]) {
		return false // dmesg with the time between lines
	}
	if trimmed[0] == '[' && !bytes.ContainsRune([]byte("{[]\"-0123456789 \t\r\n"), rune(next(trimmed))) {
		return false // a log line in brackets
	}
	if len(trimmed) > mostJSON {
		first, _, _ := bytes.Cut(trimmed, []byte{'\n'})
		if _, _, dated := stamp(string(trimmed[:128])); dated {
			return false // a log whose lines begin with a time in brackets
		}
		if first[0] == '{' && len(first) < mostLine && json.Valid(first) {
			return b.jsonLines(f)
		}
		b.strange(f, fmt.Sprintf("it is JSON of more than %d MiB", mostJSON>>20))
		return true
	}
	v, more, err := decodeJSON(trimmed)
	if err != nil {
		if _, _, ok := stamp(string(trimmed[:min(len(trimmed), 128)])); ok || namedLog(f.base()) {
			return false
		}
		b.strange(f, "it begins like JSON and is none: "+jsonFault(trimmed, err))
		return true
	}
	if _, ok := v.(object); more && ok {
		return b.jsonLines(f)
	} else if more {
		return false // a log whose first word is in brackets
	}
	if o, ok := v.(object); ok {
		if text, _ := dockerEventText(o); text != "" {
			return b.jsonLines(f)
		}
	}
	for _, known := range jsonFormats {
		if as, ok := known(b, f, v); ok {
			b.input(f, as, "")
			return true
		}
	}
	if o, ok := v.(object); ok && (o["Msg"] != nil && o["Reason"] != nil || firstText(o, "message", "msg", "MESSAGE", "Log") != "") {
		return b.jsonLines(f) // a log of one line
	}
	b.strange(f, "it is JSON of a kind that is not known: "+shape(v))
	return true
}

func next(trimmed []byte) byte {
	if len(trimmed) > 1 {
		return trimmed[1]
	}
	return ' '
}

// decodeJSON reads one value; more says that others follow it.
func decodeJSON(data []byte) (v any, more bool, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, false, err
	}
	_, err = d.Token()
	return v, !errors.Is(err, io.EOF), nil
}

// jsonFault says where JSON is broken.
func jsonFault(data []byte, err error) string {
	if se := (*json.SyntaxError)(nil); errors.As(err, &se) {
		at := min(int(se.Offset), len(data))
		return fmt.Sprintf("line %d: %v", 1+bytes.Count(data[:at], []byte{'\n'}), err)
	}
	return err.Error()
}

// jsonFormats are tried in this order.
var jsonFormats = []func(b *builder, f *file, v any) (as string, ok bool){
	metricsJSON, logAnalyticsJSON, diagProcJSON, dmesgJSON, nstatJSON, pumaJSON, uwsgiJSON, fpmStatusJSON, dockerInspectJSON, crictlInspectJSON, podJSON, kubeEventsJSON,
	replicaJSON, ingressJSON, webAppJSON, settingsJSON, rowsJSON, emptyListJSON,
}

// emptyListJSON knows what kubectl prints where there is nothing: no event, no pod.
func emptyListJSON(_ *builder, _ *file, v any) (string, bool) {
	items, ok := at(v, "items").([]any)
	return "kubectl, an empty list", ok && len(items) == 0 && strings.HasSuffix(textOf(at(v, "kind")), "List")
}

// shape names the first keys of a value.
func shape(v any) string {
	switch v := v.(type) {
	case object:
		keys := sortedKeys(v)
		if len(keys) == 0 {
			return "an empty object"
		}
		return "an object with " + shorten(strings.Join(keys[:min(len(keys), 6)], ", "))
	case []any:
		if len(v) > 0 {
			return "a list of " + strings.TrimPrefix(shape(v[0]), "an ")
		}
		return "an empty list"
	}
	return "a single value"
}

// text returns a value of an object as text: a string, or a number as it stands
// there.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

func firstText(o object, keys ...string) string {
	for _, k := range keys {
		if text := textOf(o[k]); text != "" {
			return text
		}
	}
	return ""
}

// at follows keys into nested objects; nil if one of them is missing.
func at(v any, keys ...string) any {
	for _, k := range keys {
		o, ok := v.(object)
		if !ok {
			return nil
		}
		v = o[k]
	}
	return v
}

func objectAt(v any, keys ...string) object {
	o, _ := at(v, keys...).(object)
	return o
}

func listAt(v any, keys ...string) []any {
	l, _ := at(v, keys...).([]any)
	return l
}

// jsonNumber makes a value of a number at keys below v.
func jsonNumber(f *file, v any, unit Unit, place string, keys ...string) Value {
	from := Source{File: f.name, Field: strings.TrimPrefix(place+"."+strings.Join(keys, "."), ".")}
	found := at(v, keys...)
	if found == nil {
		return Missing(Absent, "the file has no such field", from)
	}
	return parsedNumber(textOf(found), unit, from)
}

func jsonTri(v any, keys ...string) Tri {
	if yes, ok := at(v, keys...).(bool); ok {
		return triOf(yes)
	}
	return Unsure
}

// rowsOf makes a sheet of a list of flat objects.
func rowsOf(f *file, list []any) (*sheet, bool) {
	s := &sheet{file: f, refused: refusals{row: "row"}}
	for i, v := range list {
		o, ok := v.(object)
		if !ok {
			return nil, false
		}
		if i == 0 {
			s.header = sortedKeys(o)
		}
		cells := make([]string, len(s.header))
		for k, value := range o {
			j := slices.Index(s.header, k)
			if j < 0 && len(s.header) < mostColumns {
				s.header = append(s.header, k)
				cells = append(cells, "")
				j = len(s.header) - 1
			}
			if j >= 0 && j < len(cells) {
				cells[j] = textOf(value)
			}
		}
		s.add(sheetRow{line: i + 1, cells: cells})
	}
	return s, len(list) > 0
}

// rowsJSON reads a list of objects that are rows of a table: none of them has
// anything but words and numbers, and numbers are among them.
func rowsJSON(b *builder, f *file, v any) (string, bool) {
	list, ok := v.([]any)
	if !ok || len(list) < 2 {
		return "", false
	}
	numbers := false
	for _, row := range list {
		o, ok := row.(object)
		if !ok {
			return "", false
		}
		for _, value := range o {
			switch value.(type) {
			case object, []any:
				return "", false
			case json.Number, float64:
				numbers = true
			}
		}
	}
	s, ok := rowsOf(f, list)
	if !ok || !numbers {
		return "", false
	}
	if err := b.takeSheet(s); err != nil {
		return "", false
	}
	return "rows of a table", true
}

// logAnalyticsJSON reads the result of a query: as the API and the portal write
// it (tables of columns and rows), and as az writes it (a list of objects).
//
// https://learn.microsoft.com/azure/azure-monitor/logs/api/response-format
func logAnalyticsJSON(b *builder, f *file, v any) (string, bool) {
	if tables := listAt(v, "tables"); tables != nil {
		for _, t := range tables {
			s := &sheet{file: f, refused: refusals{row: "row"}}
			for _, c := range listAt(t, "columns") {
				s.header = append(s.header, textOf(at(c, "name")))
			}
			for i, r := range listAt(t, "rows") {
				var cells []string
				row, ok := r.([]any)
				if !ok {
					s.refused.add(Source{File: f.name, Line: i + 1}, "it is "+shape(r)+", and it has to be a list of cells")
					continue
				}
				for _, cell := range row[:min(len(row), mostColumns)] {
					cells = append(cells, textOf(cell))
				}
				s.add(sheetRow{line: i + 1, cells: cells})
			}
			if len(s.header) == 0 {
				return "", false
			}
			if err := b.takeSheet(s); err != nil {
				b.strange(f, err.Error())
			}
		}
		return "Log Analytics result", true
	}
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return "", false
	}
	first, ok := list[0].(object)
	if !ok || first["TimeGenerated"] == nil && first["TableName"] == nil {
		return "", false
	}
	s, ok := rowsOf(f, list)
	if !ok {
		return "", false
	}
	if err := b.takeSheet(s); err != nil {
		b.strange(f, err.Error())
	}
	return "Log Analytics result", true
}

// metricsJSON reads "az monitor metrics list". Azure leaves the value out of a
// minute in which nothing was measured.
//
// https://learn.microsoft.com/rest/api/monitor/metrics/list
func metricsJSON(b *builder, f *file, v any) (string, bool) {
	metrics := listAt(v, "value")
	found := metrics != nil && len(metrics) == 0 && at(v, "namespace") != nil // an answer without any series
	for _, m := range metrics {
		name := textOf(at(m, "name", "value"))
		if name == "" || at(m, "timeseries") == nil {
			continue
		}
		found = true
		for _, t := range listAt(m, "timeseries") {
			app := siteOf(textOf(at(v, "resource")))
			for _, label := range listAt(t, "metadatavalues") {
				app = shorten(textOf(at(label, "value")))
			}
			if app == "" {
				app = resourceOf(textOf(at(m, "id")))
			}
			b.metricSeries(f, name, azureUnit(textOf(at(m, "unit")), name), app, listAt(t, "data"))
		}
	}
	return "Azure metrics", found
}

// resourceOf takes the resource's name out of the id of its metric.
func resourceOf(id string) string {
	before, _, ok := strings.Cut(id, "/providers/Microsoft.Insights")
	if !ok {
		return ""
	}
	return siteOf(before)
}

func (b *builder) metricSeries(f *file, name, unit, app string, data []any) {
	refused := refusals{row: "value"}
	defer refused.tell(b, f.name)
	for _, of := range []string{"average", "maximum", "minimum", "total", "count"} {
		s := Series{Metric: shorten(name), Unit: unit, Of: of, App: app, From: Source{File: f.name, Field: name + " " + of}}
		seen := false
		for i, d := range data {
			stamp, ok := parseTime(textOf(at(d, "timeStamp")))
			if !ok {
				if at(d, of) != nil {
					refused.add(Source{File: f.name, Line: i + 1}, notA("timeStamp", textOf(at(d, "timeStamp")), "a time"))
				}
				continue
			}
			value := at(d, of)
			seen = seen || value != nil
			if v := parsedNumber(textOf(value), NoUnit, Source{}); v.Known {
				s.Points = append(s.Points, Point{At: stamp, Number: v.Number})
			} else {
				if text := textOf(value); !noValue(text) {
					refused.add(Source{File: f.name, Line: i + 1}, notA(name+" "+of, text, "a number"))
				}
				s.Sparse++
			}
		}
		if seen {
			sortPoints(&s)
			b.c.Series = append(b.c.Series, s)
		}
	}
}
