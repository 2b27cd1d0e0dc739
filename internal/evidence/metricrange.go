package evidence

import (
	"fmt"
	"slices"
	"strconv"
)

// shareSlack is what a share of 100 % may exceed it by: averages of an interval
// are of what was measured a little before and after it.
const shareSlack = 1

// neverNegative are metrics of times, amounts and counts.
//
// https://learn.microsoft.com/azure/azure-monitor/reference/metrics-index
var neverNegative = []string{
	"AverageResponseTime", "HttpResponseTime", "WorkingSetBytes", "MemoryWorkingSet", "AverageMemoryWorkingSet", "Http5xx", "Http4xx",
	"Requests", "RestartCount", "UsageNanoCores", "HttpQueueLength", "DiskQueueLength", "RequestsInApplicationQueue", "RequestQueueLength",
	"cold_start", "apps", "alloc",
}

// metricRange are the values that a metric can have, in the words of a sentence;
// within is nil for those of which nothing is known. Sums and counts of shares
// mean nothing and are not judged.
func metricRange(metric, of string) (words string, within func(float64) bool) {
	switch {
	case usualUnit(metric) == "%" && of != "total" && of != "count":
		return "0 to 100 %", func(x float64) bool { return x >= 0 && x <= 100+shareSlack }
	case slices.Contains(neverNegative, metric):
		return "0 and more", func(x float64) bool { return x >= 0 }
	}
	return "", nil
}

// refuseImpossible takes out series without a number, and series and columns that
// hold what their metric cannot be. All of one goes: a sum over instances is wrong below 100 % as well.
func (b *builder) refuseImpossible() {
	b.c.Series = slices.DeleteFunc(b.c.Series, func(s Series) bool {
		if len(s.Points) == 0 {
			b.gap(HasMetrics, Absent, s.Metric+" has no value that is a number", s.From)
			return true
		}
		words, within := metricRange(s.Metric, s.Of)
		if within == nil {
			return false
		}
		n, first := 0, Point{}
		for _, p := range s.Points {
			if !within(p.Number) {
				if n == 0 {
					first = p
				}
				n++
			}
		}
		if n == 0 {
			return false
		}
		at := s.From
		at.Line = first.Line
		b.impossible(at, s.Metric, s.App, words, first.Number, n, len(s.Points))
		return true
	})
	for i := range b.c.Tables {
		t := &b.c.Tables[i]
		for j, c := range t.Columns {
			b.refuseColumn(t, j, c)
		}
	}
}

func (b *builder) refuseColumn(t *Table, column int, c Column) {
	words, within := metricRange(c.Metric, c.Of)
	if within == nil {
		return
	}
	n, all, first := 0, 0, Value{}
	for _, r := range t.Rows {
		if column >= len(r.Cells) || !r.Cells[column].Number.Known {
			continue
		}
		all++
		if v := r.Cells[column].Number; !within(v.Number) {
			if n == 0 {
				first = v
			}
			n++
		}
	}
	if n == 0 {
		return
	}
	for _, r := range t.Rows {
		if column < len(r.Cells) && r.Cells[column].Number.Known {
			v := &r.Cells[column].Number
			*v = Missing(Implausible, c.Metric+" can be "+words, v.From...)
		}
	}
	at := Source{File: t.File, Field: c.Name}
	if len(first.From) > 0 {
		at = first.From[0]
	}
	b.impossible(at, c.Metric, "", words, first.Number, n, all)
}

// impossible says what was refused.
func (b *builder) impossible(at Source, metric, app, words string, first float64, n, of int) {
	if app != "" {
		metric += " of " + app
	}
	where := ""
	if at.Line > 0 {
		where = fmt.Sprintf(" in line %d", at.Line)
	}
	why := fmt.Sprintf("%s can be %s, and %d of its %d values are not, such as %s%s: none of them is judged", metric, words, n, of, strconv.FormatFloat(first, 'f', -1, 64), where)
	b.c.Strangers = append(b.c.Strangers, Stranger{File: at.File, Why: why})
	b.gap(HasMetrics, Implausible, why, at)
}
