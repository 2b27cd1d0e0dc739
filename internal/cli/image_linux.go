package cli

import (
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"brink/internal/host/vm/image"
)

func (a *app) imageCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "image",
		Short: "Build, list and remove the images of virtual machines",
		Long: `Build, list and remove the images that virtual machines boot (--host vm): a
Debian with the interpreters and servers that apps run on, and its kernel.

They are kept in the user's cache directory. The first run that needs an image
builds it.`,
		SuggestionsMinimumDistance: 2,
		Args:                       knownCommand,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.imageBuildCommand(), a.imageListCommand(), a.imageRemoveCommand())
	return cmd
}

func (a *app) imageBuildCommand() *cobra.Command {
	var o image.Options
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build the image, unless it is there",
		Long: `Build the image with mmdebstrap and mke2fs, from the machine's own package
sources or from a mirror of Debian. It takes about a minute and 1.8 GB of disk
space, of which 0.4 GB remain taken. Nothing is installed on the machine.

Root is not needed where the system lets users have numbers of their own
(newuidmap and /etc/subuid) or fakechroot is installed.`,
		Example: `  brink image build
  brink image build --force    anew, with the packages of today`,
		Args:              arguments(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.Cache, err = image.CacheDir(); err != nil {
				return badInput(err)
			}
			o.Progress = func(line string) { a.say("%s", line) }
			i, err := image.Build(cmd.Context(), o)
			var unfit *image.UnfitError
			switch {
			case errors.As(err, &unfit):
				return badInput(err)
			case err != nil:
				return broken(err)
			}
			if a.json {
				return a.printJSON(i)
			}
			fmt.Fprintf(a.stdout, "image %s: Linux %s, Python %s, Node.js %s\n", i.ID, i.Kernel, i.Packages["python3.11"], i.Node)
			return nil
		},
	}
	cmd.Flags().StringVar(&o.Mirror, "mirror", "", "`address` of a mirror of Debian (default: the machine's own package sources)")
	cmd.Flags().BoolVar(&o.Force, "force", false, "build anew what is there")
	return cmd
}

func (a *app) imageListCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "list",
		Short:             "List the images that were built",
		Args:              arguments(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			list, err := images()
			if err != nil {
				return broken(err)
			}
			if a.json {
				return a.printJSON(list)
			}
			if len(list) == 0 {
				a.say("no image was built yet; brink image build does it")
				return nil
			}
			w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "IMAGE\tBUILT\tSIZE\tLINUX\tPYTHON\tNODE.JS\t")
			for _, i := range list {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", i.ID, builtOn(i), humanize.Bytes(uint64(i.Bytes)),
					i.Kernel, i.Packages["python3.11"], i.Node, imageState(i))
			}
			return w.Flush()
		},
	}
}

func builtOn(i *image.Image) string {
	if i.Built.IsZero() {
		return ""
	}
	return i.Built.Local().Format(time.DateTime)
}

func imageState(i *image.Image) string {
	switch {
	case i.Fault != "":
		return "broken: " + i.Fault
	case !i.Current:
		return "of another brink"
	}
	return ""
}

func (a *app) imageRemoveCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "remove [IMAGE]...",
		Short: "Remove images",
		Example: `  brink image remove 9c3a0ff5cc0a
  brink image remove --all`,
		ValidArgsFunction: completeImages,
		Args: func(_ *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return badInput(errors.New("name the images to remove, or say --all"))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			cache, err := image.CacheDir()
			if err != nil {
				return badInput(err)
			}
			if all {
				list, err := image.List(cache)
				if err != nil {
					return broken(err)
				}
				for _, i := range list {
					args = append(args, i.ID)
				}
			}
			for _, id := range args {
				if err := image.Remove(cache, id); err != nil {
					return badInput(err)
				}
				a.say("removed image %s", id)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "remove all of them")
	return cmd
}

func images() ([]*image.Image, error) {
	cache, err := image.CacheDir()
	if err != nil {
		return nil, err
	}
	return image.List(cache)
}

func completeImages(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	list, err := images()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ids := make([]string, len(list))
	for n, i := range list {
		ids[n] = i.ID
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
