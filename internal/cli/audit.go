package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"brink/internal/audit"
	"brink/internal/textfile"
)

func (a *app) auditCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "audit [NAME|FILE.yaml]...",
		Short: "Recompute the claims of a published experiment from its own numbers",
		Long: `Recompute the claims of published experiments from the numbers that they
publish themselves: what each claim says, what its numbers give, and the
evidence level that its repetitions allow. Without a name, all references that
ship with brink. A file of your own has the form of docs/reference-file.md.`,
		ValidArgs: audit.References(),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = audit.References()
			}
			var references []*audit.Reference
			for _, arg := range args {
				r, err := loadReference(arg)
				if err != nil {
					return badInput(err)
				}
				references = append(references, r)
			}
			return a.printAudits(references)
		},
	}
}

// loadReference reads a file where the argument is one, and otherwise a
// reference that ships.
func loadReference(arg string) (*audit.Reference, error) {
	ext := filepath.Ext(arg)
	if ext != ".yaml" && ext != ".yml" && !strings.ContainsRune(arg, filepath.Separator) {
		return audit.Load(arg)
	}
	data, err := textfile.Read(arg, audit.MaxBytes)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", arg, cause(err))
	}
	return audit.Parse(arg, data)
}

func (a *app) printAudits(references []*audit.Reference) error {
	if a.json {
		type entry struct {
			*audit.Reference
			Count   audit.Count    `json:"count"`
			Results []audit.Result `json:"results"`
		}
		var entries []entry
		for _, r := range references {
			entries = append(entries, entry{r, audit.CountOf(r.Audit()), r.Audit()})
		}
		return a.printJSON(entries)
	}
	for i, r := range references {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		if err := audit.Render(a.stdout, r); err != nil {
			return err
		}
	}
	return nil
}
