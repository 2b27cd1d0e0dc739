package report

import (
	"fmt"
	"sort"
	"strings"

	"brink/internal/phrase"
)

// What a request may be doing before a worker takes it up.
const (
	// waiting is for as long as every worker that could have taken it was busy.
	waiting    = "waiting for a worker"
	connecting = "connecting"
	// besideIdle is a wait for something else: a worker had nothing to do.
	besideIdle = "waiting beside an idle worker"
	// untaken is a wait at a server that has no fixed number of workers.
	untaken = "not taken up yet"
)

// period is a time from a to b, in seconds.
type period struct{ a, b float64 }

func (s period) length() float64 { return s.b - s.a }

// piece is a part of a wait.
type piece struct {
	period
	kind string
}

// occupancy is when workers were busy, by the requests that they served.
type occupancy struct {
	// workers serve at once in all; each of them in one process, where a
	// process keeps the connections that it took. each is 0 where any idle worker
	// may take any request.
	workers, each int
	all           []period
	byPid         map[int32][]period
}

func occupancyOf(in RequestsInput) *occupancy {
	o := &occupancy{workers: in.Workers, byPid: map[int32][]period{}}
	if in.Processes > 1 && in.Workers > in.Processes {
		o.each = in.Workers / in.Processes
	}
	last := 0.0
	for _, r := range in.Requests {
		last = max(last, r.End)
	}
	for _, r := range in.Requests {
		switch {
		case r.Pid != 0:
			s := period{r.Start, r.End}
			o.all = append(o.all, s)
			o.byPid[r.Pid] = append(o.byPid[r.Pid], s)
		case r.Outcome != "refused":
			// Nobody knows whether a worker had it, nor for how long beyond the
			// client's patience: no worker is called idle on its account.
			o.all = append(o.all, period{r.Due, last})
		}
	}
	return o
}

// idle returns when, within a period, a worker that could have taken the request
// had nothing to do.
func (o *occupancy) idle(r Request, within period) []period {
	busy, limit := o.all, o.workers
	if o.each > 0 {
		busy, limit = o.byPid[r.Pid], o.each
	}
	type edge struct {
		at    float64
		delta int
	}
	edges := []edge{{within.b, 0}}
	for _, s := range busy {
		if from, to := max(s.a, within.a), min(s.b, within.b); from < to {
			edges = append(edges, edge{from, 1}, edge{to, -1})
		}
	}
	sort.Slice(edges, func(i, j int) bool { return edges[i].at < edges[j].at })
	var out []period
	at, n := within.a, 0
	for _, e := range edges {
		if n < limit && e.at > at {
			if k := len(out); k > 0 && out[k-1].b == at {
				out[k-1].b = e.at
			} else {
				out = append(out, period{at, e.at})
			}
		}
		at, n = e.at, n+e.delta
	}
	return out
}

// A wait counts from a tenth of the service on and from a millisecond: a
// shorter one cannot be seen and is the network's. A worker counts as idle from
// a fifth of the service on and from 5 ms: between two requests it always has a
// moment.
const (
	leastWait, leastWaitS = 0.1, 0.001
	leastIdle, leastIdleS = 0.2, 0.005
)

// pieces takes a request's wait apart.
func (o *occupancy) pieces(r Request) []piece {
	service := r.End - r.Start
	least := max(leastWait*service, leastWaitS)
	if r.Pid == 0 || r.Start-r.Due <= least {
		return nil
	}
	var out []piece
	rest := period{r.Due, r.Start}
	if open := min(r.Connected, r.Start); open-r.Due > least {
		out = append(out, piece{period{r.Due, open}, connecting})
		rest.a = open
	}
	switch {
	case rest.length() <= least:
		return out
	case o.workers == 0:
		return append(out, piece{rest, untaken})
	}
	at := rest.a
	for _, s := range worthSaying(o.idle(r, rest), rest.length(), service) {
		if s.a-at > leastIdleS {
			out = append(out, piece{period{at, s.a}, waiting})
		}
		out = append(out, piece{s, besideIdle})
		at = s.b
	}
	if rest.b-at > leastIdleS || at == rest.a {
		out = append(out, piece{period{at, rest.b}, waiting})
	}
	return out
}

// worthSaying leaves out idle moments, unless a wait consists of them.
func worthSaying(idle []period, wait, service float64) []period {
	var long []period
	total := 0.0
	for _, s := range idle {
		total += s.length()
		if s.length() > max(leastIdle*service, leastIdleS) {
			long = append(long, s)
		}
	}
	if len(long) == 0 && total > wait/2 {
		return idle
	}
	return long
}

// waited is how much of a request's wait was of one kind, in seconds.
func (r numbered) waited(kind string) float64 {
	sum := 0.0
	for _, p := range r.pieces {
		if p.kind == kind {
			sum += p.length()
		}
	}
	return sum
}

// crowd is the requests that waited in one way.
type crowd struct {
	n       int
	longest numbered
	most    float64
}

// crowds counts the requests of each kind of wait.
func crowds(rows []requestRow) map[string]*crowd {
	out := map[string]*crowd{waiting: {}, connecting: {}, besideIdle: {}, untaken: {}}
	for _, row := range rows {
		for _, r := range row.requests {
			for kind, c := range out {
				x := r.waited(kind)
				if x > 0 {
					c.n++
				}
				if x > c.most {
					c.most, c.longest = x, r
				}
			}
		}
	}
	return out
}

// waitWords say in what way requests waited, one and several.
var waitWords = []struct{ kind, one, many string }{
	{waiting, "request %d waited %s for one to become free", "%d waited for one to become free, request %d the longest (%s)"},
	{connecting, "request %d waited %s for its connection", "%d waited for their connections, request %d the longest (%s)"},
	{besideIdle, "request %d waited %s beside an idle worker", "%d waited beside an idle worker, request %d the longest (%s)"},
	{untaken, "request %d was taken up %s after it could have been", "%d were taken up late, request %d the latest (%s)"},
}

// describeWaits is who waited for what, in words.
func (in RequestsInput) describeWaits(rows []requestRow) string {
	all := crowds(rows)
	var says []string
	for _, w := range waitWords {
		c := all[w.kind]
		switch c.n {
		case 0:
		case 1:
			says = append(says, fmt.Sprintf(w.one, c.longest.number, formatValue(c.most, "s")))
		default:
			says = append(says, fmt.Sprintf(w.many, c.n, c.longest.number, formatValue(c.most, "s")))
		}
	}
	switch {
	case in.Workers == 0:
		says = append([]string{"none of them has to wait for another's end"}, says...)
	case all[waiting].n == 0:
		says = append([]string{"none had to wait for one to become free"}, says...)
	}
	return strings.Join(says, "; ")
}

// who is the workers in words, with how many of them answered.
func (in RequestsInput) who(rows []requestRow) string {
	answered := 0
	for _, row := range rows {
		if row.pid != 0 {
			answered++
		}
	}
	var s string
	switch {
	case in.Workers == 0:
		s = processes(max(in.Processes, answered)) + " that serve any number at once"
	case in.Workers == in.Processes || in.Processes == 0:
		s = phrase.Plural(in.Workers, "worker")
	default:
		s = fmt.Sprintf("%s in %s", phrase.Plural(in.Workers, "worker"), processes(in.Processes))
	}
	if answered > 0 && answered < in.Processes {
		s += fmt.Sprintf(" (%d of them answered)", answered)
	}
	return s
}

// retried is how long a connection takes at least whose first packet was lost:
// the kernel sends it again after a second (RFC 6298, section 2).
const retried = 0.9

// explainWaits says what a wait that was for no worker may have been for.
func explainWaits(rows []requestRow) string {
	all := crowds(rows)
	var says []string
	if all[connecting].most >= retried {
		says = append(says, "A connection that finds the accept queue full is tried again by the client's kernel, after 1, 3 and 7 seconds.")
	}
	if all[besideIdle].n > 0 {
		says = append(says, "Who waits beside an idle worker waits for something else, such as a packet that was lost at a full accept queue and is sent again.")
	}
	return strings.Join(says, " ")
}
