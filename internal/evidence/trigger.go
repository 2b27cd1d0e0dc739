package evidence

import (
	"fmt"
	"math"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"
)

// signals of a trigger: names of values of the latest reading, and of rates
// since the one before.
var (
	triggerLevels = map[string]func(*Reading) Value{
		"psi.memory.some":  func(r *Reading) Value { return r.PSI.Memory.Some.Avg10 },
		"psi.memory.full":  func(r *Reading) Value { return r.PSI.Memory.Full.Avg10 },
		"psi.cpu.some":     func(r *Reading) Value { return r.PSI.CPU.Some.Avg10 },
		"psi.io.some":      func(r *Reading) Value { return r.PSI.IO.Some.Avg10 },
		"psi.io.full":      func(r *Reading) Value { return r.PSI.IO.Full.Avg10 },
		"memory.available": func(r *Reading) Value { return r.Meminfo.MemAvailable.PercentOf(r.Meminfo.MemTotal) },
		"memory.free":      func(r *Reading) Value { return r.Meminfo.MemFree.PercentOf(r.Meminfo.MemTotal) },
		"swap.free":        func(r *Reading) Value { return r.Meminfo.SwapFree.PercentOf(r.Meminfo.SwapTotal) },
		"load":             func(r *Reading) Value { return r.Machine.Load1 },
		"tasks.blocked":    func(r *Reading) Value { return r.Machine.Blocked },
	}
	triggerRates = map[string]func(*Reading) Value{
		"swap.in":          func(r *Reading) Value { return r.Vmstat.Pswpin },
		"swap.out":         func(r *Reading) Value { return r.Vmstat.Pswpout },
		"scan.direct":      func(r *Reading) Value { return r.Vmstat.PgscanDirect },
		"refault.file":     func(r *Reading) Value { return r.Vmstat.WorkingsetRefaultFile },
		"oom.kills":        func(r *Reading) Value { return r.Vmstat.OOMKill },
		"listen.overflows": func(r *Reading) Value { return r.Netstat.ListenOverflows },
	}
	triggerName = expression(`[a-z]+(?:\.[a-z]+)+|\bload\b`)
)

// TriggerNames lists what a trigger may name: levels (percentages, load, tasks)
// and rates per second.
func TriggerNames() []string {
	names := sortedKeys(triggerLevels)
	return append(names, sortedKeys(triggerRates)...)
}

// trigger is a condition over the names of [TriggerNames].
type trigger struct {
	text    string
	names   []string
	program *vm.Program
}

// parseTrigger checks a condition such as "psi.memory.full > 20 or oom.kills > 0".
func parseTrigger(text string) (*trigger, error) {
	t := &trigger{text: text}
	for _, name := range triggerName().FindAllString(text, -1) {
		if triggerLevels[name] == nil && triggerRates[name] == nil {
			return nil, fmt.Errorf("trigger %q: %q is not one of %s", text, name, strings.Join(TriggerNames(), ", "))
		}
		t.names = append(t.names, name)
	}
	if len(t.names) == 0 {
		return nil, fmt.Errorf("trigger %q names nothing to look at: it may name %s", text, strings.Join(TriggerNames(), ", "))
	}
	var err error
	t.program, err = expr.Compile(text, expr.Env(t.env(nil, nil)), expr.AsBool())
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return nil, fmt.Errorf("trigger %q: %s", text, first)
	}
	return t, nil
}

// CheckTrigger says what is wrong with a condition, before anything waits for
// it.
func CheckTrigger(text string) error {
	_, err := parseTrigger(text)
	return err
}

// value is the value of a name; rates need the reading before.
func (t *trigger) value(name string, before, now *Reading) Value {
	if get := triggerLevels[name]; get != nil {
		return get(now)
	}
	if before == nil {
		return Missing(OneReading, "a rate needs two readings")
	}
	return between(before, now).Rate(triggerRates[name])
}

// env gives the names their values; what is not known is NaN, with which no
// comparison holds.
func (t *trigger) env(before, now *Reading) map[string]any {
	env := map[string]any{}
	for _, name := range TriggerNames() {
		x := math.NaN()
		if now != nil {
			if v := t.value(name, before, now); v.Known {
				x = v.Number
			}
		}
		switch parts := strings.Split(name, "."); len(parts) {
		case 1:
			env[name] = x
		case 2:
			inner, _ := env[parts[0]].(map[string]float64)
			if inner == nil {
				inner = map[string]float64{}
				env[parts[0]] = inner
			}
			inner[parts[1]] = x
		case 3:
			inner, _ := env[parts[0]].(map[string]map[string]float64)
			if inner == nil {
				inner = map[string]map[string]float64{}
				env[parts[0]] = inner
			}
			if inner[parts[1]] == nil {
				inner[parts[1]] = map[string]float64{}
			}
			inner[parts[1]][parts[2]] = x
		}
	}
	return env
}

// holds reports whether the condition holds.
func (t *trigger) holds(before, now *Reading) (bool, error) {
	out, err := expr.Run(t.program, t.env(before, now))
	if err != nil {
		return false, fmt.Errorf("trigger %q: %w", t.text, err)
	}
	yes, _ := out.(bool)
	return yes, nil
}

// blind names what the condition needs and a reading cannot tell.
func (t *trigger) blind(now *Reading) error {
	for _, name := range t.names {
		get := triggerLevels[name]
		if get == nil {
			get = triggerRates[name]
		}
		if v := get(now); !v.Known {
			return fmt.Errorf("trigger %q: %s cannot be read here (%s: %s), so it would never hold", t.text, name, v.Why, v.Detail)
		}
	}
	return nil
}
