package experiment

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
)

// functions are what a formula may call; sqrt is ours, the others are the
// expression language's.
var functions = []string{"abs", "ceil", "floor", "max", "min", "round"}

// reserved are the words that a formula gives a meaning of their own.
var reserved = append([]string{
	"and", "contains", "else", "endsWith", "false", "if", "in", "let", "matches", "nil", "not", "or", "startsWith", "true", "sqrt",
}, functions...)

const maxFormula = 1000

// EvalFormula computes a formula of a law or of a reference claim. The formula
// sees the variables and ceil, floor, round, abs, sqrt, min and max. It is an
// error if it is no formula, if it uses a name that is not among the variables,
// or if it has no finite value (a division by zero, say).
func EvalFormula(formula string, vars map[string]float64) (float64, error) {
	if len(formula) > maxFormula {
		return 0, fmt.Errorf("the formula has %d bytes; at most %d are allowed", len(formula), maxFormula)
	}
	names, err := formulaNames(formula)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if _, ok := vars[name]; !ok {
			return 0, &unknownName{name: name, known: slices.Sorted(maps.Keys(vars))}
		}
	}
	return evaluate(formula, vars)
}

// Evaluate computes what a law predicts for a step.
func (h Hypothesis) Evaluate(s Step) (float64, error) {
	if h.Form != Law {
		return 0, fmt.Errorf("hypothesis %s has form %s, and only a law has a formula", h.ID, h.Form)
	}
	return EvalFormula(h.Formula, s.Vars())
}

// unknownName says that a formula uses a name that has no number.
type unknownName struct {
	name  string
	known []string
}

func (e *unknownName) Error() string {
	return fmt.Sprintf("%q is no number that the formula can use (it can use %s)", e.name, list(e.known))
}

func evaluate(formula string, vars map[string]float64) (x float64, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the formula cannot be computed (%v)", r)
		}
	}()
	env := make(map[string]any, len(vars))
	for name, v := range vars {
		env[name] = v
	}
	options := []expr.Option{expr.Env(env), expr.AsFloat64(), expr.MaxNodes(200), expr.DisableAllBuiltins(), expr.Function("sqrt", sqrt, new(func(float64) float64))}
	for _, f := range functions {
		options = append(options, expr.EnableBuiltin(f))
	}
	program, err := expr.Compile(formula, options...)
	if err != nil {
		return 0, formulaError(err)
	}
	out, err := expr.Run(program, env)
	if err != nil {
		return 0, formulaError(err)
	}
	x, ok := out.(float64)
	if !ok {
		return 0, errors.New("the formula gives no number")
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, errors.New("the formula gives no finite number; does it divide by zero?")
	}
	return x, nil
}

func sqrt(params ...any) (any, error) {
	switch x := params[0].(type) {
	case float64:
		return math.Sqrt(x), nil
	case int:
		return math.Sqrt(float64(x)), nil
	}
	return nil, fmt.Errorf("sqrt takes a number")
}

// formulaNames lists the variables that a formula uses.
func formulaNames(formula string) ([]string, error) {
	tree, err := parser.Parse(formula)
	if err != nil {
		return nil, formulaError(err)
	}
	v := &names{variables: map[string]bool{}, called: map[string]bool{}}
	ast.Walk(&tree.Node, v)
	for name := range v.called {
		if name != "sqrt" && !slices.Contains(functions, name) {
			return nil, fmt.Errorf("%q is not a function of formulas; these are: %s, sqrt", name, list(functions))
		}
		delete(v.variables, name)
	}
	return slices.Sorted(maps.Keys(v.variables)), nil
}

// names collects what a formula refers to and what it calls.
type names struct{ variables, called map[string]bool }

// Visit implements ast.Visitor.
func (n *names) Visit(node *ast.Node) {
	switch x := (*node).(type) {
	case *ast.IdentifierNode:
		n.variables[x.Value] = true
	case *ast.BuiltinNode:
		n.called[x.Name] = true
	case *ast.CallNode:
		if callee, ok := x.Callee.(*ast.IdentifierNode); ok {
			n.called[callee.Value] = true
		}
	}
}

// formulaError keeps the sentence of the expression language's error and drops
// its drawing.
func formulaError(err error) error {
	var at *file.Error
	if strings.Contains(err.Error(), "expected float64") {
		return errors.New("the formula must give a number")
	}
	if errors.As(err, &at) {
		return fmt.Errorf("the formula is wrong at its character %d: %s", at.Column+1, strings.TrimSpace(strings.Replace(at.Message, "unexpected token EOF", "it ends too early", 1)))
	}
	return fmt.Errorf("the formula is wrong: %w", err)
}
