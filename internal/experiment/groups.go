package experiment

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Groups sorts the hypothesis's steps into groups whose members are compared
// with each other: all of them, or with a factor those that have the same
// traffic, plan, pressure and other factors. Both orders are those of the steps given.
func (h Hypothesis) Groups(steps []Step) [][]string {
	if h.Factor == "" {
		var all []string
		for _, s := range steps {
			all = append(all, s.Name)
		}
		return [][]string{all}
	}
	var groups [][]string
	at := map[string]int{}
	for _, s := range steps {
		key := s.apartFrom(h.Factor)
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], s.Name)
	}
	return groups
}

// apartFrom is what a step has besides one factor and its apps.
func (s Step) apartFrom(factor string) string {
	others := maps.Clone(s.Factors)
	delete(others, factor)
	traffic := slices.Clone(s.Traffic)
	for i := range traffic {
		traffic[i].App = "" // what it is aimed at is what the factor changes
	}
	text, err := json.Marshal([]any{traffic, s.Plan, s.Pressure, others})
	if err != nil {
		return fmt.Sprintf("%v", s) // plain structs always marshal
	}
	return string(text)
}
