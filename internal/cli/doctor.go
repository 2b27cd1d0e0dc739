package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"brink/internal/doctor"
	"brink/internal/evidence"
	"brink/internal/record"
)

// examination is what `brink doctor` was asked for.
type examination struct {
	lasts            time.Duration
	root             string
	watch, all       bool
	format, explain  string
	from, to         string
	repetition       int64
	window           evidence.Window
	windowed, marked bool
}

func (a *app) doctorCommand() *cobra.Command {
	var o examination
	cmd := &cobra.Command{
		Use:   "doctor [FILE|DIR|RUN ...]",
		Short: "Say what is wrong with this machine, a capture or an export, and how we know",
		Long: `Say which failure mode a machine or an app is in, with the numbers, the cause,
what to do, and what could not be seen. Without an argument this machine is
looked at, twice, --for apart. Otherwise all arguments are one case: bundles of
brink collect, captured trees, exports of Azure, logs of servers and platforms,
the output of tools, directories of runs; "-" reads a bundle from standard input.
Files are recognised by their contents. Of a run that is the only argument each
repetition is looked at, of one among others the last.

Exit codes: 0 nothing is wrong, 1 something was found, 2 bad input, 3 too little
evidence for a verdict. With --watch it is that of the last --for that was
watched to its end.`,
		Example: `  brink doctor                               this machine, for 10 s
  sudo brink doctor --for 30s                with what only root sees
  brink doctor bundle.tar.gz                 what somebody sent
  brink doctor metrics.json console.csv      exports, as one case
  brink doctor runs/worker-exhaustion-1 --repetition 3
  brink doctor --explain swap-thrash         the long story of a mode`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.marked = cmd.Flags().Changed("for")
			for _, name := range []string{"explain", "root", "repetition", "format", "from", "to"} {
				if !cmd.Flags().Changed(name) {
					continue
				}
				if err := o.given(name, a.json); err != nil {
					return badInput(err)
				}
			}
			if o.explain != "" && len(args) > 0 {
				return badInput(errors.New("--explain prints the story of a mode and looks at nothing: leave the arguments out"))
			}
			for _, name := range []string{"for", "root", "watch", "from", "to", "repetition"} {
				if o.explain != "" && cmd.Flags().Changed(name) {
					return badInput(fmt.Errorf("--explain prints the story of a mode and looks at nothing: leave --%s out", name))
				}
			}
			return a.doctor(cmd.Context(), args, o)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&o.lasts, "for", 10*time.Second, "how far apart the two readings of this machine are, 200ms to 1h")
	f.StringVar(&o.root, "root", "", "look at a captured tree in this `directory` as if it were /")
	f.BoolVar(&o.watch, "watch", false, "go on until ctrl-c: one line for each --for, and the report when it changes")
	f.BoolVar(&o.all, "all", false, "print everything, not one screen")
	f.StringVar(&o.format, "format", "text", "text, or markdown for a ticket")
	f.StringVar(&o.explain, "explain", "", "print the long story of a failure `mode`")
	f.StringVar(&o.from, "from", "", "of a run, only what is later than this `time` (2026-01-31T15:04:05Z)")
	f.StringVar(&o.to, "to", "", "of a run, only what is earlier than this `time`")
	f.Int64Var(&o.repetition, "repetition", 0, "of a run, this repetition alone")
	return cmd
}

// given says in one sentence why a flag that was given makes no sense, whatever
// else there is.
func (o *examination) given(name string, asJSON bool) error {
	switch {
	case name == "explain" && o.explain == "", name == "root" && o.root == "", name == "from" && o.from == "", name == "to" && o.to == "":
		return fmt.Errorf("--%s: it must not be empty", name)
	case name == "repetition" && o.repetition < 1:
		return fmt.Errorf("--repetition %d: it must be 1 or more", o.repetition)
	case name == "format" && asJSON:
		return errors.New("--format and --json exclude each other")
	}
	return nil
}

func (o *examination) checkFormat() error {
	if o.format != "text" && o.format != "markdown" {
		return fmt.Errorf("--format %s: it is text or markdown (--json for programs)", o.format)
	}
	return nil
}

// check says in one sentence what flags and arguments cannot be together.
func (o *examination) check(args []string) error {
	err := o.checkFormat()
	if err != nil {
		return err
	}
	if o.window.From, err = instant("--from", o.from); err != nil {
		return err
	}
	if o.window.To, err = instant("--to", o.to); err != nil {
		return err
	}
	o.window.Repetition = o.repetition
	o.windowed = o.from != "" || o.to != "" || o.repetition != 0
	switch {
	case o.from != "" && o.to != "" && !o.window.To.After(o.window.From):
		return fmt.Errorf("--to %s: it must be later than --from %s", o.to, o.from)
	case o.windowed && (len(args) != 1 || !record.IsRun(args[0])):
		return errors.New("--from, --to and --repetition need the directory of one run and nothing else")
	case o.lasts < 200*time.Millisecond || o.lasts > time.Hour:
		return fmt.Errorf("--for %v: it must be 200ms to 1h", o.lasts)
	case len(args) > 0 && (o.watch || o.root != "" || o.marked):
		return errors.New("--watch, --root and --for look at a machine, not at files: leave the arguments out")
	case o.watch && o.root != "":
		return errors.New("--watch and --root exclude each other: a captured tree does not change")
	}
	return nil
}

func instant(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%s %q: it must be a time such as 2026-01-31T15:04:05Z", flag, text)
}

func (a *app) doctor(ctx context.Context, args []string, o examination) error {
	if o.explain != "" {
		return a.explainMode(o)
	}
	if err := o.check(args); err != nil {
		return badInput(err)
	}
	if o.watch {
		return a.doctorWatch(ctx, o)
	}
	if len(args) == 1 && !o.windowed && record.IsRun(args[0]) {
		return a.doctorRun(ctx, args[0], o)
	}
	c, err := a.gatherEvidence(ctx, args, o)
	if err != nil {
		return err
	}
	r := doctor.Diagnose(c)
	if err := a.printReport(r, o); err != nil {
		return err
	}
	return ended(r)
}

// ended makes the exit code of a report.
func ended(r *doctor.Report) error {
	if code := r.ExitCode(); code != exitDone {
		return &exitError{code: code}
	}
	return nil
}

// explainMode prints the page of a mode: wrapped, or for a ticket as it stands.
func (a *app) explainMode(o examination) error {
	mode, err := doctor.ParseMode(o.explain)
	if err == nil {
		err = o.checkFormat()
	}
	if err != nil {
		return badInput(err)
	}
	if a.json {
		parts, err := doctor.ExplainParts(mode)
		if err != nil {
			return broken(err)
		}
		return a.printDocument(parts, "  ")
	}
	text, err := doctor.Explain(mode)
	if err != nil {
		return broken(err)
	}
	if o.format != "markdown" {
		text = wrapped(text, newPage(a.stdout).width)
	}
	_, err = fmt.Fprint(a.stdout, text)
	return err
}

// wrapped wraps the paragraphs and list items of a page of Markdown, each of which is
// a line; what stands four deep is code and stays.
func wrapped(text string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		item, listed := strings.CutPrefix(line, "- ")
		switch {
		case strings.TrimSpace(line) == "", strings.HasPrefix(line, "    "):
			b.WriteString(line)
		case listed:
			b.WriteString(indent(item, "- ", width))
		default:
			b.WriteString(indent(line, "", width))
		}
	}
	return b.String()
}

// gatherEvidence makes one case of the arguments, or looks at the machine.
func (a *app) gatherEvidence(ctx context.Context, args []string, o examination) (*evidence.Case, error) {
	var c *evidence.Case
	var err error
	switch {
	case len(args) == 0:
		if o.root == "" {
			a.say("looking at this machine for %v", o.lasts)
		}
		c, err = evidence.Live(ctx, evidence.Options{For: o.lasts, Root: o.root})
	case o.windowed:
		c, err = evidence.FromRun(ctx, args[0], o.window)
	case len(args) == 1 && args[0] == "-":
		c, err = evidence.ReadArchive(ctx, "standard input", os.Stdin)
	case slices.Contains(args, "-"):
		err = errors.New(`"-" reads one bundle from standard input and goes with nothing else`)
	default:
		c, err = evidence.Read(ctx, args...)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return c, badInput(err)
}

func (a *app) printReport(r *doctor.Report, o examination) error {
	var b strings.Builder
	var err error
	switch {
	case a.json:
		return a.printDocument(r, "  ")
	case o.format == "markdown":
		err = doctor.Markdown(&b, r)
	default:
		err = doctor.Text(&b, r, doctor.TextOptions{Width: newPage(a.stdout).width, All: o.all})
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(a.stdout, harmless(b.String()))
	return err
}

// printDocument writes a report, or those of a run, as JSON, which holds names and
// lines of the evidence.
func (a *app) printDocument(r any, indent string) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetIndent("", indent)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return err
	}
	_, err := io.WriteString(a.stdout, harmlessJSON(b.String()))
	return err
}

// doctorWatch judges one window after the other until the context ends. The
// exit code is that of the last.
func (a *app) doctorWatch(ctx context.Context, o examination) error {
	var last *doctor.Report
	before := ""
	for {
		c, err := evidence.Live(ctx, evidence.Options{For: o.lasts})
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return broken(err)
		}
		last = doctor.Diagnose(c)
		now := modesOf(last)
		switch {
		case a.json:
			err = a.printDocument(last, "")
		default:
			_, err = io.WriteString(a.stdout, watchLine(time.Now(), now))
			if err == nil && now != before {
				err = a.printReport(last, o)
			}
		}
		if err != nil {
			return err
		}
		before = now
	}
	if last == nil {
		return ctx.Err()
	}
	return ended(last)
}

// watchLine is what each window says: when, and its report in a few words.
func watchLine(at time.Time, words string) string {
	return at.Format("2006-01-02 15:04:05 MST") + " " + harmless(words) + "\n"
}

// modesOf is a report in a few words.
func modesOf(r *doctor.Report) string {
	return strings.Join(append([]string{string(r.Verdict)}, modesFound(r)...), " ")
}
