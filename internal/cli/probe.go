package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"brink/internal/clock"
	"brink/internal/probe"
	"brink/internal/traffic"
)

const (
	// mostProbes bounds the requests of one brink probe.
	mostProbes = 10_000_000
	// mostURLs bounds the streams side by side.
	mostURLs = 64
)

// probing is what brink probe was asked for.
type probing struct {
	steady   time.Duration
	rate     float64
	arrivals string
	batch    int
	duration time.Duration
	timeout  time.Duration
	seed     int64
	host     string
	out      string
	force    bool
}

func (a *app) probeCommand() *cobra.Command {
	var o probing
	cmd := &cobra.Command{
		Use:   "probe URL...",
		Short: "Send traffic to any server and sum it up with intervals",
		Long: `Send GET requests to the URLs, each on a connection of its own, write every one
of them to a CSV file and sum each URL up: median, p95, p99 and the share of
failures, with 95 % intervals. Latency counts from when a request was due. Several
URLs are sent the same traffic side by side.

Ctrl-C stops at once and keeps what was sent.

Exit codes: 0 done, whatever the servers answered; 1 the traffic was not what was
asked for; 2 bad input; 3 interrupted, or the file could not be written.`,
		Example: `  brink probe http://127.0.0.1:8000/health
  brink probe --rate 50 --arrivals poisson --duration 1m http://127.0.0.1:8000/
  brink probe --batch 8 --timeout 30s --out s1.csv 'http://127.0.0.1:8000/thread-hold?secs=5'`,
		Args:              arguments(1, math.MaxInt),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > mostURLs {
				return badInput(fmt.Errorf("%d URLs are too many: brink probe sends to at most %d side by side", len(args), mostURLs))
			}
			spec, err := o.spec(cmd.Flags().Changed)
			if err != nil {
				return badInput(err)
			}
			return a.probe(cmd.Context(), args, o, spec)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&o.steady, "steady", time.Second, "one request every so often; this is done unless --rate or --batch is given")
	f.Float64Var(&o.rate, "rate", 0, "`requests` per second")
	f.StringVar(&o.arrivals, "arrivals", "even", "how requests of --rate arrive: even or poisson")
	f.IntVar(&o.batch, "batch", 0, "so many `requests` at once")
	f.DurationVar(&o.duration, "duration", 10*time.Second, "how long requests of --steady and --rate are sent")
	f.DurationVar(&o.timeout, "timeout", 10*time.Second, "give a request up after this time")
	f.Int64Var(&o.seed, "seed", 0, "`seed` of the poisson arrivals (default: drawn, and printed)")
	f.StringVar(&o.host, "host", "", "`name` to send as Host header instead of the URL's")
	f.StringVar(&o.out, "out", "traffic.csv", "`file` to write; it must be new")
	f.BoolVar(&o.force, "force", false, "replace the file if it is there")
	return cmd
}

// spec is the shape of the traffic. given tells which flags were.
func (o *probing) spec(given func(string) bool) (traffic.Spec, error) {
	s := traffic.Spec{Timeout: o.timeout}
	mode := "--steady"
	switch {
	case given("rate"):
		mode = "--rate"
	case given("batch"):
		mode = "--batch"
	}
	for _, other := range []string{"steady", "rate", "batch"} {
		if given(other) && "--"+other != mode {
			return s, fmt.Errorf("%s and --%s exclude each other", mode, other)
		}
	}
	poisson := o.arrivals == "poisson"
	switch {
	case given("arrivals") && mode != "--rate":
		return s, fmt.Errorf("--arrivals has no meaning with %s", mode)
	case o.arrivals != "even" && !poisson:
		return s, fmt.Errorf("--arrivals %q: it must be even or poisson", o.arrivals)
	case given("seed") && !poisson:
		return s, errors.New("--seed has a meaning with --arrivals poisson only")
	case given("duration") && mode == "--batch":
		return s, errors.New("--duration has no meaning with --batch, which is sent at once")
	case o.duration <= 0:
		return s, fmt.Errorf("--duration %v: it must be above 0", o.duration)
	case o.out == "":
		return s, errors.New("--out is empty: it must name a file")
	case given("host") && o.host == "":
		return s, errors.New("--host is empty: it must be a host name with an optional port")
	case strings.ContainsFunc(o.host, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '#' || r == '/' }):
		return s, fmt.Errorf("--host %q: it must be a host name with an optional port", o.host)
	case o.timeout <= 0:
		return s, fmt.Errorf("--timeout %v: it must be above 0", o.timeout)
	}
	switch mode {
	case "--steady":
		if o.steady <= 0 {
			return s, fmt.Errorf("--steady %v: it must be above 0", o.steady)
		}
		s.Kind, s.Every, s.Duration = traffic.KindSteady, o.steady, o.duration
	case "--rate":
		if !(o.rate > 0 && o.rate <= 1e6) {
			return s, fmt.Errorf("--rate %v: it must be above 0 and at most a million", o.rate)
		}
		s.Kind, s.Rate, s.Duration = traffic.KindRate, o.rate, o.duration
		if poisson {
			s.Arrivals, s.Seed = traffic.ArrivalsPoisson, o.seed
			if !given("seed") {
				s.Seed = int64(rand.Uint32())
			}
		}
	case "--batch":
		if o.batch < 1 || o.batch > traffic.DefaultConnections {
			return s, fmt.Errorf("--batch %d: it must be 1 to %d", o.batch, traffic.DefaultConnections)
		}
		s.Kind, s.Count = traffic.KindBatch, o.batch
	}
	return s, nil
}

// expected is about how many requests a spec makes.
func expected(s traffic.Spec) float64 {
	switch s.Kind {
	case traffic.KindSteady:
		return float64(s.Duration) / float64(s.Every)
	case traffic.KindRate:
		return s.Rate * s.Duration.Seconds()
	}
	return float64(s.Count)
}

func (a *app) probe(ctx context.Context, urls []string, o probing, spec traffic.Spec) error {
	if n := expected(spec) * float64(len(urls)); n > mostProbes {
		return badInput(fmt.Errorf("that would be %.3g requests; brink probe sends at most %.0e: shorten --duration or send less often", n, float64(mostProbes)))
	}
	var targets []probe.Target
	for _, u := range urls {
		t, err := probe.ParseTarget(u)
		if err != nil {
			return badInput(err)
		}
		if err := t.Lookup(ctx); err != nil {
			return badInput(err)
		}
		targets = append(targets, t)
	}
	if err := probe.CheckAuthorities(targets); err != nil {
		return badInput(err)
	}
	options := probe.Options{Clock: clock.Real, Traffic: spec, Host: o.host, Progress: new(probe.Progress)}
	if _, err := options.Specs(targets); err != nil {
		return badInput(err)
	}
	file, err := create(o.out, o.force)
	if err != nil {
		return badInput(err)
	}
	defer file.Close()
	if options.Log, err = probe.NewLog(file); err != nil {
		return broken(notWritten(o.out, err))
	}
	a.say("%s", announced(spec, len(targets)))
	stop := a.probeProgress(ctx, options.Progress)
	streams, runErr := probe.Run(ctx, targets, options)
	stop()
	if err := file.Close(); runErr == nil && err != nil {
		runErr = fmt.Errorf("%w: %w", probe.ErrLog, err)
	}
	a.say("%s holds %s", o.out, held(options.Log.Rows(), streams))
	interrupted := errors.Is(runErr, context.Canceled)
	if err := a.printStreams(streams, spec, o.out, interrupted); err != nil {
		return broken(err)
	}
	switch {
	case interrupted:
		return broken(fmt.Errorf("interrupted; what was sent is in %s", o.out))
	case errors.Is(runErr, probe.ErrLog):
		return broken(notWritten(o.out, runErr))
	case runErr != nil:
		return broken(runErr)
	}
	return notHeld(streams)
}

// create makes a file that must be new, or may be replaced.
func create(name string, replace bool) (*os.File, error) {
	mode := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if replace {
		mode = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(name, mode, 0o644)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, fmt.Errorf("%s exists already: name another file with --out, or replace it with --force", name)
	case err != nil:
		return nil, fmt.Errorf("%s cannot be made: %w", name, cause(err))
	}
	return f, nil
}

func notWritten(file string, err error) error {
	text := ""
	if errors.Is(err, probe.ErrTorn) {
		text = "; " + probe.ErrTorn.Error()
	}
	return fmt.Errorf("%s cannot be written: %w%s", file, cause(err), text)
}

// held tells how many of the requests are in the file.
func held(rows int64, streams []probe.Stream) string {
	var all int64
	for _, s := range streams {
		all += s.Requests
	}
	if rows < all {
		return fmt.Sprintf("%d of %s", rows, count(int(all), "request", "requests"))
	}
	return count(int(rows), "request", "requests")
}

// announced says what is about to be sent.
func announced(s traffic.Spec, urls int) string {
	var what string
	switch s.Kind {
	case traffic.KindSteady:
		what = fmt.Sprintf("one request every %v for %v", s.Every, s.Duration)
	case traffic.KindRate:
		what = fmt.Sprintf("%v requests per second for %v", s.Rate, s.Duration)
		if s.Arrivals == traffic.ArrivalsPoisson {
			what += fmt.Sprintf(", poisson arrivals with seed %d", s.Seed)
		}
	case traffic.KindBatch:
		what = count(s.Count, "request", "requests") + " at once"
	}
	if urls > 1 {
		what += fmt.Sprintf(", to each of %d URLs", urls)
	}
	return what
}

// notHeld is exit code 1 where the traffic was not what was asked for.
func notHeld(streams []probe.Stream) error {
	var reasons []string
	for _, s := range streams {
		if !s.Held {
			reasons = append(reasons, s.URL+": "+s.Reason)
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	return &exitError{exitVerdict, fmt.Errorf("the traffic was not what was asked for: %s", strings.Join(reasons, "; "))}
}
