package compare

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/metric"
	"brink/internal/textfile"
)

// Limits of a data file.
const (
	maxDataBytes = 1 << 20
	maxValues    = 1000
	maxValue     = 1e15
)

// dataHead is what a data file says of its values as a whole.
type dataHead struct {
	// Source says where the values come from; it must be there.
	Source string `yaml:"source"`
	// The conditions are optional. What is not stated cannot be compared, and
	// is refused until it is allowed.
	Plan        *experiment.Plan `yaml:"-"`
	PlanFields  *dataPlan        `yaml:"plan"`
	Host        string           `yaml:"host"`
	Accelerator string           `yaml:"accelerator"`
	// Workload is the traffic in the words of brink show.
	Workload string `yaml:"workload"`
}

// dataPlan is a plan in a data file; 0 and what is left out are unlimited.
type dataPlan struct {
	CPUs     int `yaml:"cpus"`
	MemoryMB int `yaml:"memory_mb"`
	SwapMB   int `yaml:"swap_mb"`
}

// series is one metric of one step: one value per repetition.
type series struct {
	Metric string   `yaml:"metric"`
	Unit   string   `yaml:"unit"`
	Step   string   `yaml:"step"`
	Values []string `yaml:"values"`

	lines []int
}

// DataError is a mistake in a data file, at the line where it stands.
type DataError struct {
	File string
	// Line counts from 1.
	Line    int
	Message string
}

// Error returns place and sentence in one line.
func (e *DataError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message) }

// dataFormat tells by its name whether an argument is a data file.
func dataFormat(arg string) string {
	switch ext := strings.ToLower(filepath.Ext(arg)); ext {
	case ".csv":
		return "csv"
	case ".yaml", ".yml":
		return "yaml"
	}
	return ""
}

func openData(_ context.Context, path string, _ measure.Options) (*Side, error) {
	data, err := textfile.Read(path, maxDataBytes)
	if err != nil {
		return nil, fmt.Errorf("read the data file %s: %w", path, err)
	}
	return parseData(path, dataFormat(path), data)
}

// parseData reads a data file; every error is a *DataError.
func parseData(name, format string, data []byte) (*Side, error) {
	var (
		head dataHead
		all  []series
		bad  *DataError
	)
	switch {
	case len(data) > maxDataBytes:
		bad = &DataError{Line: 1, Message: fmt.Sprintf("the file is longer than the %d bytes that are read", maxDataBytes)}
	case !utf8.Valid(data):
		bad = &DataError{Line: 1, Message: "the file is not UTF-8"}
	case format == "csv":
		head, all, bad = readCSV(data)
	default:
		head, all, bad = readYAML(data)
	}
	var s *Side
	if bad == nil {
		s, bad = dataSide(name, head, all)
	}
	if bad != nil {
		bad.File = name
		return nil, bad
	}
	return s, nil
}

// dataSide checks a data file against the dictionary of metrics.
func dataSide(name string, head dataHead, all []series) (*Side, *DataError) {
	if bad := head.check(); bad != "" {
		return nil, &DataError{Line: 1, Message: bad}
	}
	if len(all) == 0 {
		return nil, &DataError{Line: 1, Message: "the file has no values"}
	}
	s := &Side{Name: name, Source: head.Source, data: &head}
	for _, x := range all {
		cell, bad := x.cell()
		if bad != nil {
			return nil, bad
		}
		i := slices.IndexFunc(s.steps, func(st step) bool { return st.name == x.Step })
		if i < 0 {
			i = len(s.steps)
			s.steps = append(s.steps, step{name: x.Step, cells: map[string]measure.Cell{}})
		}
		if _, twice := s.steps[i].cells[x.Metric]; twice {
			return nil, &DataError{Line: x.lines[0], Message: fmt.Sprintf("%s of step %s is there twice", x.Metric, x.Step)}
		}
		s.steps[i].cells[x.Metric] = cell
		if !slices.Contains(s.metrics, x.Metric) {
			s.metrics = append(s.metrics, x.Metric)
		}
	}
	return s, nil
}

func (h *dataHead) check() string {
	if strings.TrimSpace(h.Source) == "" {
		return "source is missing: say where the values come from"
	}
	if p := h.PlanFields; p != nil {
		if p.CPUs < 0 || p.MemoryMB < 0 || p.SwapMB < 0 {
			return "plan: cpus, memory_mb and swap_mb are 0 (unlimited) or above"
		}
		h.Plan = &experiment.Plan{CPUs: p.CPUs, MemoryMB: p.MemoryMB, SwapMB: p.SwapMB}
	}
	return ""
}

// cell turns a series into values, one per repetition.
func (x series) cell() (measure.Cell, *DataError) {
	fail := func(line int, format string, args ...any) (measure.Cell, *DataError) {
		return measure.Cell{}, &DataError{Line: line, Message: fmt.Sprintf(format, args...)}
	}
	m, known := metric.Lookup(x.Metric)
	switch {
	case x.Metric == "":
		return fail(x.lines[0], "metric is missing")
	case !known:
		return fail(x.lines[0], "%q is not a metric; docs/experiment-file.md lists them", x.Metric)
	case x.Unit != m.Unit:
		return fail(x.lines[0], "%s has the unit %q, not %q", x.Metric, m.Unit, x.Unit)
	case strings.TrimSpace(x.Step) == "":
		return fail(x.lines[0], "step is missing")
	case len(x.Values) == 0:
		return fail(x.lines[0], "%s of step %s has no values", x.Metric, x.Step)
	case len(x.Values) > maxValues:
		return fail(x.lines[0], "%s of step %s has %d values; at most %d are read", x.Metric, x.Step, len(x.Values), maxValues)
	}
	c := measure.Cell{Metric: m, Step: x.Step}
	for i, text := range x.Values {
		v, ok := parseValue(text)
		if !ok {
			return fail(x.lines[min(i, len(x.lines)-1)], "%q is not a value: write a number from 0 to 1e15, or >= and a number for what is only known to be at least so much", text)
		}
		v.Repetition, v.Number = int64(i+1), i+1
		c.Values = append(c.Values, v)
	}
	return c, nil
}

// parseValue reads "12.5", or ">= 30" for a value known only to be at least so
// much.
func parseValue(text string) (measure.Value, bool) {
	v := measure.Value{N: 1}
	for _, sign := range []string{">=", "≥"} {
		if rest, ok := strings.CutPrefix(text, sign); ok {
			text, v.Censored = strings.TrimSpace(rest), true
			break
		}
	}
	var err error
	v.X, err = strconv.ParseFloat(text, 64)
	return v, err == nil && !math.IsNaN(v.X) && v.X >= 0 && v.X <= maxValue
}

var csvColumns = []string{"metric", "unit", "step", "value"}

// readCSV reads one value per row below the columns metric, unit, step and
// value. The lines before them that begin with # hold the head, as YAML.
func readCSV(data []byte) (dataHead, []series, *DataError) {
	var head dataHead
	var comments bytes.Buffer
	rest, skipped := bytes.TrimPrefix(data, []byte("\ufeff")), 0
	for bytes.HasPrefix(rest, []byte("#")) {
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		comments.WriteString(strings.TrimPrefix(string(line[1:]), " ") + "\n")
		rest = after
		skipped++
	}
	if skipped > 0 {
		if bad := decodeYAML(comments.Bytes(), &head); bad != nil {
			return head, nil, bad
		}
	}
	r := csv.NewReader(bytes.NewReader(rest))
	r.FieldsPerRecord = len(csvColumns)
	r.TrimLeadingSpace = true
	var all []series
	at := map[[2]string]int{}
	for first := true; ; first = false {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return head, nil, csvError(err, skipped)
		}
		line, _ := r.FieldPos(0)
		line += skipped
		if first {
			if !slices.Equal(row, csvColumns) {
				return head, nil, &DataError{Line: line, Message: "the columns are metric,unit,step,value, in this order and under these names"}
			}
			continue
		}
		key := [2]string{row[0], row[2]}
		i, seen := at[key]
		if !seen {
			i = len(all)
			at[key] = i
			all = append(all, series{Metric: row[0], Unit: row[1], Step: row[2]})
		}
		if all[i].Unit != row[1] {
			return head, nil, &DataError{Line: line, Message: fmt.Sprintf("%s of step %s has the unit %q above and %q here", row[0], row[2], all[i].Unit, row[1])}
		}
		all[i].Values = append(all[i].Values, strings.TrimSpace(row[3]))
		all[i].lines = append(all[i].lines, line)
	}
	return head, all, nil
}

func csvError(err error, skipped int) *DataError {
	bad := &DataError{Line: skipped + 1, Message: err.Error()}
	var p *csv.ParseError
	if errors.As(err, &p) {
		bad.Line = skipped + p.Line
		bad.Message = p.Err.Error()
		if errors.Is(err, csv.ErrFieldCount) {
			bad.Message = "a row has the four fields metric,unit,step,value"
		}
	}
	return bad
}
