package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"brink/internal/gauge"
	"brink/internal/watch"
)

// watching is what `brink watch` was asked for.
type watching struct {
	listen     []string
	pids       []int
	once       bool
	every      time.Duration
	lasts      time.Duration
	prometheus string
	given      func(flag string) bool
}

func (a *app) watchCommand() *cobra.Command {
	var o watching
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Show how busy the workers of listening servers are, like top",
		Long: `Show the servers that listen on this machine: how many workers they have, how
many hold a request, how many requests wait, and for how long. Nothing is
changed, attached to or restarted. What cannot be seen from outside is "?".

Without root, only servers of the same user can be looked into; of all others
the accept queue is shown.

Exit codes: 0 done, also by q or ctrl-c while it watches; 2 bad input, nothing
listens where --once was to look, or a missing requirement; 3 interrupted
before --once had its reading, or a reading failed.`,
		Example: `  brink watch
  brink watch --listen :8000 --once
  brink watch --pid 812 --json --every 500ms --for 1m
  brink watch --prometheus 9464`,
		Args:              arguments(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.given = cmd.Flags().Changed
			return a.watch(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.listen, "listen", nil, "only servers on this `address`: :8000, 127.0.0.1:8000 or unix:/run/app.sock (repeatable)")
	f.IntSliceVar(&o.pids, "pid", nil, "only the server of this `process`: a master, a worker or what started it (repeatable)")
	f.BoolVar(&o.once, "once", false, "print one reading with all details; takes two, --every apart")
	f.DurationVar(&o.every, "every", time.Second, "time between readings, at least 100ms")
	f.DurationVar(&o.lasts, "for", 0, "stop after this time (default: until ctrl-c)")
	f.StringVar(&o.prometheus, "prometheus", "", "serve metrics at this `address`; a port alone is on 127.0.0.1")
	return cmd
}

func (o *watching) config(detail bool) (gauge.Config, error) {
	c := gauge.Config{PIDs: o.pids, Detail: detail}
	for _, text := range o.listen {
		address, err := gauge.ParseAddress(text)
		if err != nil {
			return c, fmt.Errorf("--listen %w", err)
		}
		c.Listen = append(c.Listen, address)
	}
	for _, pid := range o.pids {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); pid < 1 || err != nil {
			return c, fmt.Errorf("--pid %d: there is no such process", pid)
		}
	}
	switch {
	case o.every < soonest:
		return c, fmt.Errorf("--every %v: it must be %v or more", o.every, soonest)
	case o.given("for") && o.lasts <= 0:
		return c, fmt.Errorf("--for %v: it must be above 0", o.lasts)
	case o.once && o.given("for"):
		return c, errors.New("--once and --for exclude each other")
	case o.given("prometheus") && o.prometheus == "":
		return c, errors.New("--prometheus needs an address to serve at: a port, which is then on 127.0.0.1, or like 192.0.2.1:9464")
	case o.given("prometheus") && o.once:
		return c, errors.New("--once and --prometheus exclude each other")
	}
	return c, nil
}

func (a *app) watch(ctx context.Context, o watching) error {
	c, err := o.config(o.once || a.json || len(o.pids) > 0)
	if err == nil && a.json && o.prometheus != "" {
		err = errors.New("--json and --prometheus exclude each other")
	}
	if err != nil {
		return badInput(err)
	}
	if o.prometheus != "" {
		return a.export(o)
	}
	g, err := gauge.New(c)
	if err != nil {
		return badInput(err)
	}
	defer g.Close()
	if o.lasts > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.lasts)
		defer cancel()
	}
	out, isFile := a.stdout.(*os.File)
	switch {
	case o.once:
		return a.watchOnce(ctx, g, o)
	case a.json:
		enc := json.NewEncoder(a.stdout)
		enc.SetEscapeHTML(false)
		return broken(readings(ctx, g, o.every, func(s *gauge.Snapshot) error { return enc.Encode(watch.Document(s)) }))
	case isFile && interactive(out):
		return broken(watchLive(ctx, g, o.every, out))
	}
	return broken(readings(ctx, g, o.every, func(s *gauge.Snapshot) error { return printTable(a.stdout, s) }))
}

// readings takes one reading after the other until the context ends, which is
// how a watch ends.
func readings(ctx context.Context, g *gauge.Gauge, every time.Duration, each func(*gauge.Snapshot) error) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		s, err := g.Sample(time.Now())
		if err != nil {
			return err
		}
		if err := each(s); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func printTable(out io.Writer, s *gauge.Snapshot) error {
	table := watch.NewTable(s, columnsOf(out))
	_, err := fmt.Fprintf(out, "%s\n%s\n\n", s.At.Format(time.TimeOnly), strings.Join(table.Lines(), "\n"))
	return err
}

// watchOnce prints the second of two readings: much is told by what happened
// between them.
func (a *app) watchOnce(ctx context.Context, g *gauge.Gauge, o watching) error {
	if _, err := g.Sample(time.Now()); err != nil {
		return broken(err)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(o.every):
	}
	s, err := g.Sample(time.Now())
	if err != nil {
		return broken(err)
	}
	if len(s.Servers) == 0 && len(o.pids)+len(o.listen) > 0 {
		return badInput(errors.New("nothing listens there, or it may only be looked at by its user or root"))
	}
	if a.json {
		return a.printJSON(watch.Document(s))
	}
	table := watch.NewTable(s, columnsOf(a.stdout))
	lines := table.Lines()
	if len(table.Hidden) > 0 {
		lines = append(lines, "", "The terminal is too narrow for "+strings.Join(table.Hidden, ", ")+".")
	}
	for _, server := range s.Servers {
		lines = append(append(lines, ""), watch.Details(server)...)
	}
	_, err = fmt.Fprintln(a.stdout, strings.Join(lines, "\n"))
	return err
}
