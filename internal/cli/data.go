package cli

import (
	"encoding/csv"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"brink/internal/record"
)

func (a *app) exportCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "export DIR",
		Short: "Write a run's tables as CSV",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := record.Open(args[0])
			if err != nil {
				return badInput(err)
			}
			defer r.Close()
			dir := out
			if dir == "" {
				dir = strings.TrimRight(args[0], "/") + "-csv"
			}
			a.say("exporting to %s", dir)
			files, err := record.ExportCSV(cmd.Context(), r, dir)
			if err != nil {
				return badInput(err)
			}
			if a.json {
				return a.printJSON(files)
			}
			for _, f := range files {
				fmt.Fprintln(a.stdout, f)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`directory` to write to (default DIR-csv); it must be new or empty")
	return cmd
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
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return a.listQueries()
			}
			r, err := record.Open(args[0])
			if err != nil {
				return badInput(err)
			}
			defer r.Close()
			text := args[1]
			for _, q := range record.Queries() {
				if q.Name == text {
					text = q.SQL
				}
			}
			return a.query(cmd, r, text, asCSV)
		},
	}
	cmd.Flags().BoolVar(&asCSV, "csv", false, "print CSV")
	return cmd
}

func (a *app) listQueries() error {
	if a.json {
		return a.printJSON(record.Queries())
	}
	w := tabwriter.NewWriter(a.stdout, 0, 4, 2, ' ', 0)
	for _, q := range record.Queries() {
		fmt.Fprintf(w, "%s\t%s\n", q.Name, q.Description)
	}
	return w.Flush()
}

func (a *app) query(cmd *cobra.Command, r *record.Reader, text string, asCSV bool) error {
	columns, rows, err := r.Query(cmd.Context(), text)
	if err != nil {
		return badInput(err)
	}
	if a.json {
		out := []map[string]any{}
		for row, err := range rows {
			if err != nil {
				return badInput(err)
			}
			object := map[string]any{}
			for i, c := range columns {
				object[c] = row[i]
			}
			out = append(out, object)
		}
		return a.printJSON(out)
	}
	write, flush := a.table(asCSV)
	if err := write(columns); err != nil {
		return err
	}
	for row, err := range rows {
		if err != nil {
			return badInput(err)
		}
		cells := make([]string, len(row))
		for i, v := range row {
			if v != nil {
				cells[i] = fmt.Sprint(v)
			}
			if !asCSV {
				cells[i] = printable(cells[i], 200)
			}
		}
		if err := write(cells); err != nil {
			return err
		}
	}
	return flush()
}

// table writes rows for people or as CSV.
func (a *app) table(asCSV bool) (write func([]string) error, flush func() error) {
	if asCSV {
		w := csv.NewWriter(a.stdout)
		return w.Write, func() error { w.Flush(); return w.Error() }
	}
	w := tabwriter.NewWriter(a.stdout, 0, 4, 2, ' ', 0)
	return func(cells []string) error {
		_, err := fmt.Fprintln(w, strings.Join(cells, "\t"))
		return err
	}, w.Flush
}
