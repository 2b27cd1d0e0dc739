package kernel

import "bytes"

// reclaimPairs pairs the beginnings and ends of direct reclaims by thread.
type reclaimPairs struct {
	sums DirectReclaims
	open []reclaimBegin
}

type reclaimBegin struct {
	tid int
	at  uint64 // ns
}

// mostReclaiming bounds how many threads may reclaim at once.
const mostReclaiming = 1024

// take reads whole lines of trace_pipe and returns what is left of the last.
func (p *reclaimPairs) take(b []byte) (rest []byte) {
	for {
		line, after, whole := bytes.Cut(b, []byte{'\n'})
		if !whole {
			return b
		}
		p.line(line)
		b = after
	}
}

// line reads "COMM-TID [CPU] FLAGS SECONDS.MICROS: EVENT: ...", or
// "CPU:0 [LOST 12 EVENTS]".
func (p *reclaimPairs) line(b []byte) {
	if _, lost, ok := bytes.Cut(b, []byte("[LOST ")); ok && bytes.HasPrefix(b, []byte("CPU:")) {
		count, _ := cutField(lost)
		n, _ := parseNum(count)
		p.lose(max(n, 1))
		return
	}
	head, event, ok := bytes.Cut(b, []byte(": mm_vmscan_direct_reclaim_"))
	if !ok {
		return
	}
	tid, at, ok := traceHead(head)
	switch {
	case !ok:
		p.lose(1)
	case bytes.HasPrefix(event, []byte("begin:")):
		p.begin(tid, at)
	case bytes.HasPrefix(event, []byte("end:")):
		p.end(tid, at)
	}
}

// lose forgets what has begun: its end, or another beginning, may be missing.
func (p *reclaimPairs) lose(events uint64) {
	p.sums.Lost += events
	p.open = p.open[:0]
}

func (p *reclaimPairs) begin(tid int, at uint64) {
	for i := range p.open {
		if p.open[i].tid == tid {
			p.open[i].at = at
			return
		}
	}
	if len(p.open) == mostReclaiming {
		p.lose(1)
	}
	p.open = append(p.open, reclaimBegin{tid, at})
}

func (p *reclaimPairs) end(tid int, at uint64) {
	for i := range p.open {
		if p.open[i].tid != tid {
			continue
		}
		if began := p.open[i].at; at >= began {
			p.sums.Count++
			p.sums.Nanos += at - began
			p.sums.LongestNanos = max(p.sums.LongestNanos, at-began)
		}
		last := len(p.open) - 1
		p.open[i], p.open = p.open[last], p.open[:last]
		return
	}
}

// traceHead reads what stands before an event, from its end, since the name of
// the thread may hold anything.
func traceHead(b []byte) (tid int, at uint64, ok bool) {
	rest, stamp := cutLastField(b)
	if at, ok = parseTraceTime(stamp); !ok {
		return 0, 0, false
	}
	for {
		var field []byte
		if rest, field = cutLastField(rest); len(field) == 0 {
			return 0, 0, false
		}
		if field[0] == '[' && field[len(field)-1] == ']' && isNumber(field[1:len(field)-1]) {
			break
		}
	}
	// An instance may be told to add "(TGID)".
	rest = bytes.TrimRight(rest, " ")
	if bytes.HasSuffix(rest, []byte{')'}) {
		rest = bytes.TrimRight(rest[:max(0, bytes.LastIndexByte(rest, '('))], " ")
	}
	dash := bytes.LastIndexByte(rest, '-')
	if dash < 0 {
		return 0, 0, false
	}
	ok = parseSmall(&tid, rest[dash+1:])
	return tid, at, ok
}

func cutLastField(b []byte) (rest, field []byte) {
	b = bytes.TrimRight(b, " ")
	i := bytes.LastIndexByte(b, ' ')
	return b[:i+1], b[i+1:]
}

// parseTraceTime reads seconds with six decimals into ns.
func parseTraceTime(b []byte) (uint64, bool) {
	whole, decimals, ok := bytes.Cut(b, []byte{'.'})
	s, ok1 := parseNum(whole)
	us, ok2 := parseNum(decimals)
	if !ok || !ok1 || !ok2 || len(decimals) != 6 || s > 1<<33 {
		return 0, false
	}
	return s*1e9 + us*1e3, true
}
