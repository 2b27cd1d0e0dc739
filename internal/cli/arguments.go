package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// arguments wants from least to most arguments and says in one sentence how
// the command is used otherwise.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		usage := strings.TrimSuffix(cmd.UseLine(), " [flags]")
		switch {
		case len(args) < least:
			return badInput(fmt.Errorf("%s is missing an argument; it is used like this: %s", cmd.Name(), usage))
		case len(args) > most:
			return badInput(fmt.Errorf("%s cannot use the argument %q; it is used like this: %s", cmd.Name(), args[most], usage))
		}
		return nil
	}
}

// knownCommand refuses what is no command of brink.
func knownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("there is no command %q", args[0])
	if near := root.SuggestionsFor(args[0]); len(near) > 0 {
		text += fmt.Sprintf("; did you mean %q?", near[0])
	} else {
		text += "; brink help lists all"
	}
	return badInput(errors.New(text))
}

// kinds of flag values, in words.
var kinds = map[string]string{
	"int": "a whole number", "int64": "a whole number", "float64": "a number", "duration": "a duration such as 30s", "bool": "true or false",
}

// flagError says what is wrong with a flag.
func flagError(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &value):
		f := value.GetFlag()
		if kind := kinds[f.Value.Type()]; kind != "" {
			return badInput(fmt.Errorf("--%s %s: it must be %s", f.Name, value.GetValue(), kind))
		}
	case errors.As(err, &unknown):
		return badInput(fmt.Errorf("%s has no flag %s; %s --help lists them", cmd.Name(), spelled(unknown), cmd.CommandPath()))
	}
	return badInput(fmt.Errorf("%s: %w", cmd.Name(), err))
}

func spelled(e *pflag.NotExistError) string {
	if e.GetSpecifiedShortnames() != "" {
		return "-" + e.GetSpecifiedName()
	}
	return "--" + e.GetSpecifiedName()
}

// directories completes the directory of a run.
func directories(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}
