package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"
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

A terminal that goes away counts as Ctrl-C.

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
			for _, name := range []string{"on-trigger", "before", "host-name"} {
				if err := o.goesWith(name, cmd.Flags().Changed(name)); err != nil {
					return badInput(err)
				}
			}
			if a.json && o.out == toStdout {
				return badInput(errors.New("--out - writes the bundle to standard output, and --json would write there too"))
			}
			ctx, stop := untilHangup(cmd.Context())
			defer stop()
			return a.collect(ctx, o)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&o.every, "every", 10*time.Second, "time between readings, at least 100ms")
	f.DurationVar(&o.lasts, "for", 10*time.Second, "how long to go on; with --on-trigger, after it")
	f.StringVar(&o.trigger, "on-trigger", "", "wait for this `condition`, such as 'psi.memory.full > 20 or oom.kills > 0'")
	f.DurationVar(&o.before, "before", 5*time.Minute, "how much of the time before the trigger is kept, at most 1h")
	f.StringVar(&o.out, "out", "brink-evidence.tar.gz", "`file` to write; it must be new; - for standard output")
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

// goesWith says in one sentence why a flag that was given makes no sense.
func (o *collecting) goesWith(name string, given bool) error {
	switch {
	case !given:
	case name == "on-trigger" && strings.TrimSpace(o.trigger) == "":
		return errors.New("--on-trigger: it must not be empty; leave it out to collect at once")
	case name == "before" && o.trigger == "":
		return errors.New("--before is of --on-trigger: without a trigger nothing lies before it")
	case name == "host-name" && o.keepHost:
		return errors.New("--host-name and --keep-host-name exclude each other")
	}
	return nil
}

// untilHangup ends a context when the terminal goes away, unless that is ignored,
// as nohup has it.
func untilHangup(ctx context.Context) (context.Context, context.CancelFunc) {
	if signal.Ignored(syscall.SIGHUP) {
		return context.WithCancel(ctx)
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}

// toStdout as the name of the file stands for standard output.
const toStdout = "-"

// collect writes the bundle beside its final name, so that an archive that was
// cut off is never taken for a whole one.
func (a *app) collect(ctx context.Context, o collecting) error {
	if o.out == toStdout {
		w := &counted{w: a.stdout}
		s, err := a.collectInto(ctx, w, o)
		switch {
		case w.err != nil:
			return broken(err)
		case err != nil:
			return badInput(err)
		}
		return a.collected("standard output", w.bytes, s, o)
	}
	part, f, err := o.open()
	if err != nil {
		return err
	}
	defer os.Remove(part) // it is gone when all went well
	s, err := a.collectInto(ctx, f, o)
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
	info, err := os.Stat(o.out)
	if err != nil {
		return broken(err)
	}
	return a.collected(o.out, info.Size(), s, o)
}

// collectInto writes the bundle to w.
func (a *app) collectInto(ctx context.Context, w io.Writer, o collecting) (evidence.CollectSummary, error) {
	if o.trigger != "" {
		a.say("waiting for %s; ctrl-c writes what there is", o.trigger)
	}
	return evidence.Collect(ctx, w, evidence.CollectOptions{
		Every: o.every, For: o.lasts, Before: o.before, Trigger: o.trigger, Host: o.host, KeepHost: o.keepHost, Brink: Version,
		Triggered: func(at time.Time) {
			a.say("%s held at %s; going on for %v", o.trigger, at.Format(time.TimeOnly), o.lasts)
		},
	})
}

// counted counts what is written, and keeps what went wrong.
type counted struct {
	w     io.Writer
	bytes int64
	err   error
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.bytes += int64(n)
	c.err = cmp.Or(c.err, err)
	return n, err
}

// open opens the part. Whatever has its name is removed and not written through:
// a link there may lead anywhere.
func (o *collecting) open() (part string, f *os.File, err error) {
	switch info, err := os.Lstat(o.out); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", nil, broken(err)
	case !info.Mode().IsRegular():
		return "", nil, badInput(fmt.Errorf("%s is there already and no file", o.out))
	case !o.force:
		return "", nil, badInput(fmt.Errorf("%s is there already; --force replaces it", o.out))
	}
	part = o.out + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", nil, broken(err)
	}
	f, err = os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	return part, f, broken(err)
}

// collected says what the file holds, and what it could not.
func (a *app) collected(out string, size int64, s evidence.CollectSummary, o collecting) error {
	if a.json {
		s.Gaps = append([]evidence.Gap{}, s.Gaps...) // never null
		return a.printJSON(struct {
			File  string `json:"file"`
			Bytes int64  `json:"bytes"`
			evidence.CollectSummary
		}{out, size, s})
	}
	a.say("%s: %d readings in %v, %d servers, %d KiB", out, s.Readings, s.To.Sub(s.From).Round(time.Second), s.Servers, (size+1023)>>10)
	if o.trigger != "" && s.Triggered.IsZero() {
		a.say("%s never held: the file has what was read until the end", o.trigger)
	}
	for _, g := range s.Gaps {
		a.say("could not see: %s (%s)", g.What, g.Why)
	}
	return nil
}
