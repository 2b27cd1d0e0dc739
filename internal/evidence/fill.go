package evidence

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"brink/internal/kernel"
)

// origin says where the fields of one kernel file stand.
type origin struct {
	file string
	// flat is the index of a captured file; nil for a live one.
	flat flat
	// whole says why nothing of the file is known.
	whole Reason
	// detail goes with whole.
	detail string
	// bad is the field that could not be understood.
	bad *kernel.FieldError
}

// explained sorts an error of a kernel reader.
func (o *origin) explained(err error, live bool) {
	fe := (*kernel.FieldError)(nil)
	switch {
	case err == nil:
	case errors.As(err, &fe):
		o.bad = fe
	case errors.Is(err, unix.EOPNOTSUPP):
		o.whole, o.detail = SwitchedOff, "the kernel has it switched off"
	case errors.Is(err, kernel.ErrUnavailable) && live:
		o.whole, o.detail = Absent, "this kernel does not offer it"
	case errors.Is(err, kernel.ErrUnavailable):
		o.whole, o.detail = NotSeen, "no input holds it"
	case errors.Is(err, fs.ErrPermission):
		o.whole, o.detail = Denied, "this user may not read it"
	case errors.Is(err, kernel.ErrGone):
		o.whole, o.detail = Absent, "it has ended"
	default:
		o.whole, o.detail = Unreadable, err.Error()
	}
}

// value makes a Value of a number of the kernel. field may name alternatives
// with |.
func (o *origin) value(n kernel.Num, field string, unit Unit) Value {
	from := o.source(field)
	if n.Known {
		return Known(float64(n.Value), unit, from)
	}
	switch {
	case o.whole != "":
		return Missing(o.whole, o.detail, Source{File: o.file, Field: from.Field})
	case o.bad != nil && o.bad.Line == from.Line && from.Line > 0, o.bad != nil && o.bad.Field == from.Field:
		return Missing(Unreadable, fmt.Sprintf("%q is not %s", o.bad.Text, o.bad.Want), from)
	case o.bad != nil && from.Line > 0 && o.flat[from.Field].spoilt():
		return Missing(Unreadable, fmt.Sprintf("%q is not %s", shorten(o.flat[from.Field].text), o.bad.Want), from)
	}
	return Missing(Absent, "the file has no such field", Source{File: o.file, Field: from.Field})
}

func (o *origin) source(field string) Source {
	first, _, _ := strings.Cut(field, "|")
	for name := range strings.SplitSeq(field, "|") {
		if line, found := o.flat.line(name); line > 0 {
			return Source{File: o.file, Line: line, Field: found}
		}
	}
	if first == "" && len(o.flat) > 0 {
		return Source{File: o.file, Line: 1}
	}
	return Source{File: o.file, Field: first}
}

// flat is where the keys of a kernel file stand.
type flat map[string]entry

type entry struct {
	line int
	text string
}

// spoilt reports whether what stands behind a key should be one number, with or
// without a unit, and is none that a kernel writes.
func (e entry) spoilt() bool {
	words := strings.Fields(e.text)
	if len(words) != 1 && (len(words) != 2 || words[1] != "kB") {
		return false
	}
	_, err := strconv.ParseUint(words[0], 10, 64)
	return err != nil
}

// fault says which value of the file cannot be; the kernel's reader names the
// first.
func (o *origin) fault() Stranger {
	where := ""
	if o.bad.Line > 0 {
		where = fmt.Sprintf("line %d: ", o.bad.Line)
	}
	return Stranger{File: o.file, Why: fmt.Sprintf("%s%s is %q, and it has to be %s: it was not read, nor is any other such value", where, o.bad.Field, shorten(o.bad.Text), o.bad.Want)}
}

// line returns where a key stands, and as what: a name that was split by
// memory zone stands at the first of its parts.
func (f flat) line(name string) (int, string) {
	for _, suffix := range [...]string{"", "_dma", "_dma32", "_normal", "_movable"} {
		if e, ok := f[name+suffix]; ok {
			return e.line, name
		}
	}
	return 0, name
}

// mostKeys bounds an index: no kernel file has more keys that are read.
const mostKeys = 4096

// indexFlat reads lines of "key value", "key: value" and pairs of lines of
// names and values, as in /proc/net/netstat.
func indexFlat(data []byte) flat {
	f := flat{}
	var names []string
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if len(f) > mostKeys {
			break
		}
		text := strings.TrimSpace(string(line[:min(len(line), 8<<10)]))
		if rest, ok := strings.CutPrefix(text, "Node "); ok {
			_, text, _ = strings.Cut(rest, " ")
			text = strings.TrimSpace(text)
		}
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		key := strings.TrimSuffix(words[0], ":")
		if len(words) > 2 && len(names) == len(words) && names[0] == words[0] {
			for i, name := range names {
				f[name] = entry{line: n, text: words[i]}
			}
			names = nil
			continue
		}
		if names = nil; len(words) > 2 && strings.HasSuffix(words[0], ":") && !numeric(words[1]) {
			names = words
		}
		if _, seen := f[key]; !seen {
			f[key] = entry{line: n, text: strings.TrimSpace(strings.TrimPrefix(text, words[0]))}
		}
	}
	return f
}

// number returns the number of a key.
func (f flat) number(key string) (kernel.Num, bool) {
	v, err := strconv.ParseUint(f[key].text, 10, 64)
	return kernel.Num{Value: v, Known: err == nil}, err == nil
}

func numeric(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// counterpart is a field of a struct of this package and the one of the same
// name in a struct of package kernel.
type counterpart struct {
	to, from int
	name     string
	tag      reflect.StructTag
}

// counterparts are found once for each struct: looking fields up by name costs
// more than reading the file that they are of.
var counterparts sync.Map // []counterpart by the type of this package

func counterpartsOf(to, from reflect.Type) []counterpart {
	if known, ok := counterparts.Load(to); ok {
		return known.([]counterpart)
	}
	var list []counterpart
	for i := range to.NumField() {
		field := to.Field(i)
		if f, ok := from.FieldByName(field.Name); ok {
			list = append(list, counterpart{i, f.Index[0], field.Name, field.Tag})
		}
	}
	counterparts.Store(to, list)
	return list
}

// fill sets the Values of dst, a pointer to a struct of this package, from the
// fields of the same name of src, a pointer to a struct of package kernel. name
// makes the file's name of a field that has no tag.
func fill(dst, src any, o *origin, unit Unit, name func(string) string) {
	to, from := reflect.ValueOf(dst).Elem(), reflect.ValueOf(src).Elem()
	for _, c := range counterpartsOf(to.Type(), from.Type()) {
		n, ok := from.Field(c.from).Addr().Interface().(*kernel.Num)
		if !ok {
			continue
		}
		key, ok := c.tag.Lookup("field")
		if !ok {
			key = name(c.name)
		}
		u := unit
		if tag, ok := c.tag.Lookup("unit"); ok {
			u = Unit(tag)
		}
		*to.Field(c.to).Addr().Interface().(*Value) = o.value(*n, key, u)
	}
}

func asItIs(name string) string { return name }

// snake writes a Go name as /proc/vmstat does: PgscanKswapd, pgscan_kswapd.
func snake(name string) string {
	var out strings.Builder
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			if i > 0 {
				out.WriteByte('_')
			}
			c += 'a' - 'A'
		}
		out.WriteRune(c)
	}
	return out.String()
}
