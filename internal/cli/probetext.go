package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"brink/internal/clock"
	"brink/internal/phrase"
	"brink/internal/probe"
	"brink/internal/stats"
	"brink/internal/traffic"
)

// probeReport is the JSON of brink probe.
type probeReport struct {
	Format      string         `json:"format"`
	File        string         `json:"file"`
	Interrupted bool           `json:"interrupted"`
	Seed        *int64         `json:"seed"` // of poisson arrivals, otherwise null
	Streams     []probe.Stream `json:"streams"`
}

func (a *app) printStreams(streams []probe.Stream, spec traffic.Spec, file string, interrupted bool) error {
	if a.json {
		r := probeReport{Format: "brink-probe/1", File: file, Interrupted: interrupted, Streams: streams}
		if spec.Arrivals == traffic.ArrivalsPoisson {
			r.Seed = &spec.Seed
		}
		return a.printJSON(r)
	}
	p := newPage(a.stdout)
	for i, s := range streams {
		if i > 0 {
			fmt.Fprintln(p)
		}
		if err := printStream(p, s, interrupted); err != nil {
			return err
		}
	}
	return nil
}

func printStream(p page, s probe.Stream, interrupted bool) error {
	title := harmless(s.URL)
	if interrupted {
		title += " (interrupted)"
	}
	if _, err := fmt.Fprintln(p, p.styled(bold, title)); err != nil {
		return err
	}
	rows := [][]string{{"  requests", requestsText(s)}}
	for _, f := range []struct {
		name string
		probe.Figure
	}{{"median", s.Median}, {"p95", s.P95}, {"p99", s.P99}} {
		rows = append(rows, []string{"  " + f.name, figureText(f.Figure, durationText)})
	}
	rows = append(rows, []string{"  failures", figureText(s.Failures, shareText)}, []string{"  traffic", heldText(p, s)})
	return p.columns(rows)
}

// requestsText counts the outcomes, the most frequent first.
func requestsText(s probe.Stream) string {
	if s.Requests == 0 {
		return "none came due"
	}
	names := make([]string, 0, len(s.Outcomes))
	for name := range s.Outcomes {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if s.Outcomes[a] != s.Outcomes[b] {
			return int(s.Outcomes[b] - s.Outcomes[a])
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		names[i] = phrase.Count(s.Outcomes[name]) + " " + name
	}
	return fmt.Sprintf("%s in %s: %s", phrase.Count(s.Requests), durationText(1000*s.Elapsed), strings.Join(names, ", "))
}

func heldText(p page, s probe.Stream) string {
	switch {
	case !s.Held:
		return p.styled(red, "not as asked for: ") + s.Reason
	case s.Target > 0:
		return fmt.Sprintf("as asked for: %s requests per second", significant(s.Achieved))
	}
	return "as asked for"
}

// figureText is a number and its interval, each a bound where that is all that
// is known.
func figureText(f probe.Figure, unit func(float64) string) string {
	var value string
	switch f.Bound {
	case stats.Unknown:
		return f.Reason
	case stats.LowerBound:
		value = "≥ " + unit(f.X)
	case stats.Between:
		value = unit(f.X) + " to " + unit(f.Upper)
	default:
		value = unit(f.X)
	}
	iv := f.Interval
	var interval string
	switch {
	case iv.Bounded():
		interval = unit(iv.Lo) + " to " + unit(iv.Hi)
	case !iv.LoOpen:
		interval = unit(iv.Lo) + " or more"
	case !iv.HiOpen:
		interval = unit(iv.Hi) + " or less"
	default:
		return value + " (" + iv.Reason + ")"
	}
	return fmt.Sprintf("%s (95 %% interval %s)", value, interval)
}

// durationText gives three significant digits of a duration in ms.
func durationText(ms float64) string {
	switch {
	case ms >= 999.5: // so that no unit has four digits after rounding
		return significant(ms/1000) + " s"
	case ms >= 0.9995:
		return significant(ms) + " ms"
	}
	return significant(1000*ms) + " µs"
}

func shareText(percent float64) string { return significant(percent) + " %" }

// significant gives three significant digits, and whole numbers in full.
func significant(x float64) string {
	if x == 0 {
		return "0"
	}
	if rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 2, 64), 64); err == nil && x < 1000 {
		x = rounded // 9.997 is 10.0, and not 10.00
	}
	return strconv.FormatFloat(x, 'f', max(0, 2-int(math.Floor(math.Log10(math.Abs(x))))), 64)
}

const (
	firstProgress = 2 * time.Second
	lastProgress  = 30 * time.Second
)

// probeProgress tells how far the traffic has come until stop is called: on a
// terminal in one line that changes every second, elsewhere in lines that become
// rarer.
func (a *app) probeProgress(ctx context.Context, p *probe.Progress) (stop func()) {
	if a.quiet || a.json {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	out := newPage(a.stderr)
	go func() {
		defer close(done)
		begin := clock.Real.Now()
		for every := firstProgress; clock.Real.Sleep(ctx, every) == nil; {
			showProgress(out, clock.Real.Now().Sub(begin), p)
			if every = min(2*every, lastProgress); out.terminal {
				every = time.Second
			}
		}
		if out.terminal {
			fmt.Fprint(out, "\r\x1b[K")
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

func showProgress(out page, elapsed time.Duration, p *probe.Progress) {
	text := fmt.Sprintf("%v: %s ended, %s of them failed, %s under way", elapsed.Round(time.Second),
		phrase.Count(p.Ended.Load()), phrase.Count(p.Failed.Load()), phrase.Count(p.InFlight.Load()))
	if out.terminal {
		text = "\r\x1b[K" + printable(text, out.width-1)
	} else {
		text += "\n"
	}
	_, _ = io.WriteString(out, text) // progress that cannot be shown must not stop the traffic
}
