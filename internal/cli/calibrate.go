package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"brink/internal/clock"
	"brink/internal/experiment"
	"brink/internal/host"
	"brink/internal/lab"
	"brink/internal/measure"
	"brink/internal/metric"
	"brink/internal/record"
)

// ballastPath is the field that a calibration changes.
const ballastPath = "plan.share.ballast_mb"

// calibrateFlags are what brink calibrate was asked for.
type calibrateFlags struct {
	set    []string
	host   string
	out    string
	rounds int
	within float64
	watch  time.Duration
}

func (a *app) calibrateCommand() *cobra.Command {
	var f calibrateFlags
	cmd := &cobra.Command{
		Use:   "calibrate [NAME|FILE]",
		Short: "Find the platform's share with which a plan reads what it should, on this machine",
		Long: `Find the ballast, the memory that stands for the platform's own, with which the
step that an experiment is calibrated by (memory-pressure, if none is named)
reads the middle of its band. The step is executed a few times, each time on a
fresh plan and with another ballast.

The plan is printed as YAML, ready to take the place of the experiment's. What it
prints besides says how the plan was on this machine: cold start, memory, swap.`,
		Example: `  brink calibrate
  brink calibrate memory-pressure --out plan.yaml
  brink run memory-pressure --set plan.share.ballast_mb=605    with what it found`,
		Args:              arguments(0, 1),
		ValidArgsFunction: completeExperiments,
		RunE: func(cmd *cobra.Command, args []string) error {
			name := "memory-pressure"
			if len(args) > 0 {
				name = args[0]
			}
			return a.calibrate(cmd.Context(), name, f)
		},
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&f.set, "set", nil, "change a field of the file first: `path=value` (repeatable)")
	fl.StringVar(&f.host, "host", "", "`kind` of host: local or vm (default by the plan)")
	fl.StringVar(&f.out, "out", "", "write the plan to `file`, which must not be there yet")
	fl.IntVar(&f.rounds, "rounds", 6, "try at most so `many` ballasts, 1 to 20")
	fl.Float64Var(&f.within, "within", 0.5, "be content with so many `points` from the middle of the band")
	fl.DurationVar(&f.watch, "watch", 30*time.Second, "send traffic for so `long` in each round")
	return cmd
}

// Calibration is what brink calibrate found, as it is printed with --json.
type calibration struct {
	Step    string          `json:"step"`
	Metric  string          `json:"metric"`
	Target  float64         `json:"target"`
	Reading float64         `json:"reading"`
	Rounds  int             `json:"rounds"`
	Set     string          `json:"set"`
	Plan    experiment.Plan `json:"plan"`
	// Beside holds what else was read in the last round, by metric.
	Beside map[string]float64 `json:"beside"`
}

func (f calibrateFlags) check() error {
	switch {
	case f.rounds < 1 || f.rounds > 20:
		return fmt.Errorf("--rounds %d: at least 1 and at most 20", f.rounds)
	case !(f.within > 0):
		return fmt.Errorf("--within %v: it must be more than 0", f.within)
	case f.watch < time.Second || f.watch > time.Hour:
		return fmt.Errorf("--watch %s: at least 1s and at most 1h", f.watch)
	}
	if _, err := os.Lstat(f.out); f.out != "" && err == nil {
		return fmt.Errorf("%s is there already: name a new file with --out", f.out)
	}
	return nil
}

func (a *app) calibrate(ctx context.Context, name string, f calibrateFlags) error {
	if err := f.check(); err != nil {
		return badInput(err)
	}
	c, err := a.calibrator(ctx, name, f)
	if err != nil {
		return err
	}
	p := c.step().Plan
	s := search{
		start: p.Share.BallastMB, least: max(1, p.Share.HotMB), most: p.MemoryMB - p.Share.CacheMB - 1,
		target: c.found.Target, within: f.within, slope: 100 / float64(p.MemoryMB), rounds: f.rounds,
	}
	ballast, reading, err := s.run(ctx, c.read)
	switch {
	case ctx.Err() != nil:
		return broken(errors.New("interrupted before the ballast was found"))
	case err != nil:
		return broken(err)
	}
	c.found.Reading, c.found.Rounds = reading, c.rounds
	c.found.Set = ballastPath + "=" + strconv.Itoa(ballast)
	c.found.Plan.Share.BallastMB = ballast
	return a.printCalibration(c.found, f.out)
}

// calibrator executes an experiment's calibration step with one ballast after
// another.
type calibrator struct {
	*app
	name   string
	flags  calibrateFlags
	host   host.Host
	design *experiment.Design
	rounds int
	found  calibration
}

func (a *app) calibrator(ctx context.Context, name string, f calibrateFlags) (*calibrator, error) {
	c := &calibrator{app: a, name: name, flags: f}
	if err := c.load(f.set); err != nil {
		return nil, err
	}
	gate := c.design.Experiment.Calibration
	c.found = calibration{Step: gate.Step, Metric: gate.Metric, Target: (gate.Low + gate.High) / 2, Plan: c.step().Plan}
	if c.found.Plan.MemoryMB == 0 {
		return nil, badInput(fmt.Errorf("the plan of step %s does not limit memory, so that no ballast can be found for it", gate.Step))
	}
	var err error
	if c.host, err = a.chooseHost(f.host, c.design); err != nil {
		return nil, err
	}
	missing, err := c.host.Check(ctx, c.step().Plan, c.step().Apps)
	if err != nil {
		return nil, broken(fmt.Errorf("check the host: %w", err))
	}
	if len(missing) > 0 {
		return nil, badInput(fmt.Errorf("step %s needs %s, which is not there. %s", gate.Step, missing[0].Need, missing[0].Advice))
	}
	return c, nil
}

func (c *calibrator) step() *experiment.Step { return &c.design.Steps[0] }

// load expands the experiment and leaves nothing of it but the step that it is
// calibrated by, to be executed once.
func (c *calibrator) load(set []string) error {
	d, err := (&source{set: set, repetitions: 1}).load(c.name)
	if err != nil {
		return err
	}
	gate := d.Experiment.Calibration
	if gate == nil {
		return badInput(fmt.Errorf("%s declares no calibration: there is nothing to aim at", d.Experiment.Name))
	}
	alone := *d.Experiment
	alone.Hypotheses, alone.Baseline = nil, ""
	d.Experiment = &alone
	d.Steps = slices.DeleteFunc(d.Steps, func(s experiment.Step) bool { return s.Name != gate.Step })
	for i, t := range d.Steps[0].Traffic {
		if t.Duration > 0 {
			d.Steps[0].Traffic[i].Duration = min(t.Duration, experiment.Duration(c.flags.watch))
		}
	}
	c.design = d
	return nil
}

// read executes the step with a ballast and returns what its metric reads.
func (c *calibrator) read(ctx context.Context, ballast int) (float64, error) {
	if err := c.load(append(slices.Clone(c.flags.set), fmt.Sprintf("%s=%d", ballastPath, ballast))); err != nil {
		return 0, err
	}
	c.rounds++
	dir, err := os.MkdirTemp("", "brink-calibrate-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	table, err := c.execute(ctx, filepath.Join(dir, "run"))
	if err != nil {
		return 0, err
	}
	c.found.Beside = map[string]float64{}
	for _, name := range []string{"cold_start_s", "latency_p50_ms", "machine_cpu_pct", "memory_pages_pct", "swap_used_mb"} {
		if v := table.Cell(c.found.Step, name).Usable(); len(v) > 0 {
			c.found.Beside[name] = v[0].X
		}
	}
	values := table.Cell(c.found.Step, c.found.Metric).Values
	switch {
	case len(values) == 0:
		return 0, fmt.Errorf("%s of %s was not measured", c.found.Metric, c.found.Step)
	case values[0].Missing != "":
		return 0, fmt.Errorf("%s of %s was not measured: %s", c.found.Metric, c.found.Step, values[0].Missing)
	}
	m, _ := metric.Lookup(c.found.Metric)
	c.say("round %d of at most %d: a ballast of %d MB reads %.2f%s, aiming at %g%s", c.rounds, c.flags.rounds, ballast, values[0].X, m.Unit, c.found.Target, m.Unit)
	return values[0].X, nil
}

func (c *calibrator) execute(ctx context.Context, dir string) (*measure.Table, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	w, err := record.Create(dir, record.Run{
		ID: "calibration", Brink: Version, Experiment: c.design.Experiment.Name, YAML: string(c.design.Source),
		Host: c.host.Kind(), StartedNs: clock.Real.Now().UnixNano(),
	})
	if err != nil {
		return nil, err
	}
	_, err = lab.Run(ctx, lab.Options{Design: c.design, Host: c.host, Record: w, Clock: clock.Real, Seed: 1, Sampling: time.Duration(c.design.Sampling)})
	if err := errors.Join(err, w.Close(), ctx.Err()); err != nil {
		return nil, err
	}
	r, err := record.Open(dir)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return measure.Load(ctx, r, measure.Options{})
}

// printCalibration prints the plan and, beside it, what it was found by.
func (a *app) printCalibration(found calibration, out string) error {
	text, err := planYAML(found.Plan)
	if err != nil {
		return broken(err)
	}
	if out != "" {
		if err := os.WriteFile(out, text, 0o644); err != nil {
			return badInput(fmt.Errorf("%s cannot be written: %w", out, cause(err)))
		}
	}
	if a.json {
		return a.printJSON(found)
	}
	a.say("%s of %s reads %.2f with --set %s; the swap disk is held to %d operations and %g MB a second (0: not held)",
		found.Metric, found.Step, found.Reading, found.Set, found.Plan.SwapIOPS, found.Plan.SwapMBs)
	for _, m := range metric.All() {
		if x, ok := found.Beside[m.Name]; ok {
			a.say("  %s: %.1f %s", m.Title, x, m.Unit)
		}
	}
	if out != "" {
		a.say("wrote %s", out)
		return nil
	}
	_, err = a.stdout.Write(text)
	return err
}

// planYAML is a plan as the field of an experiment file.
func planYAML(p experiment.Plan) ([]byte, error) {
	text, err := json.Marshal(map[string]experiment.Plan{"plan": p})
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(text)
}

// search looks for the ballast that reads a target. A megabyte of ballast raises
// the reading by slope, until measurements say otherwise.
type search struct {
	start, least, most    int
	target, within, slope float64
	rounds                int
}

// run reads one ballast after another: a secant through the last two readings,
// held inside the bracket that all of them leave. It fails when no round came
// within reach.
func (s search) run(ctx context.Context, read func(context.Context, int) (float64, error)) (ballast int, reading float64, err error) {
	low, high := s.least-1, s.most+1 // known or assumed to read too little, too much
	x := min(max(s.start, s.least), s.most)
	var lastX int
	var lastY, best float64 = 0, math.Inf(1)
	for round := range s.rounds {
		y, err := read(ctx, x)
		if err != nil {
			return 0, 0, err
		}
		off := s.target - y
		if math.Abs(off) < math.Abs(s.target-best) {
			ballast, best = x, y
		}
		if math.Abs(off) <= s.within {
			return x, y, nil
		}
		if off > 0 {
			low = max(low, x)
		} else {
			high = min(high, x)
		}
		slope := s.slope
		if round > 0 && x != lastX {
			if measured := (y - lastY) / float64(x-lastX); measured > s.slope/20 && measured < s.slope*4 {
				slope = measured
			}
		}
		if high-low < 2 {
			break
		}
		next := x + int(math.Round(off/slope))
		if next <= low || next >= high {
			next = (low + high) / 2
		}
		lastX, lastY, x = x, y, next
	}
	return 0, 0, fmt.Errorf("no ballast was found: the nearest was %d MB with a reading of %.2f, and the target is %g ± %g", ballast, best, s.target, s.within)
}
