package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"brink/internal/evidence"
)

// soonest is the shortest time between two readings.
const soonest = 100 * time.Millisecond

// collecting is what brink collect was asked for.
type collecting struct {
	every, lasts, before time.Duration
	trigger              string
	out                  string
	host                 string
	keepHost, force      bool
}

func (a *app) collectCommand() *cobra.Command {
	var o collecting
	cmd := &cobra.Command{
		Use:   "collect",
		Short: "Write what doctor needs to know of this machine into one small file",
		Long: `Read what brink doctor reads of this machine and write it into a compressed
archive, which brink doctor reads anywhere. It holds files of the kernel as they
stand there and what was seen of the servers; no environment, no command lines,
and another name in the place of the machine's. docs/evidence.md lists it all.

With --on-trigger it waits: a bounded ring keeps the time before, and the archive
is written --for after the condition has held. Ctrl-C writes what there is.

Exit codes: 0 written; 2 bad input; 3 it could not be written.`,
		Example: `  brink collect
  brink collect --every 5s --for 10m --out case.tar.gz
  brink collect --every 5s --for 2m --on-trigger 'psi.memory.full > 20'`,
		Args:              arguments(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return badInput(err)
			}
			return a.collect(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&o.every, "every", 10*time.Second, "time between readings, at least 100ms")
	f.DurationVar(&o.lasts, "for", 10*time.Second, "how long to go on; with --on-trigger, after it")
	f.StringVar(&o.trigger, "on-trigger", "", "wait for this `condition`, such as 'psi.memory.full > 20 or oom.kills > 0'")
	f.DurationVar(&o.before, "before", 5*time.Minute, "how much of the time before the trigger is kept, at most 1h")
	f.StringVar(&o.out, "out", "brink-evidence.tar.gz", "`file` to write; it must be new")
	f.StringVar(&o.host, "host-name", "host", "`name` to write instead of this machine's")
	f.BoolVar(&o.keepHost, "keep-host-name", false, "leave the machine's name in")
	f.BoolVar(&o.force, "force", false, "replace the file if it is there")
	return cmd
}

func (o *collecting) check() error {
	switch {
	case o.every < soonest:
		return fmt.Errorf("--every %v: it must be %v or more", o.every, soonest)
	case o.lasts <= 0 || o.lasts > 24*time.Hour:
		return fmt.Errorf("--for %v: it must be above 0 and at most 24h", o.lasts)
	case o.before <= 0 || o.before > time.Hour:
		return fmt.Errorf("--before %v: it must be above 0 and at most 1h", o.before)
	case o.host == "":
		return errors.New("--host-name: it must not be empty; --keep-host-name leaves the name in")
	case o.trigger != "":
		return evidence.CheckTrigger(o.trigger)
	}
	return nil
}

// collect writes the bundle beside its final name, so that an archive that was
// cut off is never taken for a whole one.
func (a *app) collect(ctx context.Context, o collecting) error {
	part, f, err := o.open()
	if err != nil {
		return badInput(err)
	}
	defer os.Remove(part) // it is gone when all went well
	if o.trigger != "" {
		a.say("waiting for %s; ctrl-c writes what there is", o.trigger)
	}
	s, err := evidence.Collect(ctx, f, evidence.CollectOptions{
		Every: o.every, For: o.lasts, Before: o.before, Trigger: o.trigger, Host: o.host, KeepHost: o.keepHost, Brink: Version,
		Triggered: func(at time.Time) {
			a.say("%s held at %s; going on for %v", o.trigger, at.Format(time.TimeOnly), o.lasts)
		},
	})
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(part, o.out)
	}
	var file *fs.PathError
	var link *os.LinkError
	if errors.As(err, &file) || errors.As(err, &link) {
		return broken(err)
	}
	if err != nil {
		return badInput(err)
	}
	return a.collected(o.out, s)
}

// open opens the part. Whatever has its name is removed and not written through:
// a link there may lead anywhere.
func (o *collecting) open() (part string, f *os.File, err error) {
	switch info, err := os.Lstat(o.out); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", nil, err
	case !info.Mode().IsRegular():
		return "", nil, fmt.Errorf("%s is there already and no file", o.out)
	case !o.force:
		return "", nil, fmt.Errorf("%s is there already; --force replaces it", o.out)
	}
	part = o.out + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", nil, err
	}
	f, err = os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	return part, f, err
}

// collected says what the file holds, and what it could not.
func (a *app) collected(out string, s evidence.CollectSummary) error {
	if a.json {
		return a.printJSON(s)
	}
	info, err := os.Stat(out)
	if err != nil {
		return broken(err)
	}
	a.say("%s: %d readings in %v, %d servers, %d KiB", out, s.Readings, s.To.Sub(s.From).Round(time.Second), s.Servers, (info.Size()+1023)>>10)
	for _, g := range s.Gaps {
		a.say("could not see: %s (%s)", g.What, g.Why)
	}
	return nil
}
