package evidence

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sort"
	"time"
)

// builder puts a case together from many files.
type builder struct {
	c      Case
	kernel captured
	// apart is how far t0 and t1 are apart, where a file says so.
	apart Value
	// meta is what a bundle says of its readings, by name.
	meta map[string]readingMeta
	// booted are events that carry the time since boot only, by their place in
	// the case.
	booted map[int]float64
	counts map[eventKey]*eventCount
	// logs are those with times that were read, by the hash of what they hold.
	logs map[[sha256.Size]byte]*file
	// bundle is the file that told that there is a bundle.
	bundle *file
	// cut are archives that end early.
	cut []string
	// bad is why the files make no case.
	bad error
}

type eventKey struct {
	file string
	kind EventKind
}

type eventCount struct{ kept, last, more int }

// Bounds of the events of one kind that are kept of one file; those that follow
// are counted in the last one. Of a case that has many in all, fewer are kept of
// each file.
const (
	mostEvents = 20_000
	mostInAll  = 100_000
	mostOfMany = 2000
	mostListed = 2000 // of rows and looks that a tool prints
)

func newBuilder() *builder {
	return &builder{
		apart: Missing(NotSeen, "no input says how far the readings are apart"),
		meta:  map[string]readingMeta{}, booted: map[int]float64{}, counts: map[eventKey]*eventCount{}, logs: map[[sha256.Size]byte]*file{},
	}
}

// event takes in an event.
func (b *builder) event(e Event) int {
	key := eventKey{e.From.File, e.Kind}
	n := b.counts[key]
	if n == nil {
		n = &eventCount{}
		b.counts[key] = n
	}
	if n.kept >= mostEvents || len(b.c.Events) >= mostInAll && n.kept >= mostOfMany {
		more := &b.c.Events[n.last]
		more.Times = Known(more.Times.Number+1, Events, more.From)
		n.more++
		return -1
	}
	if !e.Times.Known {
		e.Times = Known(1, Events, e.From)
	}
	if e.Kind == AppError || e.Kind == AppLoadFailed {
		e.Error = errorOf(e.Text)
		if e.Reason == "" && refusedMemory(e.Text) {
			e.Reason = RefusedMemory
		}
	}
	e.Text = shorten(e.Text)
	n.kept++
	n.last = len(b.c.Events)
	b.c.Events = append(b.c.Events, e)
	return n.last
}

func (b *builder) input(f *file, as, note string) {
	if f.cut > 0 {
		b.strange(f, "its first "+sizeWords(f.cut)+" were not read, only its end")
		note = joinNotes(note, "its first "+sizeWords(f.cut)+" were not read")
	}
	b.c.Inputs = append(b.c.Inputs, Input{File: f.name, As: as, Note: note})
}

// sizeWords is a number of bytes in the words of a sentence.
func sizeWords(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

func joinNotes(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

func (b *builder) strange(f *file, why string) {
	b.c.Strangers = append(b.c.Strangers, Stranger{File: f.name, Why: why})
}

func (b *builder) gap(what Signal, why Reason, detail string, from Source) {
	b.c.Gaps = append(b.c.Gaps, Gap{What: what, Why: why, Detail: detail, From: from})
}

// finish reads the kernel's files and brings everything into order.
func (b *builder) finish() (*Case, error) {
	if err := b.readings(); err != nil {
		return nil, err
	}
	b.limitsOfContainers()
	b.bootTimes()
	b.dropCopies()
	b.tellCounted()
	sortEvents(b.c.Events)
	for i := range b.c.Requests {
		finishRequests(&b.c.Requests[i])
	}
	b.refuseImpossible()
	b.c.Activities = append(b.c.spanActivities(), b.c.Activities...)
	b.c.addUnixListeners()
	b.c.giveReasons()
	b.tellCutArchives()
	return &b.c, nil
}

// readings takes the readings that the captured files hold.
func (b *builder) readings() error {
	if err := b.capturedReadings(); err != nil {
		return err
	}
	if b.listsListeners() {
		b.mergeListeners()
	}
	sort.Stable(byTime(b.c.Readings))
	if len(b.kernel.groups) == 0 && b.apart.Known {
		for i := range b.c.Readings { // of tools alone
			b.when(&b.c.Readings[i], i, len(b.c.Readings))
		}
	}
	judgeFrozen(b.c.Readings)
	return nil
}

func (b *builder) capturedReadings() error {
	if len(b.kernel.groups) == 0 {
		return nil
	}
	groups := b.kernel.order()
	for i, g := range groups {
		for _, f := range g.left {
			b.second(g.files[f.as], f.file, f.as)
		}
		r, faults, err := g.read()
		if err != nil {
			return err
		}
		b.c.Strangers = append(b.c.Strangers, faults...)
		b.when(&r, i, len(groups))
		b.c.Readings = append(b.c.Readings, r)
	}
	return nil
}

// when sets what is known of a reading's time.
func (b *builder) when(r *Reading, i, of int) {
	if m, ok := b.meta[r.Name]; ok {
		m.apply(r)
	}
	if b.apart.Known && of > 1 && i > 0 {
		r.Clock = b.apart.Times(float64(i), Seconds)
	} else if b.apart.Known && of > 1 {
		r.Clock = Known(0, Seconds, b.apart.From...)
	}
}

// byTime orders readings by time where both have one, and keeps the order of
// names otherwise. It compares them where they lie, since each is large.
type byTime []Reading

func (rs byTime) Len() int      { return len(rs) }
func (rs byTime) Swap(i, j int) { rs[i], rs[j] = rs[j], rs[i] }

func (rs byTime) Less(i, j int) bool {
	a, b := &rs[i], &rs[j]
	switch {
	case !a.At.IsZero() && !b.At.IsZero():
		return a.At.Before(b.At)
	case a.Machine.Uptime.Known && b.Machine.Uptime.Known && a.Name == b.Name:
		return a.Machine.Uptime.Number < b.Machine.Uptime.Number
	}
	return false
}

// bootTimes gives the events of a kernel log without dates the time that their
// seconds since boot mean, where a reading tells when the machine was booted.
func (b *builder) bootTimes() {
	var boot time.Time
	for i := range b.c.Readings {
		r := &b.c.Readings[i]
		switch m := &r.Machine; {
		case m.Boot.Known:
			boot = time.Unix(int64(m.Boot.Number), 0).UTC()
		case m.Uptime.Known && !r.At.IsZero():
			boot = r.At.Add(-time.Duration(m.Uptime.Number * float64(time.Second)))
		}
	}
	for i, s := range b.booted {
		b.c.Events[i].Uptime = Known(s, Seconds, b.c.Events[i].From)
		if boot.IsZero() {
			continue
		}
		b.c.Events[i].At = boot.Add(time.Duration(s * float64(time.Second)))
	}
}

// sortEvents orders events by time within and across files; those without a
// time follow the one before them in their file.
func sortEvents(events []Event) {
	type placed struct {
		at time.Time
		i  int
	}
	last := map[string]time.Time{}
	order := make([]placed, len(events))
	for i := range events {
		e := &events[i]
		at := e.At
		if at.IsZero() {
			at = last[e.From.File]
		}
		last[e.From.File] = at
		order[i] = placed{at, i}
	}
	earlier := func(a, b placed) int { return a.at.Compare(b.at) }
	if slices.IsSortedFunc(order, earlier) {
		return
	}
	slices.SortStableFunc(order, earlier)
	sorted := make([]Event, len(events))
	for i, p := range order {
		sorted[i] = events[p.i]
	}
	copy(events, sorted)
}

// finishRequests orders the requests of a file and tells what time they cover.
func finishRequests(r *Requests) {
	slices.SortStableFunc(r.List, func(a, b Request) int { return a.At.Compare(b.At) })
	for _, q := range r.List {
		if q.At.IsZero() {
			continue
		}
		if r.From.IsZero() {
			r.From = q.At
		}
		r.To = q.At
	}
}
