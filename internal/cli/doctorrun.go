package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brink/internal/doctor"
	"brink/internal/evidence"
	"brink/internal/phrase"
	"brink/internal/record"
)

// runFormat names the form of the document about a whole run.
const runFormat = "brink-doctor-run/1"

// wholeRun is what doctor says about every repetition of a run: each is a
// machine, or a plan, of its own.
type wholeRun struct {
	Format      string         `json:"format"`
	Verdict     doctor.Verdict `json:"verdict"`
	Repetitions []examined     `json:"repetitions"`
}

// examined is one repetition with its report.
type examined struct {
	// Repetition is what --repetition takes; Number counts those of the step.
	Repetition int64          `json:"repetition"`
	Step       string         `json:"step"`
	Number     int            `json:"number"`
	Twin       bool           `json:"twin,omitempty"`
	Phase      int            `json:"phase,omitempty"`
	Report     *doctor.Report `json:"report"`
}

// doctorRun examines every repetition of a run.
func (a *app) doctorRun(ctx context.Context, dir string, o examination) (err error) {
	r, err := record.Open(dir)
	if err != nil {
		return badInput(err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	run, err := examineAll(ctx, r)
	if err != nil {
		return broken(err)
	}
	switch {
	case len(run.Repetitions) == 0:
		return badInput(fmt.Errorf("%s: no repetition of the run was begun", dir))
	case a.json:
		err = a.printDocument(run, "  ")
	case len(run.Repetitions) == 1:
		err = a.printReport(run.Repetitions[0].Report, o)
	default:
		err = a.printRun(run, dir, o)
	}
	if err != nil {
		return err
	}
	return ended(&doctor.Report{Verdict: run.Verdict})
}

func examineAll(ctx context.Context, r *record.Reader) (*wholeRun, error) {
	steps, err := r.Steps(ctx)
	if err != nil {
		return nil, err
	}
	names := map[int64]string{}
	for _, s := range steps {
		names[s.ID] = s.Name
	}
	reps, err := r.Repetitions(ctx)
	if err != nil {
		return nil, err
	}
	run := &wholeRun{Format: runFormat, Verdict: doctor.Unknown, Repetitions: []examined{}}
	for _, rep := range reps {
		c, err := evidence.FromRecord(ctx, r, evidence.Window{Repetition: rep.ID})
		if err != nil {
			return nil, err
		}
		x := examined{Repetition: rep.ID, Step: names[rep.StepID], Number: rep.Number, Twin: rep.Twin, Phase: rep.Phase, Report: doctor.Diagnose(c)}
		run.Repetitions = append(run.Repetitions, x)
		switch {
		case x.Report.Verdict == doctor.Findings:
			run.Verdict = doctor.Findings
		case x.Report.Verdict == doctor.Healthy && run.Verdict == doctor.Unknown:
			run.Verdict = doctor.Healthy
		}
	}
	return run, nil
}

// printRun prints a line for each repetition, as text or for a ticket.
func (a *app) printRun(run *wholeRun, dir string, o examination) error {
	rows := [][]string{{"REPETITION", "STEP", "VERDICT", "MODES"}}
	found := 0
	first := run.Repetitions[0].Repetition
	for _, x := range run.Repetitions {
		if x.Report.Verdict == doctor.Findings {
			if found == 0 {
				first = x.Repetition
			}
			found++
		}
		rows = append(rows, []string{strconv.FormatInt(x.Repetition, 10), x.title(), string(x.Report.Verdict), strings.Join(modesFound(x.Report), ", ")})
	}
	of := "are"
	if found == 1 {
		of = "is"
	}
	head := fmt.Sprintf("Of %s there %s %d with findings.\n\n", phrase.Plural(len(run.Repetitions), "repetition"), of, found)
	tail := fmt.Sprintf("\nIn full: brink doctor %s --repetition %d\n", quoted(dir), first)
	var b strings.Builder
	b.WriteString(head)
	if o.format == "markdown" {
		markdownRows(&b, rows)
	} else if err := newPage(&b).columns(rows); err != nil {
		return err
	}
	b.WriteString(tail)
	_, err := fmt.Fprint(a.stdout, harmless(b.String()))
	return err
}

// markdownRows writes rows below their heads. Names of steps stand as code, in
// which nothing is markup.
func markdownRows(b *strings.Builder, rows [][]string) {
	inCode := strings.NewReplacer("`", "'", "|", `\|`)
	for i, row := range rows {
		if i == 0 {
			fmt.Fprintf(b, "| %s |\n|---:|---|---|---|\n", strings.Join(row, " | "))
			continue
		}
		fmt.Fprintf(b, "| %s | `%s` | %s |\n", row[0], inCode.Replace(row[1]), strings.Join(row[2:], " | "))
	}
}

// title names a repetition in one line.
func (x examined) title() string {
	const most = 80
	text := fmt.Sprintf("%s #%d", printable(x.Step, most), x.Number)
	switch {
	case x.Twin:
		text += ", twin"
	case x.Phase > 0:
		text += fmt.Sprintf(", phase %d", x.Phase)
	}
	return text
}

// modesFound are the modes of a report's findings, causes first, each once.
func modesFound(r *doctor.Report) []string {
	var modes []string
	for i := range r.Findings {
		if mode := string(r.Findings[i].Mode); !slices.Contains(modes, mode) {
			modes = append(modes, mode)
		}
	}
	return modes
}
