package cli

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"brink/internal/record"
)

func (a *app) exportCommand() *cobra.Command {
	var out string
	var force, compact bool
	cmd := &cobra.Command{
		Use:   "export DIR",
		Short: "Write a run's tables as CSV, or the run in little room",
		Long: `Write every table of a run's record as a CSV file, and traffic.csv with all
requests: when each was due, its URL, status and latency.

With --compact write a directory instead that takes about a tenth of the room and
loses nothing: every command that reads a run reads it too, and its report is the
same.`,
		Example: `  brink export runs/mine --out mine-csv
  brink export runs/mine --compact --out kept/mine`,
		Args:              arguments(1, 1),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := record.Open(args[0])
			if err != nil {
				return badInput(err)
			}
			defer r.Close()
			write, suffix := exportCSV, "-csv"
			if compact {
				write, suffix = exportCompact, "-compact"
			}
			dir := out
			if dir == "" {
				dir = strings.TrimRight(args[0], "/") + suffix
			}
			a.say("exporting to %s", dir)
			files, err := write(cmd.Context(), r, dir, force)
			switch {
			case errors.Is(err, record.ErrExists):
				return badInput(fmt.Errorf("%w with --force", err))
			case err != nil:
				return badInput(err)
			case a.json:
				return a.printJSON(files)
			}
			for _, f := range files {
				fmt.Fprintln(a.stdout, f)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`directory` to write to (default DIR-csv or DIR-compact)")
	cmd.Flags().BoolVar(&compact, "compact", false, "write one compressed file of everything, which is read like the run itself")
	cmd.Flags().BoolVar(&force, "force", false, "replace the files of an earlier export")
	return cmd
}

// exportCSV writes a run's tables to dir and returns the files. What is there
// already is replaced with force only.
func exportCSV(ctx context.Context, r *record.Reader, dir string, force bool) ([]string, error) {
	return record.ExportCSV(ctx, r, dir, overwriting(force)...)
}

func overwriting(force bool) []record.ExportOption {
	if !force {
		return nil
	}
	return []record.ExportOption{record.Overwrite()}
}

func (a *app) queryCommand() *cobra.Command {
	var asCSV bool
	cmd := &cobra.Command{
		Use:   "query DIR [SQL|NAME]",
		Short: "Ask a run's record in SQL",
		Long: `Ask a run's record in SQL, read-only. NAME is one of the questions that ship;
without SQL or NAME they are listed. Beside the record's own tables there are
views with the columns of Azure's: AzureMetrics, AppServiceHTTPLogs and
AppServiceConsoleLogs.`,
		Example: `  brink query runs/mine restarts
  brink query runs/mine 'SELECT name, status, count(*) FROM repetitions
      JOIN steps ON steps.id = step_id GROUP BY 1, 2' --csv`,
		Args:              arguments(1, 2),
		ValidArgsFunction: completeQuery,
		RunE: func(cmd *cobra.Command, args []string) error {
			if asCSV && a.json {
				return badInput(errors.New("--csv and --json exclude each other"))
			}
			if len(args) == 1 {
				return a.listQueries()
			}
			r, err := record.Open(args[0])
			if err != nil {
				return badInput(err)
			}
			defer r.Close()
			text, err := queryText(args[1])
			if err != nil {
				return badInput(err)
			}
			return a.query(cmd, r, text, asCSV)
		},
	}
	cmd.Flags().BoolVar(&asCSV, "csv", false, "print CSV")
	return cmd
}

// queryText is the SQL of a question that ships, or the argument itself. No
// question in SQL is a single word.
func queryText(arg string) (string, error) {
	var names []string
	for _, q := range record.Queries() {
		if q.Name == arg {
			return q.SQL, nil
		}
		names = append(names, q.Name)
	}
	if strings.ContainsAny(arg, " \t\n(") {
		return arg, nil
	}
	return "", fmt.Errorf("%q is neither SQL nor a question that ships; those are: %s", arg, strings.Join(names, ", "))
}

func completeQuery(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return directories(cmd, args, word)
	}
	var names []string
	for _, q := range record.Queries() {
		names = append(names, q.Name+"\t"+q.Description)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) listQueries() error {
	if a.json {
		return a.printJSON(record.Queries())
	}
	rows := [][]string{{"NAME", "QUESTION"}}
	for _, q := range record.Queries() {
		rows = append(rows, []string{q.Name, q.Description})
	}
	return newPage(a.stdout).columns(rows)
}

func (a *app) query(cmd *cobra.Command, r *record.Reader, text string, asCSV bool) error {
	columns, rows, err := r.Query(cmd.Context(), text)
	if err != nil {
		return badInput(err)
	}
	switch {
	case a.json:
		return queryJSON(a.stdout, columns, rows)
	case asCSV:
		return queryCSV(a.stdout, columns, rows)
	}
	return queryTable(a.stdout, columns, rows)
}

// queryJSON writes an array of objects, one a line, as the rows come.
func queryJSON(w io.Writer, columns []string, rows iter.Seq2[[]any, error]) error {
	separator := "["
	for row, err := range rows {
		if err != nil {
			return badInput(err)
		}
		object := make(map[string]any, len(columns))
		for i, c := range columns {
			if b, ok := row[i].([]byte); ok {
				object[c] = string(b)
			} else {
				object[c] = row[i]
			}
		}
		line, err := json.Marshal(object)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s\n  %s", separator, line); err != nil {
			return err
		}
		separator = ","
	}
	if separator == "[" {
		_, err := fmt.Fprintln(w, "[]")
		return err
	}
	_, err := fmt.Fprintln(w, "\n]")
	return err
}

// queryCSV writes the rows as record.ExportCSV does.
func queryCSV(out io.Writer, columns []string, rows iter.Seq2[[]any, error]) error {
	w := csv.NewWriter(out)
	if err := w.Write(columns); err != nil {
		return err
	}
	cells := make([]string, len(columns))
	for row, err := range rows {
		if err != nil {
			return badInput(err)
		}
		for i, v := range row {
			cells[i] = record.FormatCell(v)
		}
		if err := w.Write(cells); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// widestCell bounds what a table shows of one value.
const widestCell = 200

// queryTable writes the rows for people.
func queryTable(out io.Writer, columns []string, rows iter.Seq2[[]any, error]) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(columns, "\t"))
	cells := make([]string, len(columns))
	for row, err := range rows {
		if err != nil {
			return badInput(err)
		}
		for i, v := range row {
			cells[i] = ""
			if b, ok := v.([]byte); ok {
				v = string(b)
			}
			if v != nil {
				cells[i] = printable(fmt.Sprint(v), widestCell)
			}
		}
		if _, err := fmt.Fprintln(w, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}
