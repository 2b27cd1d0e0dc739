package evidence

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

// readFiles makes a case of files in memory.
func readFiles(t testing.TB, files map[string]string) *Case {
	t.Helper()
	raw := map[string][]byte{}
	for name, text := range files {
		raw[name] = []byte(text)
	}
	c, err := FromFiles(raw)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// readFile makes a case of one file, which has to be understood.
func readFile(t testing.TB, name, text string) *Case {
	t.Helper()
	c := readFiles(t, map[string]string{name: text})
	if len(c.Strangers) > 0 {
		t.Fatalf("%s was not understood: %s", name, c.Strangers[0].Why)
	}
	return c
}

// wantValue compares a number, its unit and the first place it came from.
func wantValue(t testing.TB, name string, v Value, number float64, unit Unit, from string) {
	t.Helper()
	switch {
	case !v.Known:
		t.Errorf("%s is missing (%s: %s), want %v", name, v.Why, v.Detail, number)
	case math.Abs(v.Number-number) > 1e-9*math.Abs(number):
		t.Errorf("%s = %v, want %v", name, v.Number, number)
	case v.Unit != unit:
		t.Errorf("%s is in %q, want %q", name, v.Unit, unit)
	case from != "" && (len(v.From) == 0 || v.From[0].String() != from):
		t.Errorf("%s comes from %v, want %s", name, v.From, from)
	}
}

// wantMissing checks that a value is missing for a reason.
func wantMissing(t testing.TB, name string, v Value, why Reason) {
	t.Helper()
	if v.Known || v.Number != 0 || v.Why != why {
		t.Errorf("%s = %v (known %t, why %q, %s), want it missing: %s", name, v.Number, v.Known, v.Why, v.Detail, why)
	}
}

// eventLine writes the parts of an event that a test looks at.
func eventLine(e *Event) string {
	var out strings.Builder
	if !e.At.IsZero() {
		out.WriteString(e.At.UTC().Format("2006-01-02T15:04:05 "))
	}
	out.WriteString(string(e.Kind))
	for _, part := range []struct {
		name string
		set  bool
		is   any
	}{
		{"app", e.App != "", e.App}, {"pid", e.PID != 0, e.PID}, {"comm", e.Comm != "", e.Comm}, {"signal", e.Signal != 0, e.Signal},
		{"code", e.Code.Known, e.Code.Number}, {"cgroup", e.Cgroup != "", e.Cgroup}, {"anon", e.AnonRSS.Known, e.AnonRSS.Number},
		{"elapsed", e.Elapsed.Known, e.Elapsed.Number}, {"limit", e.Limit.Known, e.Limit.Number}, {"queue", e.Queue.Known, e.Queue.Number},
		{"active", e.Active.Known, e.Active.Number}, {"idle", e.Idle.Known, e.Idle.Number}, {"port", e.Port != 0, e.Port},
		{"address", e.Address != "", e.Address}, {"probe", e.Probe != "", e.Probe}, {"reason", e.Reason != "", e.Reason},
		{"version", e.Version != "", e.Version}, {"times", e.Times.Known && e.Times.Number != 1, e.Times.Number}, {"global", e.OOMGlobal != "", e.OOMGlobal},
	} {
		if part.set {
			fmt.Fprintf(&out, " %s=%v", part.name, part.is)
		}
	}
	return out.String()
}

// wantEvents compares the events of a case, written as eventLine does.
func wantEvents(t testing.TB, c *Case, want ...string) {
	t.Helper()
	var got []string
	for i := range c.Events {
		got = append(got, eventLine(&c.Events[i]))
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("events:\n%s\nwant:\n%s", g, w)
	}
}

// wantWhole checks what holds of every value of every case: it is a number, or
// missing for a reason and then 0.
func wantWhole(t testing.TB, c *Case) {
	t.Helper()
	for _, part := range []any{c.Readings, c.Activities, c.Pools, c.Containers, c.Processes} {
		walkValues(reflect.ValueOf(part), "", func(path string, v Value) {
			switch {
			case v.Known && (math.IsNaN(v.Number) || math.IsInf(v.Number, 0)):
				t.Errorf("%s is %v", path, v.Number)
			case !v.Known && v.Number != 0:
				t.Errorf("%s is missing and not 0 but %v", path, v.Number)
			case !v.Known && v.Why == "":
				t.Errorf("%s is missing without a reason", path)
			}
		})
	}
}

func walkValues(v reflect.Value, path string, each func(string, Value)) {
	switch x := v.Interface().(type) {
	case Value:
		each(path, x)
		return
	case time.Time, Source:
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			walkValues(v.Field(i), path+"."+v.Type().Field(i).Name, each)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walkValues(v.Index(i), fmt.Sprintf("%s[%d]", path, i), each)
		}
	}
}

// fuzzFile feeds a parser with whatever may stand in a file of a name: it has
// to end, without an error, with a case in which everything missing has its
// reason.
func fuzzFile(f *testing.F, name string, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
		f.Add([]byte(s[:len(s)/2]))
		f.Add([]byte(strings.ReplaceAll(s, "\n", "\r\n")))
		f.Add([]byte(strings.Repeat(strings.TrimSuffix(s, "\n"), 3)))
	}
	f.Add([]byte(strings.Repeat("9", 70_000)))
	f.Add([]byte("\x00\xff\xfe{[\"'"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := FromFiles(map[string][]byte{name: data})
		if err != nil {
			t.Fatal(err)
		}
		wantWhole(t, c)
		if len(c.Inputs)+len(c.Strangers) == 0 {
			t.Error("the file is neither an input nor a stranger")
		}
		for _, s := range c.Strangers {
			if s.Why == "" || strings.ContainsAny(s.Why, "\n\r") {
				t.Errorf("%q is no sentence", s.Why)
			}
		}
	})
}
