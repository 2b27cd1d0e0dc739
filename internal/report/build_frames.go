package report

import (
	"fmt"
	"slices"
	"strings"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/stats"
)

// maxFrames bounds the frames of a report: one for each scenario in which
// requests waited.
const maxFrames = 8

// scenario is the steps that do the same to different apps: those of one title.
type scenario struct {
	steps []measure.StepInfo
	// pools are the workers of each step, in the same order.
	pools []measure.Workers
}

// frames draws workers, accept queue, CPU and memory over one time axis for
// each scenario in which requests waited, in the step in which most did: there
// one look shows whether CPU rises with the queue.
func (b *builder) frames() error {
	all, err := b.scenarios()
	if err != nil {
		return err
	}
	drawn := 0
	for _, sc := range all {
		at, also := b.mostQueued(sc)
		if at < 0 {
			continue
		}
		if drawn == maxFrames {
			break
		}
		drawn++
		if err := b.frame(sc, at, also); err != nil {
			return err
		}
	}
	return nil
}

// scenarios groups the steps by their titles, in the order of the file.
func (b *builder) scenarios() ([]scenario, error) {
	var out []scenario
	place := map[string]int{}
	for _, s := range b.Table.Steps {
		pool, err := b.Table.Workers(b.ctx, b.Reader, s.Name)
		if err != nil {
			return nil, err
		}
		title := s.Title
		if title == "" {
			title = s.Name
		}
		i, ok := place[title]
		if !ok {
			i = len(out)
			place[title] = i
			out = append(out, scenario{})
		}
		out[i].steps = append(out[i].steps, s)
		out[i].pools = append(out[i].pools, pool)
	}
	return out, nil
}

// queued is how many requests waited at once in the median repetition of a
// step, whether the listener or the server held them.
func (b *builder) queued(s measure.StepInfo, pool measure.Workers) float64 {
	most := measure.Most(pool.Queued)
	if values := b.Table.Cell(s.Name, "accept_queue_max").Usable(); len(values) > 0 {
		most = max(most, stats.Median(sampleOf(values)).X)
	}
	return most
}

// mostQueued finds the step of a scenario in which most requests waited, -1
// where none did, and names the others in which some did. A step whose workers
// could be counted goes before those of which only the queue is known: without
// them the picture does not show why anybody waits.
func (b *builder) mostQueued(sc scenario) (at int, also []string) {
	at = -1
	most, counted := 0.0, false
	for i, s := range sc.steps {
		n := b.queued(s, sc.pools[i])
		if n < 1 {
			continue
		}
		if known := sc.pools[i].Total != nil; known && !counted || known == counted && n > most {
			at, most, counted = i, n, known
		}
		also = append(also, s.Name)
	}
	if at >= 0 {
		also = slices.DeleteFunc(also, func(name string) bool { return name == sc.steps[at].Name })
	}
	return at, also
}

// frame draws one step.
func (b *builder) frame(sc scenario, at int, also []string) error {
	s, pool := sc.steps[at], sc.pools[at]
	series, n, err := b.Table.Series(b.ctx, b.Reader, s.Name)
	if err != nil {
		return err
	}
	in := TimeSeriesInput{ID: chartID("frame", s.Name), Title: s.Name + ": workers, accept queue, CPU and memory while traffic ran"}
	panel := func(p Panel, points []measure.BandPoint) {
		if len(points) > 0 {
			p.Series = []Series{{Name: s.Name, Repetitions: n, Points: bandOf(points)}}
			in.Panels = append(in.Panels, p)
		}
	}
	workers := measure.Most(pool.Total)
	panel(Panel{Title: "Busy workers", Whole: true, Limit: workers, LimitText: fmt.Sprintf("%.0f workers", workers)}, pool.Busy)
	panel(queuePanel(s, series[measure.SeriesQueue]), series[measure.SeriesQueue])
	if pool.Total != nil && measure.Most(pool.Queued) > measure.Most(series[measure.SeriesQueue]) {
		panel(Panel{Title: "Waiting, in the server too", Unit: "requests", Whole: true}, pool.Queued)
	}
	panel(Panel{Title: "CPU of the plan", Unit: "%", Top: 100}, series[measure.SeriesCPU])
	panel(Panel{Title: "Memory of the apps", Unit: "MB"}, series[measure.SeriesMemory])
	if len(in.Panels) == 0 {
		return nil
	}
	in.Note = frameNote(sc, also)
	return b.add(TimeSeries(in))
}

// queuePanel has a line where the queue is full, when it came near to that.
func queuePanel(s measure.StepInfo, points []measure.BandPoint) Panel {
	p := Panel{Title: "Accept queue", Unit: "connections", Whole: true}
	if len(s.Apps) == 1 && s.Apps[0].Backlog > 0 {
		// The kernel refuses when the queue is longer than the backlog, so it
		// holds one more (sk_acceptq_is_full in include/net/sock.h).
		if full := float64(s.Apps[0].Backlog + 1); measure.Most(points) > full/2 {
			p.Limit, p.LimitText = full, fmt.Sprintf("full with %.0f", full)
		}
	}
	return p
}

// frameNote says what the picture does not show.
func frameNote(sc scenario, also []string) string {
	var says []string
	if len(also) > 0 {
		says = append(says, "Requests waited in "+strings.Join(also, ", ")+" too.")
	}
	var inside, unread []string
	for i, s := range sc.steps {
		switch {
		case len(sc.pools[i].Unknown) == 0:
		case poolInside(s.Apps[0]):
			inside = append(inside, fmt.Sprintf("%s (%s)", s.Name, serverWord(s.Apps[0])))
		default:
			unread = append(unread, s.Name)
		}
	}
	if len(inside) > 0 {
		says = append(says, fmt.Sprintf("How many workers are busy is unknown in %s: the pool is inside the process and does not show from outside.", strings.Join(inside, ", ")))
	}
	if len(unread) > 0 {
		says = append(says, fmt.Sprintf("In %s the workers were not read.", strings.Join(unread, ", ")))
	}
	return strings.Join(says, " ")
}

// cpuFrame draws the steps that hypotheses about CPU name in one frame, so that
// waiting stands beside computing.
func (b *builder) cpuFrame() error {
	in := TimeSeriesInput{ID: "over-time", Title: "CPU, accept queue and memory of the steps whose CPU is compared"}
	drawn := []Panel{{Title: "CPU of the plan", Unit: "%", Top: 100}, {Title: "Accept queue", Unit: "connections", Whole: true}, {Title: "Memory of the apps", Unit: "MB"}}
	for _, step := range b.cpuSteps() {
		series, n, err := b.Table.Series(b.ctx, b.Reader, step)
		if err != nil {
			return err
		}
		for i, signal := range []string{measure.SeriesCPU, measure.SeriesQueue, measure.SeriesMemory} {
			if points := series[signal]; len(points) > 0 {
				drawn[i].Series = append(drawn[i].Series, Series{Name: step, Repetitions: n, Points: bandOf(points)})
			}
		}
	}
	for _, p := range drawn {
		if len(p.Series) > 0 {
			in.Panels = append(in.Panels, p)
		}
	}
	if len(in.Panels) == 0 {
		return nil
	}
	return b.add(TimeSeries(in))
}

func (b *builder) cpuSteps() []string {
	var names []string
	for _, h := range b.Design.Experiment.Hypotheses {
		if h.Metric != "cpu_pct" {
			continue
		}
		for _, s := range h.Steps {
			if !slices.Contains(names, s) {
				names = append(names, s)
			}
		}
	}
	return names[:min(len(names), maxSeries)]
}

// poolInside tells whether an app's server keeps its pool of workers inside
// one process, where no reading from outside can count them.
func poolInside(a experiment.App) bool {
	return a.WorkerClass == "gevent" || a.Runtime == "asgi" || a.Runtime == "node" || a.Runtime == "go"
}

func bandOf(points []measure.BandPoint) []BandPoint {
	out := make([]BandPoint, len(points))
	for i, x := range points {
		out[i] = BandPoint(x)
	}
	return out
}

// builtIn is what a reader knows brink's own server as.
const builtIn = "built-in server"

// serverWord is an app's server as a reader knows it.
func serverWord(a experiment.App) string {
	switch a.Runtime {
	case "go":
		return builtIn
	case "node":
		return "Node.js"
	}
	return a.Server()
}
