package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"brink/internal/compare"
	"brink/internal/measure"
	"brink/internal/report"
)

// compareFlags are what brink compare was asked for.
type compareFlags struct {
	metrics, effects, allow []string
	out, warmUp             string
}

func (a *app) compareCommand() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Compare two runs, two steps, or a run with a data file",
		Long: `Compare two sides metric by metric: medians with their intervals, the change
with its interval and size in a word, an exact test, and a sentence to forward.

A and B are each a run (DIR) or a data file (FILE.csv, FILE.yaml; its form is
in docs/comparing.md), or one step of it (DIR:STEP). Two runs are compared in
the steps that they have in common. What is not comparable is refused, with the
reason.`,
		Args: arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.compare(cmd.Context(), args[0], args[1], f)
		},
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&f.metrics, "metric", nil, "compare this `metric` (repeatable; default: those of the hypotheses, and the headline ones)")
	fl.StringArrayVar(&f.effects, "effect", nil, "the smallest effect that matters: `METRIC=SIZE`, such as cpu_pct='2 points' (repeatable)")
	fl.StringSliceVar(&f.allow, "allow", nil, "compare although these `aspects` differ: "+aspectList())
	fl.StringVar(&f.out, "out", "", "write a page with the picture to this `file.html`")
	fl.StringVar(&f.warmUp, "warm-up", "declared", "leave out the `declared` warm-up, or none")
	return cmd
}

func (a *app) compare(ctx context.Context, first, second string, f compareFlags) error {
	o, measuring, err := f.parse()
	if err != nil {
		return badInput(err)
	}
	var sides [2]*compare.Side
	for i, arg := range []string{first, second} {
		a.say("reading %s", arg)
		if sides[i], err = compare.Open(ctx, arg, measuring); err != nil {
			return badInput(err)
		}
	}
	c, err := compare.Compare(sides[0], sides[1], o)
	if err != nil {
		return badInput(err)
	}
	if f.out != "" {
		if err := writeComparison(f.out, c); err != nil {
			return badInput(err)
		}
		a.say("wrote %s", f.out)
	}
	if a.json {
		return a.printJSON(c)
	}
	return compare.Render(a.stdout, c)
}

// parse checks what was asked for.
func (f compareFlags) parse() (o compare.Options, measuring measure.Options, err error) {
	if measuring, err = (studyFlags{warmUp: f.warmUp}).options(); err != nil {
		return o, measuring, err
	}
	if f.out != "" && !slices.Contains([]string{".html", ".htm"}, filepath.Ext(f.out)) {
		return o, measuring, fmt.Errorf("--out %s: the page is HTML, so its name ends in .html", f.out)
	}
	o.Metrics, o.Effects = f.metrics, map[string]string{}
	for _, text := range f.effects {
		name, size, ok := strings.Cut(text, "=")
		if !ok {
			return o, measuring, fmt.Errorf("--effect %q: write METRIC=SIZE, such as latency_p50_ms=20%%", text)
		}
		o.Effects[name] = size
	}
	for _, text := range f.allow {
		aspect := compare.Aspect(text)
		if !slices.Contains(compare.Aspects(), aspect) {
			return o, measuring, fmt.Errorf("--allow %s: it is one or more of %s", text, aspectList())
		}
		o.Allow = append(o.Allow, aspect)
	}
	return o, measuring, nil
}

func aspectList() string {
	var names []string
	for _, x := range compare.Aspects() {
		names = append(names, string(x))
	}
	return strings.Join(names, ",")
}

// writeComparison writes the page: every repetition as a point over boxes.
func writeComparison(path string, c *compare.Comparison) error {
	page := report.ChartPage{
		Title: fmt.Sprintf("%s against %s", c.A.Name, c.B.Name),
		Intro: []string{"A: " + c.A.Describe(), "B: " + c.B.Describe()}, Notes: c.Caveats,
	}
	for _, p := range c.Pairs {
		for _, r := range p.Rows {
			page.Sentences = append(page.Sentences, r.Sentence)
		}
		if p.Spread != nil {
			page.Sentences = append(page.Sentences, p.Spread.Sentence)
		}
	}
	for _, name := range c.Metrics() {
		in := boxesOf(c, name)
		if constant(in) {
			continue // the sentence says it; a picture would show one line
		}
		chart, err := report.Boxes(in)
		if err != nil {
			return err
		}
		page.Charts = append(page.Charts, chart)
	}
	page.Table.Columns, page.Table.Rows = c.Table()
	err := writeFile(path, func(w io.Writer) error { return report.RenderCharts(w, page) })
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// boxesOf draws the two sides of every pair below each other.
func boxesOf(c *compare.Comparison, name string) report.BoxesInput {
	in := report.BoxesInput{ID: "boxes-" + strings.ReplaceAll(name, "_", "-")}
	for _, p := range c.Pairs {
		for _, r := range p.Rows {
			if r.Metric.Name != name {
				continue
			}
			in.Metric, in.Title = r.Metric, r.Metric.Title+" in every repetition"
			in.Groups = append(in.Groups, boxOf("A: "+p.StepA, r.A), boxOf("B: "+p.StepB, r.B))
		}
	}
	return in
}

// constant tells whether all repetitions of all groups have the same value.
func constant(in report.BoxesInput) bool {
	for _, g := range in.Groups {
		for _, v := range g.Values {
			if v != in.Groups[0].Values[0] {
				return false
			}
		}
	}
	return true
}

func boxOf(label string, s compare.Summary) report.BoxGroup {
	g := report.BoxGroup{Step: label, Q1: s.Q1, Median: s.Median, Q3: s.Q3}
	for _, v := range s.Values {
		g.Values = append(g.Values, report.BoxValue{X: v.X, AtLeast: v.AtLeast})
	}
	return g
}

func (a *app) studyCommand() *cobra.Command {
	var f studyFlags
	cmd := &cobra.Command{
		Use:   "study DIR DIR...",
		Short: "Judge several runs of one experiment together",
		Long: `Pool the repetitions of several runs of the same experiment and judge its
hypotheses on all of them. Runs that do not belong together are refused, with
the reason. The report stays one per run: brink report DIR.`,
		Args: arguments(2, math.MaxInt),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := f.options()
			if err != nil {
				return badInput(err)
			}
			a.say("reading %s", strings.Join(args, ", "))
			s, err := compare.Pool(cmd.Context(), args, o)
			if err != nil {
				return badInput(err)
			}
			if a.json {
				return a.printJSON(s)
			}
			p := newPage(a.stdout)
			fmt.Fprintf(p, "%s\n", s.Head())
			if err := p.verdicts(s.Verdicts); err != nil {
				return err
			}
			_, err = fmt.Fprintf(p, "%s\n\n%s", tally(s.Verdicts), s.Table())
			return err
		},
	}
	cmd.Flags().StringVar(&f.warmUp, "warm-up", "declared", "leave out the `declared` warm-up, or none")
	return cmd
}
