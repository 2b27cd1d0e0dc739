package evidence

import "time"

// Series is a metric over time.
type Series struct {
	Metric string // Azure's or the file's name, without unit and aggregation
	Unit   string // as the file has it: %, ms, s, bytes, MB; empty if it does not say
	Of     string // average, maximum, minimum, total, count; empty if it does not say
	App    string // the resource, site or instance; empty for the whole
	From   Source // Line is that of the heading, or 0
	Points []Point
	// Sparse counts the instants that the file has without a value.
	Sparse int
}

// Point is one value of a series.
type Point struct {
	At     time.Time
	Number float64
	Line   int
}

// Max returns the largest point as a value, missing in an empty series.
func (s *Series) Max() Value {
	return s.extreme(func(a, b float64) bool { return a > b })
}

// Min returns the smallest point as a value, missing in an empty series.
func (s *Series) Min() Value {
	return s.extreme(func(a, b float64) bool { return a < b })
}

func (s *Series) extreme(better func(a, b float64) bool) Value {
	if len(s.Points) == 0 {
		return Missing(NotSeen, "the series has no points", s.From)
	}
	best := s.Points[0]
	for _, p := range s.Points[1:] {
		if better(p.Number, best.Number) {
			best = p
		}
	}
	return s.value(best)
}

// Last returns the latest point as a value, missing in an empty series.
func (s *Series) Last() Value {
	if len(s.Points) == 0 {
		return Missing(NotSeen, "the series has no points", s.From)
	}
	return s.value(s.Points[len(s.Points)-1])
}

func (s *Series) value(p Point) Value {
	at := s.From
	at.Line = p.Line
	return Known(p.Number, Unit(s.Unit), at)
}

// SeriesOf returns the series of a metric.
func (c *Case) SeriesOf(metric string) []*Series {
	var found []*Series
	for i := range c.Series {
		if c.Series[i].Metric == metric {
			found = append(found, &c.Series[i])
		}
	}
	return found
}

// Table is a table whose rows are no instants: the steps of a ladder, phases,
// buckets.
type Table struct {
	File    string
	Columns []Column
	Rows    []Row
}

// Column is the heading of a column.
type Column struct {
	Name   string // as it stands there
	Metric string // without unit and aggregation
	Unit   string
	Of     string
}

// Row is one line of a table.
type Row struct {
	Label string // its first cell that is no number
	Line  int
	Cells []Cell
}

// Cell is one cell. Number is missing where the cell is empty or text.
type Cell struct {
	Text   string
	Number Value
}

// Column returns the place of the first column of a metric, -1 if there is none.
func (t *Table) Column(metric string) int {
	for i, c := range t.Columns {
		if c.Metric == metric {
			return i
		}
	}
	return -1
}

// Value returns a row's number in the column of a metric.
func (t *Table) Value(row int, metric string) Value {
	i := t.Column(metric)
	if i < 0 || row < 0 || row >= len(t.Rows) || i >= len(t.Rows[row].Cells) {
		return Missing(NotSeen, "the table has no "+metric, Source{File: t.File})
	}
	return t.Rows[row].Cells[i].Number
}

// TableWith returns the first table that has columns of all of these metrics.
func (c *Case) TableWith(metrics ...string) *Table {
	for i := range c.Tables {
		t, all := &c.Tables[i], true
		for _, m := range metrics {
			all = all && t.Column(m) >= 0
		}
		if all {
			return t
		}
	}
	return nil
}

// Requests are HTTP requests of one file, as the server, the platform's front
// end or a probe saw them.
type Requests struct {
	File string
	As   string // AppServiceHTTPLogs, traffic.csv, probes of a run …
	// Outside says that it was seen from outside: a probe.
	Outside  bool
	From, To time.Time
	List     []Request // in the order of time
	// Buckets are given instead where the file only counts.
	Buckets []Bucket
	// Cut is how many more the file has than were kept.
	Cut int
}

// Request is one request.
type Request struct {
	At      time.Time // when it ended; zero if not told
	App     string
	Path    string  // without its query
	Asks    bool    // it has a query: it asks for something in particular
	Status  int     // 0 if there was no answer
	Seconds float64 // -1 if not told
	Outcome string  // of probes: ok, timeout, refused …
	Line    int
}

// Bucket counts requests that took about as long.
type Bucket struct {
	Label   string
	Least   Value // s; missing where the label has no number
	Most    Value // s
	TimeOut bool  // they were not answered within Least
	Count   Value
}

// Activity is what a machine did over a stretch of time.
type Activity struct {
	Tool string // "two readings", vmstat, top, sar
	From Source
	At   time.Time // its end
	// SinceBoot says that these are averages since boot, which show nothing of
	// now: the first line of vmstat.
	SinceBoot bool
	Seconds   Value // how long; missing where the tool does not say

	User, System, Idle, IOWait, Steal Value // % of all CPUs
	SwapIn, SwapOut                   Value // pages/s, or KiB/s of vmstat: see Unit
	BlockIn, BlockOut                 Value // KiB/s
	Runnable, Blocked                 Value // tasks
	Kswapd                            Value // % of one CPU, all threads
	ScanKswapd, ScanDirect            Value // pages/s
	Refault                           Value // pages/s, file and anonymous
}
