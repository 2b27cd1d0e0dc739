package experiment

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// decoder turns nodes into the typed values of an experiment. It goes on after
// a problem, so that an author sees all of them at once.
type decoder struct {
	*problems
	// scale multiplies the durations whose fields say so.
	scale float64
	// lenient leaves values that still refer to a factor at zero.
	lenient bool
}

// nouns name what a struct is, for a sentence about a field that it has not.
var nouns = map[string]string{
	"Experiment": "an experiment", "Variables": "variables", "Link": "a related document", "Plan": "a plan", "Calibration": "a calibration",
	"Share": "a share", "Platform": "a platform", "Pressure": "pressure",
	"App": "an app", "Step": "a step", "Traffic": "traffic", "Hypothesis": "a hypothesis", "Profile": "a profile",
	"Reference": "a reference", "ReferenceClaim": "a reference claim", "ReferenceFigures": "reference figures",
}

// structure decodes a mapping into the struct v: unknown fields and missing
// ones are problems, defaults fill in what is left out.
func (d decoder) structure(n *node, v reflect.Value) {
	t := v.Type()
	if n.kind != mapping {
		d.at(n, "is %s; %s is a mapping of fields", n.describe(), nouns[t.Name()])
		return
	}
	var names []string
	for i := range t.NumField() {
		if _, ok := fieldOf(t, nameOf(t.Field(i))); ok {
			names = append(names, nameOf(t.Field(i)))
		}
	}
	misspelt := d.unknown(n, nouns[t.Name()], names)
	for i := range t.NumField() {
		name := nameOf(t.Field(i))
		if f, ok := fieldOf(t, name); ok {
			d.field(n, name, f, v.Field(i), misspelt[name])
		}
	}
}

// unknown refuses fields that are not among the names, and returns those that
// they were probably meant to be.
func (d decoder) unknown(n *node, noun string, names []string) (misspelt map[string]bool) {
	misspelt = map[string]bool{}
	for _, e := range n.entries {
		if slices.Contains(names, e.key) {
			continue
		}
		p := n.keyProblem(e, fmt.Sprintf("%s is not a field of %s", quote(e.key), noun))
		if p.Suggestion = nearest(e.key, names); p.Suggestion == "" {
			p.Allowed = list(names)
		}
		misspelt[p.Suggestion] = true
		d.add(p)
	}
	return misspelt
}

func (d decoder) field(n *node, name string, f field, v reflect.Value, misspelt bool) {
	value := n.get(name)
	switch {
	case value == nil && f.required && misspelt:
	case value == nil && f.required:
		d.about(n, name, "is missing")
	case value == nil && f.def != "":
		d.value(literal(f.def), f, v)
	case value == nil || f.apart:
	case value.kind == scalar && value.value == nil:
		d.at(value, "is empty; write a value or leave the field out")
	default:
		d.value(value, f, v)
	}
}

func (d decoder) value(n *node, f field, v reflect.Value) {
	if d.lenient && n.kind == scalar && hasReference(n.text) {
		return
	}
	switch v.Interface().(type) {
	case Duration:
		d.duration(n, f, v)
		return
	case Margin:
		if d.isScalar(n, "a size such as \"10%\", \"5 points\" or 2") {
			v.Field(2).SetString(n.text)
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, f, v.Elem())
	case reflect.Struct:
		d.structure(n, v)
	case reflect.Slice:
		d.items(n, f, v)
	case reflect.Map:
		d.table(n, f, v)
	case reflect.String:
		d.text(n, f, v)
	case reflect.Int:
		d.whole(n, f, v)
	case reflect.Float64:
		d.number(n, f, v)
	case reflect.Bool:
		if b, ok := n.value.(bool); ok {
			v.SetBool(b)
		} else {
			d.at(n, "is %s; write true or false", n.describe())
		}
	}
}

func (d decoder) isScalar(n *node, want string) bool {
	if n.kind != scalar || n.value == nil {
		d.at(n, "is %s; write %s", n.describe(), want)
		return false
	}
	return true
}

func (d decoder) items(n *node, f field, v reflect.Value) {
	if n.kind != sequence && !f.many {
		d.at(n, "is %s; write a list", n.describe())
		return
	}
	elements := n.elements()
	if len(elements) == 0 {
		d.at(n, "is an empty list; write at least one item or leave the field out")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(elements), len(elements)))
	for i, e := range elements {
		d.value(e, field{required: true, noun: f.noun}, v.Index(i))
	}
}

// literal is the node of a default.
func literal(text string) *node {
	n := &node{kind: scalar, text: text, value: text}
	if x, err := strconv.ParseInt(text, 10, 64); err == nil {
		n.value = x
	} else if b, err := strconv.ParseBool(text); err == nil {
		n.value = b
	}
	return n
}

// table decodes a mapping from names to values.
func (d decoder) table(n *node, f field, v reflect.Value) {
	if n.kind != mapping || len(n.entries) == 0 {
		d.at(n, "is %s; write names with their values, or leave the field out", n.describe())
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, e := range n.entries {
		value := reflect.New(v.Type().Elem()).Elem()
		if v.Type().Elem().Kind() == reflect.String {
			if d.isScalar(e.value, "a single value") {
				value.SetString(e.value.text)
			}
		} else {
			d.value(e.value, f, value)
		}
		v.SetMapIndex(reflect.ValueOf(e.key), value)
	}
}

func (d decoder) text(n *node, f field, v reflect.Value) {
	text, ok := n.value.(string)
	if n.substituted {
		text, ok = n.text, true
	}
	switch {
	case n.kind != scalar || n.value == nil:
		d.at(n, "is %s; write text", n.describe())
	case !ok:
		d.at(n, "%s is no text; put it in quotes", n.describe())
	case strings.TrimSpace(text) == "":
		d.at(n, "is empty; write a value or leave the field out")
	case strings.ContainsFunc(text, control):
		d.at(n, "%s holds a control character", n.describe())
	case f.words != nil && !slices.Contains(f.words, text):
		d.word(n, fmt.Sprintf("%s is not %s", n.describe(), f.noun), text, f.words)
	case f.pattern != nil && !f.pattern.match(text):
		p := n.problem(n.describe() + " is not allowed here")
		p.Allowed = f.pattern.allowed
		d.add(p)
	default:
		v.SetString(strings.TrimSpace(text))
	}
}

// control holds for what neither a report nor a request can carry.
func control(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }

func (d decoder) whole(n *node, f field, v reflect.Value) {
	x, ok := n.value.(int64)
	if !ok {
		d.at(n, "%s is not a whole number", n.describe())
		return
	}
	if d.inside(n, f, float64(x), false) {
		v.SetInt(x)
	}
}

func (d decoder) number(n *node, f field, v reflect.Value) {
	var x float64
	switch value := n.value.(type) {
	case int64:
		x = float64(value)
	case float64:
		x = value
	default:
		d.at(n, "%s is not a number", n.describe())
		return
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		d.at(n, "%s is not a finite number", n.describe())
		return
	}
	if d.inside(n, f, x, false) {
		v.SetFloat(x)
	}
}

func (d decoder) duration(n *node, f field, v reflect.Value) {
	var span Duration
	switch value := n.value.(type) {
	case string:
		if err := span.UnmarshalText([]byte(value)); err != nil {
			d.at(n, "%s is not a duration; write a number with a unit, such as 1.5s or 2m", n.describe())
			return
		}
	case int64, float64:
		if n.text != "0" {
			d.at(n, "%s has no unit; write a duration such as %ss", n.text, n.text)
			return
		}
	default:
		d.at(n, "%s is not a duration; write a number with a unit, such as 1.5s or 2m", n.describe())
		return
	}
	if f.scaled && !n.timed {
		span = span.times(d.scale)
	}
	if d.inside(n, f, span.Seconds(), true) {
		v.SetInt(int64(span))
	}
}

// inside checks a number against the bounds of its field.
func (d decoder) inside(n *node, f field, x float64, duration bool) bool {
	if !f.bounded() || f.holds(x) {
		return true
	}
	message := n.text + " is out of range"
	if duration && d.scale != 1 {
		message = fmt.Sprintf("%s is out of range when it is scaled by %v", time.Duration(x*float64(time.Second)), d.scale)
	}
	p := n.problem(message)
	p.Allowed = f.bounds(duration)
	d.add(p)
	return false
}
