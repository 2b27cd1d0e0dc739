package report

import (
	"cmp"
	"fmt"
	"slices"

	"brink/internal/experiment"
	"brink/internal/measure"
)

// requestBars draws each batch in which somebody waited for a worker, as it
// was in its median repetition. The smallest of them leads the report: there
// one look shows why the last one waits.
func (b *builder) requestBars() error {
	fewest := 0
	for _, s := range b.Table.Steps {
		rep, ok := b.waitingBatch(s)
		if !ok {
			continue
		}
		in, err := b.requestsOf(s, rep)
		if err != nil {
			return err
		}
		if err := b.add(RequestBars(in)); err != nil {
			return err
		}
		if fewest == 0 || in.Total < fewest {
			fewest, b.m.Lead = in.Total, in.ID
		}
	}
	return nil
}

// requestsOf reads the requests of one repetition.
func (b *builder) requestsOf(s measure.StepInfo, rep measure.RepetitionInfo) (RequestsInput, error) {
	in := RequestsInput{ID: chartID("requests", s.Name), Title: fmt.Sprintf("%s: every request on its worker, repetition %d", s.Name, rep.Number)}
	in.Workers, in.Processes = servesAtOnce(asked(s))
	bars, total, err := measure.Bars(b.ctx, b.Reader, rep.ID, maxRequests)
	if err != nil {
		return in, err
	}
	in.Total = total
	for _, x := range bars {
		in.Requests = append(in.Requests, Request{Due: x.Due, Connected: x.Connected, Start: x.Start, End: x.End, Pid: x.Pid, Outcome: x.Outcome})
	}
	return in, nil
}

// servesAtOnce is how many requests an app serves at once, 0 where it has no
// fixed number because an event loop takes whatever comes, and in how many
// processes.
func servesAtOnce(a experiment.App) (workers, inProcesses int) {
	if a.WorkerClass == "gevent" || a.Runtime == "asgi" || a.Runtime == "node" {
		return 0, a.Workers
	}
	return a.Workers * max(1, a.Threads), a.Workers
}

// asked is the app that a step's first stream goes to.
func asked(s measure.StepInfo) experiment.App {
	for _, a := range s.Apps {
		if a.Name == s.Traffic[0].App {
			return a
		}
	}
	return s.Apps[0]
}

// waitingBatch finds the repetition with the median wait of a batch step in
// which requests waited longer than a tenth of their service, at a server where
// one can wait for a worker.
func (b *builder) waitingBatch(s measure.StepInfo) (measure.RepetitionInfo, bool) {
	waits := b.Table.Cell(s.Name, "queue_wait_max_s").Usable()
	served := b.Table.Cell(s.Name, "served_s").Usable()
	if len(s.Traffic) == 0 || s.Traffic[0].Kind != "batch" || len(s.Apps) == 0 || len(waits) == 0 || len(served) == 0 {
		return measure.RepetitionInfo{}, false
	}
	if workers, _ := servesAtOnce(asked(s)); workers == 0 {
		return measure.RepetitionInfo{}, false
	}
	slices.SortFunc(waits, func(x, y measure.Value) int { return cmp.Compare(x.X, y.X) })
	median := waits[len(waits)/2]
	if median.X < served[0].X/10 {
		return measure.RepetitionInfo{}, false
	}
	for _, rep := range s.Repetitions {
		if rep.ID == median.Repetition {
			return rep, true
		}
	}
	return measure.RepetitionInfo{}, false
}
