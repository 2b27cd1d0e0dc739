package evidence

import "strings"

// units and aggregations that headings end with, behind an underscore or in
// parentheses.
var (
	columnUnits = map[string]string{
		"ms": "ms", "msec": "ms", "millis": "ms", "s": "s", "sec": "s", "secs": "s", "seconds": "s", "us": "µs",
		"mb": "MB", "mib": "MiB", "gb": "GB", "gib": "GiB", "kb": "kB", "kib": "KiB", "bytes": "bytes",
		"pct": "%", "percent": "%", "%": "%", "ns": "ns",
	}
	columnOf = map[string]string{
		"avg": "average", "average": "average", "mean": "average", "max": "maximum", "maximum": "maximum", "peak": "maximum",
		"min": "minimum", "minimum": "minimum", "total": "total", "sum": "total", "count": "count",
		"p50": "p50", "p95": "p95", "p99": "p99", "median": "p50",
	}
	// columnNames are other names of Azure's metrics.
	columnNames = map[string]string{
		"memory": "MemoryPercentage", "mem": "MemoryPercentage", "memorypercentage": "MemoryPercentage",
		"cpu": "CpuPercentage", "cpupercentage": "CpuPercentage", "errors_5xx": "Http5xx", "http5xx": "Http5xx", "5xx": "Http5xx",
		"latency": "AverageResponseTime", "avg_latency": "AverageResponseTime", "averageresponsetime": "AverageResponseTime",
		"responsetime": "HttpResponseTime", "httpresponsetime": "HttpResponseTime",
		"workingsetbytes": "WorkingSetBytes", "memoryworkingset": "MemoryWorkingSet", "restartcount": "RestartCount",
		"usagenanocores": "UsageNanoCores", "httpqueuelength": "HttpQueueLength", "cold_start": "cold_start", "coldstart": "cold_start",
	}
)

// columnOfName takes a heading apart: WorkingSetBytes_MB_avg is the average of
// WorkingSetBytes in MB.
func columnOfName(name string) Column {
	c := Column{Name: name, Metric: strings.TrimSpace(name)}
	if open := strings.LastIndexByte(c.Metric, '('); open > 0 && strings.HasSuffix(c.Metric, ")") {
		inside := strings.ToLower(c.Metric[open+1 : len(c.Metric)-1])
		if unit, ok := columnUnits[inside]; ok {
			c.Unit, c.Metric = unit, strings.TrimSpace(c.Metric[:open])
		} else if of, ok := columnOf[inside]; ok {
			c.Of, c.Metric = of, strings.TrimSpace(c.Metric[:open])
		}
	}
	for range 2 {
		i := strings.LastIndexAny(c.Metric, "_ ")
		if i <= 0 {
			break
		}
		last := strings.ToLower(c.Metric[i+1:])
		if unit, ok := columnUnits[last]; ok && c.Unit == "" {
			c.Unit, c.Metric = unit, c.Metric[:i]
		} else if of, ok := columnOf[last]; ok && c.Of == "" {
			c.Of, c.Metric = of, c.Metric[:i]
		} else {
			break
		}
	}
	if known, ok := columnNames[strings.ToLower(c.Metric)]; ok {
		c.Metric = known
	}
	if c.Unit == "" {
		c.Unit = usualUnit(c.Metric)
	}
	return c
}

// usualUnit is the unit in which Azure gives a metric.
func usualUnit(metric string) string {
	switch metric {
	case "MemoryPercentage", "CpuPercentage":
		return "%"
	case "MemoryWorkingSet", "WorkingSetBytes", "AverageMemoryWorkingSet":
		return "bytes"
	case "AverageResponseTime", "HttpResponseTime":
		return "s"
	}
	return ""
}

// plainTable makes series of a table with a time column, and a table of any
// other.
func (b *builder) plainTable(s *sheet) error {
	columns := make([]Column, len(s.header))
	for i, h := range s.header {
		columns[i] = columnOfName(h)
	}
	if when := s.timeColumn(); when >= 0 {
		b.timedTable(s, columns, when)
		return nil
	}
	t := Table{File: s.file.name, Columns: columns}
	const mostKept = 20_000
	for i := range s.rows[:min(len(s.rows), mostKept)] {
		row := &s.rows[i]
		r := Row{Line: row.line}
		for j := range columns {
			text := row.cell(j)
			cell := Cell{Text: shorten(text), Number: parsedNumber(strings.TrimPrefix(text, "~"), Unit(columns[j].Unit), s.from(row, j))}
			if r.Label == "" && text != "" && !cell.Number.Known {
				r.Label = cell.Text
			}
			r.Cells = append(r.Cells, cell)
		}
		t.Rows = append(t.Rows, r)
	}
	b.c.Tables = append(b.c.Tables, t)
	b.input(s.file, "table", s.cutNote())
	return nil
}

func (b *builder) timedTable(s *sheet, columns []Column, when int) {
	app := s.appColumn()
	type key struct {
		column int
		app    string
	}
	place := map[key]int{}
	for i := range s.rows {
		row := &s.rows[i]
		at, ok := s.time(row, when)
		if !ok {
			continue
		}
		for j, c := range columns {
			if j == when || j == app {
				continue
			}
			text := row.cell(j)
			v := parsedNumber(text, NoUnit, Source{})
			if !v.Known && text != "" {
				continue
			}
			k := key{j, row.cell(app)}
			n, seen := place[k]
			if !seen {
				n = len(b.c.Series)
				place[k] = n
				b.c.Series = append(b.c.Series, Series{Metric: c.Metric, Unit: c.Unit, Of: c.Of, App: siteOf(k.app),
					From: Source{File: s.file.name, Field: c.Name}})
			}
			if !v.Known {
				b.c.Series[n].Sparse++
				continue
			}
			b.c.Series[n].Points = append(b.c.Series[n].Points, Point{At: at, Number: v.Number, Line: row.line})
		}
	}
	for _, n := range place {
		sortPoints(&b.c.Series[n])
	}
	b.input(s.file, "metrics over time", s.cutNote())
}
