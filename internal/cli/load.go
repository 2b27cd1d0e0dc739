package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"brink/catalog"
	"brink/internal/experiment"
	"brink/internal/textfile"
)

// source is where an experiment comes from and how it is to be changed.
type source struct {
	profile     string
	set         []string
	repetitions int
	// given tells whether a flag was.
	given func(flag string) bool
}

// addFlags adds the habits that every command with an experiment shares.
func (s *source) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	s.given = f.Changed
	f.StringVar(&s.profile, "profile", "", "`profile` of the experiment: quick, standard or full (default standard, where the file has it)")
	f.StringArrayVar(&s.set, "set", nil, "change a field of the file: `path=value`, such as apps.web.workers=8 (repeatable)")
	f.IntVar(&s.repetitions, "repetitions", 0, "override the number of repetitions, 1 to 50")
	_ = cmd.RegisterFlagCompletionFunc("profile", cobra.FixedCompletions([]string{"quick", "standard", "full"}, cobra.ShellCompDirectiveNoFileComp))
}

// load reads an experiment from the catalogue or from a file and expands it.
func (s *source) load(arg string) (*experiment.Design, error) {
	name, data, err := read(arg)
	if err != nil {
		return nil, badInput(err)
	}
	if s.repetitions == 0 && s.given != nil && s.given("repetitions") {
		return nil, badInput(errors.New("--repetitions 0: there must be at least 1"))
	}
	d, err := experiment.LoadDesign(name, data, experiment.Options{
		Profile: s.profile, Set: s.set, Repetitions: s.repetitions,
	})
	return d, badInput(err)
}

// read finds the bytes of an experiment: a path or a name of the catalogue.
func read(arg string) (name string, data []byte, err error) {
	if !strings.ContainsAny(arg, "/.") {
		data, name, err := catalog.Open(arg)
		if err == nil {
			return name, data, nil
		}
		if _, statErr := os.Stat(arg); statErr != nil {
			return "", nil, err
		}
	}
	data, err = textfile.Read(arg, experiment.MaxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil, fmt.Errorf("%s: no such file; brink list shows the experiments that ship", arg)
	case err != nil:
		return "", nil, fmt.Errorf("%s cannot be read: %w", arg, cause(err))
	}
	return arg, data, nil
}

// completeExperiments offers the catalogue's names beside files.
func completeExperiments(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return catalog.Names(), cobra.ShellCompDirectiveDefault
}
