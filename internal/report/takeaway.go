package report

import (
	"fmt"

	"brink/internal/phrase"
)

// Takeaway is the part of section 14 that is computed: what the pools of
// workers in this run can carry, what more of them would cost, and what the
// kind of worker changes. A part that could not be computed says why in
// Missing.
type Takeaway struct {
	Pools   []Pool   `json:"pools,omitempty"`
	Bursts  []Burst  `json:"bursts,omitempty"`
	Missing []string `json:"missing,omitempty"`
}

// Pool is a kind of pool of workers, as one step measured it.
type Pool struct {
	Server string `json:"server"`
	Step   string `json:"step"`
	// Workers serve at once, in Processes processes.
	Workers   int `json:"workers"`
	Processes int `json:"processes"`
	// ServiceMs is how long one request keeps a worker.
	ServiceMs float64 `json:"service_ms"`
	// Rate is the number of requests per second from which on the queue grows
	// without end.
	Rate float64 `json:"rate"`
	// ProcessMB is the resident memory of one process, an upper bound; 0 when it
	// is unknown. PlanMB is the memory of the plan, or of the machine where the
	// plan does not limit it; 0 when it is unknown.
	ProcessMB float64 `json:"process_mb,omitempty"`
	// Requests is how many ServiceMs was learnt from, 0 when it is not known.
	Requests int64 `json:"requests,omitempty"`
	// Apart tells that processes keep the connections that they took, so that a
	// request may wait at one while another is idle.
	Apart  bool `json:"apart,omitempty"`
	PlanMB int  `json:"plan_mb,omitempty"`
	// Limited tells that PlanMB is the plan's limit.
	Limited bool           `json:"limited,omitempty"`
	Waits   []ExpectedWait `json:"waits,omitempty"`
	Needs   []Need         `json:"needs,omitempty"`
}

// ExpectedWait is the mean wait for a worker at a rate of requests that arrive
// at random.
type ExpectedWait struct {
	Rate           float64 `json:"rate"`
	UtilisationPct float64 `json:"utilisation_pct"`
	// Least is for requests that all take equally long, Most for exponential
	// ones; in milliseconds.
	Least Number `json:"least"`
	Most  Number `json:"most"`
}

// Need is how many workers would do for a rate, and the memory of their
// processes.
type Need struct {
	Rate      float64 `json:"rate"`
	Workers   int     `json:"workers"`
	Processes int     `json:"processes"`
	// MemoryMB and PlanPct, its share of PlanMB, are 0 when they are unknown.
	MemoryMB float64 `json:"memory_mb,omitempty"`
	PlanPct  float64 `json:"plan_pct,omitempty"`
	Fits     bool    `json:"fits,omitempty"`
}

// Burst is the same burst of requests on different kinds of worker.
type Burst struct {
	Title    string     `json:"title"`
	Requests int        `json:"requests"`
	On       []BurstRow `json:"on"`
}

// BurstRow is one kind of worker: medians over repetitions.
type BurstRow struct {
	Step   string `json:"step"`
	Server string `json:"server"`
	// Workers is 0 where the server has no fixed number.
	Workers    int    `json:"workers,omitempty"`
	LastAnswer Number `json:"last_answer_s"`
	Memory     Number `json:"memory_mb"`
}

// takeawayBlocks is section 14: the authored advice, then what was computed.
func takeawayBlocks(m *Model) []block {
	blocks := lists(m.Takeaways)
	t := m.Takeaway
	if t == nil {
		return blocks
	}
	blocks = append(blocks, heading("Computed from this run"))
	for _, p := range t.Pools {
		blocks = append(blocks, poolBlocks(p)...)
	}
	for _, b := range t.Bursts {
		blocks = append(blocks, burstBlocks(b)...)
	}
	if len(t.Missing) > 0 {
		blocks = append(blocks, proseList(t.Missing))
	}
	return blocks
}

// name is the pool in a few words: "gunicorn gthread with 16 workers in 4 processes".
func (p Pool) name() string {
	s := fmt.Sprintf("%s with %s", clean(p.Server), phrase.Plural(p.Workers, "worker"))
	if p.Processes > 0 && p.Processes != p.Workers {
		s += fmt.Sprintf(" in %s", processes(p.Processes))
	}
	return s
}

func processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return phrase.Count(int64(n)) + " processes"
}

func poolBlocks(p Pool) []block {
	from := ""
	if p.Requests > 0 {
		from = " on " + phrase.Plural(int(p.Requests), "request")
	}
	blocks := []block{para(strong(p.name()), text(fmt.Sprintf(": one request keeps a worker for %s, so at most %s requests a second are sustainable; from there on the queue grows without end (measured in ",
		formatValue(p.ServiceMs, "ms"), phrase.Number(p.Rate))), code(p.Step), text(from+")."))}
	if p.Apart {
		blocks = append(blocks, para(text("How long requests wait below that rate is not computed: each process keeps the connections that it took, also beyond its own threads, so that a request may wait at one process while another is idle. The waits of one queue for all of them would be too short.")))
	}
	if len(p.Waits) > 0 {
		g := &grid{Caption: p.name() + ": mean wait for a worker in theory, requests arriving at random", Columns: columns("#Requests a second", "#Utilisation, %", "#All take equally long, ms", "#Exponential, ms")}
		for _, w := range p.Waits {
			g.Rows = append(g.Rows, []cell{words(phrase.Number(w.Rate)), words(trimmed(w.UtilisationPct)), waitCell(w.Least), waitCell(w.Most)})
		}
		blocks = append(blocks, gridBlock(g))
	}
	return append(blocks, needBlocks(p)...)
}

func waitCell(n Number) cell {
	if n.None != "" {
		return cell{muted(clean(n.None))}
	}
	return words(phrase.Number(n.X))
}

// needBlocks say how many workers would do and what they would cost.
func needBlocks(p Pool) []block {
	if len(p.Needs) == 0 {
		return nil
	}
	of := "the machine's memory"
	if p.Limited {
		of = "the plan's memory"
	}
	g := &grid{Caption: p.name() + ": workers that would do, with a fifth of their time to spare", Columns: columns("#Requests a second", "#Workers", "#Processes")}
	known := p.ProcessMB > 0
	share := known && p.PlanMB > 0
	if known {
		g.Columns = append(g.Columns, column{Title: "Memory with their master, MB", Number: true})
	}
	if share {
		g.Columns = append(g.Columns, column{Title: fmt.Sprintf("Share of %s (%s MB)", of, phrase.Count(int64(p.PlanMB))), Number: true}, column{Title: "Memory suffices"})
	}
	for _, n := range p.Needs {
		row := []cell{words(phrase.Number(n.Rate)), words(phrase.Count(int64(n.Workers))), words(phrase.Count(int64(n.Processes)))}
		if known {
			row = append(row, words(phrase.Number(n.MemoryMB)))
		}
		if share {
			row = append(row, words(trimmed(n.PlanPct)+"\u00a0%"), fitsCell(n.Fits))
		}
		g.Rows = append(g.Rows, row)
	}
	blocks := []block{gridBlock(g)}
	switch {
	case !known:
		return append(blocks, para(text("How much memory they would cost is unknown: the memory of one process was not measured.")))
	case !share:
		return append(blocks, para(text("Which share of the plan that is cannot be said: neither the plan nor the record says how much memory there is.")))
	}
	blocks = append(blocks, needSentences(p, of)...)
	says := fmt.Sprintf("A process holds %s at most (pages that processes share are counted in each), and so does the master that starts them. Only memory is held against the plan here, not CPU.", formatValue(p.ProcessMB, "MB"))
	if !p.Limited {
		says += " The plan does not limit memory: the share is that of the machine."
	}
	return append(blocks, para(text(says)))
}

// needSentences say up to where the memory reaches.
func needSentences(p Pool, of string) []block {
	var most, beyond *Need
	for i, n := range p.Needs {
		switch {
		case n.Fits:
			most = &p.Needs[i]
		case beyond == nil:
			beyond = &p.Needs[i]
		}
	}
	cost := func(n *Need) string {
		return fmt.Sprintf("%s requests a second would take %s in %s; with their master that is %s, %s\u00a0%% of %s", phrase.Number(n.Rate),
			phrase.Plural(n.Workers, "worker"), processes(n.Processes), formatValue(n.MemoryMB, "MB"), trimmed(n.PlanPct), of)
	}
	var blocks []block
	if most != nil {
		blocks = append(blocks, para(text(cost(most)+".")))
	}
	if beyond != nil {
		blocks = append(blocks, para(text(cost(beyond)+": more than there is.")))
	}
	return blocks
}

func fitsCell(fits bool) cell {
	if fits {
		return words("yes")
	}
	return cell{strong("no")}
}

// burstBlocks set the kinds of worker side by side.
func burstBlocks(b Burst) []block {
	g := &grid{Caption: fmt.Sprintf("What the kind of worker changes: %s (%s)", clean(b.Title), phrase.Plural(b.Requests, "request")),
		Columns: columns("Server", "#Workers", "#Last answer, s", "#Memory, MB", "Step")}
	show := func(n Number) cell {
		if n.None != "" {
			return cell{muted(clean(n.None))}
		}
		return words(boundMark(n.AtLeast) + phrase.Number(n.X))
	}
	for _, r := range b.On {
		workers := "not fixed"
		if r.Workers > 0 {
			workers = phrase.Count(int64(r.Workers))
		}
		g.Rows = append(g.Rows, []cell{words(clean(r.Server)), words(workers), show(r.LastAnswer), show(r.Memory), {code(r.Step)}})
	}
	blocks := []block{gridBlock(g)}
	if says := b.sentence(); says != "" {
		blocks = append(blocks, para(text(says)))
	}
	return blocks
}

// sentence sets the slowest kind of worker against the fastest.
func (b Burst) sentence() string {
	var slow, fast *BurstRow
	for i, r := range b.On {
		if r.LastAnswer.None != "" {
			continue
		}
		if slow == nil || r.LastAnswer.X > slow.LastAnswer.X {
			slow = &b.On[i]
		}
		if fast == nil || r.LastAnswer.X < fast.LastAnswer.X {
			fast = &b.On[i]
		}
	}
	if slow == nil || slow == fast || slow.LastAnswer.X == fast.LastAnswer.X {
		return ""
	}
	after := func(r *BurstRow) string {
		bound := ""
		if r.LastAnswer.AtLeast {
			bound = "at least "
		}
		return bound + formatValue(r.LastAnswer.X, "s")
	}
	says := fmt.Sprintf("%s gave its last answer after %s, %s after %s", clean(slow.Server), after(slow), clean(fast.Server), after(fast))
	if slow.Memory.None == "" && fast.Memory.None == "" {
		says += fmt.Sprintf("; they held %s and %s of memory", formatValue(slow.Memory.X, "MB"), formatValue(fast.Memory.X, "MB"))
	}
	return says + "."
}
