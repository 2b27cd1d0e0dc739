package evidence

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// valueForm is a Value as a bundle has it: one that is not known has no number.
type valueForm struct {
	Number *float64 `json:"number,omitempty"`
	// Known is of bundles that give a number to what is not known, too.
	Known  *bool    `json:"known,omitempty"`
	Unit   Unit     `json:"unit,omitempty"`
	Why    Reason   `json:"why,omitempty"`
	Detail string   `json:"detail,omitempty"`
	From   []Source `json:"from,omitempty"`
}

// MarshalJSON writes the number, or why there is none.
func (v Value) MarshalJSON() ([]byte, error) {
	f := valueForm{Unit: v.Unit, Why: v.Why, Detail: v.Detail, From: v.From}
	if v.Known {
		f.Number = &v.Number
	}
	return json.Marshal(f)
}

// UnmarshalJSON reads what MarshalJSON writes, and the form before it.
func (v *Value) UnmarshalJSON(data []byte) error {
	var f valueForm
	if err := json.Unmarshal(data, &f); err != nil {
		return fmt.Errorf("a value: %w", err)
	}
	*v = Value{Unit: f.Unit, Why: f.Why, Detail: f.Detail, From: f.From}
	if f.Number != nil && (f.Known == nil || *f.Known) {
		v.Known, v.Number = true, *f.Number
	}
	return nil
}

// MarshalJSON writes a limit as its value, or that there is none.
func (l Limit) MarshalJSON() ([]byte, error) {
	if l.Unlimited {
		return []byte(`{"unlimited":true}`), nil
	}
	return l.Value.MarshalJSON()
}

// UnmarshalJSON reads what MarshalJSON writes.
func (l *Limit) UnmarshalJSON(data []byte) error {
	var f struct {
		Unlimited bool `json:"unlimited"`
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return fmt.Errorf("a limit: %w", err)
	}
	l.Unlimited = f.Unlimited
	return l.Value.UnmarshalJSON(data)
}

// oldNames are the names of fields that bundles had before they were written in
// small letters, with what they are called now.
func oldNames() map[string]string {
	names := map[string]string{}
	for _, t := range []reflect.Type{reflect.TypeFor[Pool](), reflect.TypeFor[Listener](), reflect.TypeFor[Member](), reflect.TypeFor[Wait]()} {
		for i := range t.NumField() {
			now, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			names[t.Field(i).Name] = now
		}
	}
	return names
}

// renamed gives the fields of a document their present names.
func renamed(v any, names map[string]string) any {
	switch x := v.(type) {
	case []any:
		for i := range x {
			x[i] = renamed(x[i], names)
		}
	case map[string]any:
		for _, key := range sortedKeys(x) {
			inner := renamed(x[key], names)
			if now, ok := names[key]; ok {
				delete(x, key)
				key = now
			}
			x[key] = inner
		}
	}
	return v
}

// poolsOf reads the pools of a bundle, by their present names or those before.
func poolsOf(data json.RawMessage) ([]Pool, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var document any
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	text, err := json.Marshal(renamed(document, oldNames()))
	if err != nil {
		return nil, err
	}
	var pools []Pool
	err = json.Unmarshal(text, &pools)
	return pools, err
}
