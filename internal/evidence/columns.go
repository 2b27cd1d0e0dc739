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
	// columnNames are other names of Azure's metrics and of what tables of steps
	// have, in small letters with underscores.
	columnNames = map[string]string{
		"memory_percentage": "MemoryPercentage", "cpu_percentage": "CpuPercentage",
		"memory": "MemoryPercentage", "mem": "MemoryPercentage", "memorypercentage": "MemoryPercentage", "memory_used": "MemoryPercentage",
		"mem_used": "MemoryPercentage", "memory_usage": "MemoryPercentage", "mem_usage": "MemoryPercentage", "plan_memory": "MemoryPercentage",
		"cpu": "CpuPercentage", "cpupercentage": "CpuPercentage", "cpu_usage": "CpuPercentage", "plan_cpu": "CpuPercentage",
		"errors_5xx": "Http5xx", "http5xx": "Http5xx", "5xx": "Http5xx", "http_5xx": "Http5xx", "status_5xx": "Http5xx", "5xx_errors": "Http5xx",
		"http_errors": "Http5xx", "server_errors": "Http5xx", "failed_requests": "Http5xx", "http_503": "Http5xx",
		"latency": "AverageResponseTime", "avg_latency": "AverageResponseTime", "averageresponsetime": "AverageResponseTime",
		"mean_latency": "AverageResponseTime", "avg_response_time": "AverageResponseTime",
		"responsetime": "HttpResponseTime", "httpresponsetime": "HttpResponseTime",
		"workingsetbytes": "WorkingSetBytes", "memoryworkingset": "MemoryWorkingSet", "restartcount": "RestartCount",
		"usagenanocores": "UsageNanoCores", "httpqueuelength": "HttpQueueLength",
		"cold_start": "cold_start", "coldstart": "cold_start", "cold_start_time": "cold_start", "startup": "cold_start",
		"startup_time": "cold_start", "start_time": "cold_start", "time_to_ready": "cold_start", "boot_time": "cold_start",
		"apps": "apps", "n_apps": "apps", "num_apps": "apps", "number_of_apps": "apps", "app_count": "apps", "running_apps": "apps",
		"alloc": "alloc", "allocation": "alloc", "alloc_per_app": "alloc",
	}
)

// columnOfName takes a heading apart: WorkingSetBytes_MB_avg is the average of
// WorkingSetBytes in MB.
func columnOfName(name string) Column {
	// The portal's charts name the resource behind the metric.
	metric, _, _ := strings.Cut(name, ", ")
	c := Column{Name: name, Metric: strings.TrimSpace(metric)}
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
	c.rename()
	if c.Unit == "" {
		c.Unit = usualUnit(c.Metric)
	}
	return c
}

// measures reports whether a column can hold nothing but numbers, by its heading.
func (c *Column) measures() bool {
	_, within := metricRange(c.Metric, c.Of)
	return within != nil
}

// rename gives a column the usual name of what it holds. A share of memory or
// of the CPUs is no amount of it.
func (c *Column) rename() {
	plain := strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(c.Metric))
	if c.Of == "count" {
		plain += "_count"
	}
	known, ok := columnNames[plain]
	if !ok {
		known, ok = columnNames[strings.TrimSuffix(plain, "_count")]
	}
	if share := usualUnit(known) == "%"; ok && (!share || c.Unit == "" || c.Unit == "%") {
		c.Metric = known
	}
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
			if columns[j].measures() && !cell.Number.Known && !noValue(text) {
				s.refuse(row, j, "a number")
			}
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
	faults := map[int][]*sheetRow{} // rows with a word, by column
	for i := range s.rows {
		row := &s.rows[i]
		at, ok := s.time(row, when)
		if !ok {
			s.refuse(row, when, "a time")
			continue
		}
		for j, c := range columns {
			if j == when || j == app {
				continue
			}
			text := row.cell(j)
			v := parsedNumber(text, NoUnit, Source{})
			if !v.Known && text != "" {
				if !noValue(text) {
					faults[j] = append(faults[j], row)
				}
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
	measured := map[int]bool{}
	for k, n := range place {
		sortPoints(&b.c.Series[n])
		measured[k.column] = measured[k.column] || len(b.c.Series[n].Points) > 0
	}
	for j, c := range columns { // a column of words alone is no metric
		for _, row := range faults[j] {
			if measured[j] || c.measures() {
				s.refuse(row, j, "a number")
			}
		}
	}
	b.input(s.file, "metrics over time", s.cutNote())
}
