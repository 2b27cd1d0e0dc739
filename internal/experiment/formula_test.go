package experiment

import (
	"math"
	"strings"
	"testing"
)

func TestEvalFormula(t *testing.T) {
	vars := map[string]float64{"requests": 5, "workers": 4, "hold": 5}
	for _, tc := range []struct {
		formula string
		want    float64
	}{
		{"ceil(requests / workers) * hold", 10},
		{"(requests + 1) * hold / workers", 7.5},
		{"2*hold", 10},
		{"min(requests, workers)", 4},
		{"max(requests, workers, 9)", 9},
		{"floor(7 / 2) + round(2.5) + abs(-1)", 7},
		{"sqrt(hold * 5) + sqrt(4)", 7},
		{"2 ^ 3 - 1", 7},
		{"requests > workers ? 2 * hold : hold", 10},
		{"requests <= workers ? 1 : 2", 2},
		{"3", 3},
	} {
		got, err := EvalFormula(tc.formula, vars)
		if err != nil || math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("%s = %v, %v; want %v", tc.formula, got, err, tc.want)
		}
	}
}

func TestEvalFormulaRefuses(t *testing.T) {
	vars := map[string]float64{"x": 1, "zero": 0}
	for formula, want := range map[string]string{
		"":                        "the formula is wrong",
		"x +":                     "ends too early",
		"y":                       `"y" is no number that the formula can use (it can use x, zero)`,
		"x / zero":                "no finite number",
		"1 / 0":                   "no finite number",
		"zero / zero":             "no finite number",
		"sqrt(0 - x)":             "no finite number",
		"1 % 0":                   "the formula",
		"x == 1":                  "must give a number",
		"'a'":                     "must give a number",
		"[1, 2]":                  "must give a number",
		"len([1])":                `"len" is not a function`,
		"exp(x)":                  `"exp" is not a function`,
		"sqrt(x, x)":              "the formula is wrong",
		"x.y":                     "the formula is wrong",
		"sum(1..1000000000)":      `"sum" is not a function`,
		"max(1..9000000)":         "the formula",
		strings.Repeat("1+", 600): "1200 bytes",
		strings.Repeat("(", 900):  "the formula",
	} {
		if x, err := EvalFormula(formula, vars); err == nil {
			t.Errorf("%.40s = %v, want an error", formula, x)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %q does not say %q", formula, err, want)
		}
	}
}

func FuzzEvalFormula(f *testing.F) {
	for _, s := range []string{"ceil(a / b) * c", "1 % 0", "sqrt(4)", "a ? b : c", "let x = 1; x", "1..9", "#", "a[0]", "min()", "-a ** b", "a in [1]", "not a", "{a: 1}.a", "ceil"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, formula string) {
		x, err := EvalFormula(formula, map[string]float64{"a": 1, "b": 0, "c": -2.5})
		if err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
			t.Errorf("%q gives %v without an error", formula, x)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: the error has several lines: %q", formula, err)
		}
	})
}
