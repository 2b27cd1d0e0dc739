package doctor

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"brink/internal/evidence"
	"brink/internal/phrase"
)

// Finding is a failure mode that the evidence shows.
type Finding struct {
	Mode Mode `json:"mode"`
	// What is the finding in one sentence, with its deciding numbers.
	What string `json:"what"`
	// Subject is the app, pool, container or cgroup; empty for the machine.
	Subject string `json:"subject,omitempty"`
	// Since is when it began, as far as the evidence reaches; Span says so in
	// words, and how long it was seen.
	Since *time.Time `json:"since,omitempty"`
	Span  string     `json:"span,omitempty"`
	// Level is how far the evidence carries, with the rule that gave it.
	Level     Level    `json:"level"`
	LevelRule string   `json:"level_rule"`
	Numbers   []Number `json:"numbers"`
	Cause     string   `json:"cause"`
	Now       []string `json:"do_now"`
	Properly  []string `json:"do_properly"`
	Settle    []string `json:"would_settle"`
	Others    []Other  `json:"not_because"`
	// CausedBy is the finding above that explains this one, Explains those
	// below that this one explains.
	CausedBy Mode   `json:"caused_by,omitempty"`
	Explains []Mode `json:"explains,omitempty"`

	words
	// ownCause keeps the finding from being explained by another, notBy from
	// being explained by these.
	ownCause bool
	notBy    []Mode
	// followed is the likely cause where another finding explains this one.
	followed string
	// places are the addresses that it is about, where they are known.
	places []string
}

// Other is what else it could be, and why it is not, or what speaks for it.
type Other struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Number is a value that a sentence names.
type Number struct {
	Name  string            `json:"name"`
	Value float64           `json:"value"`
	Unit  evidence.Unit     `json:"unit,omitempty"`
	Text  string            `json:"text"` // as sentences show it
	From  []evidence.Source `json:"from"`
}

// words collects the numbers that sentences name.
type words struct{ numbers []Number }

// n shows a value and remembers where it came from.
func (w *words) n(name string, v evidence.Value) string {
	if !v.Known {
		return "an unknown number"
	}
	text := Show(v)
	for _, have := range w.numbers {
		if have.Name == name && have.Value == v.Number {
			return text
		}
	}
	w.numbers = append(w.numbers, Number{Name: name, Value: v.Number, Unit: v.Unit, Text: text, From: distinct(v.From)})
	return text
}

// count shows how many there are of something: "1 kill", "3 kills", "once", "3
// times".
func (w *words) count(name string, v evidence.Value, noun string) string {
	text := w.n(name, v)
	switch {
	case !v.Known:
		return text + " of " + noun + "s"
	case v.Number == 1 && noun == "time":
		return "once"
	case v.Unit != evidence.Events:
		text = phrase.Whole(v.Number)
	}
	if v.Number != 1 {
		noun = plural(noun)
	}
	return text + " " + noun
}

// were is the verb behind a count.
func were(v evidence.Value) string {
	if v.Number == 1 {
		return " was"
	}
	return " were"
}

func plural(noun string) string {
	if strings.HasSuffix(noun, "s") {
		return noun + "es"
	}
	return noun + "s"
}

// see remembers values that no sentence names; missing ones are left out.
func (w *words) see(name string, v evidence.Value) {
	if v.Known {
		w.n(name, v)
	}
}

// mostSources bounds how many places stand beside a number.
const mostSources = 4

func distinct(from []evidence.Source) []evidence.Source {
	list := []evidence.Source{}
	for _, s := range from {
		if s != (evidence.Source{}) && !slices.Contains(list, s) && len(list) < mostSources {
			list = append(list, s)
		}
	}
	return list
}

func (f *Finding) finished() Finding {
	f.Numbers = orEmpty(f.words.numbers)
	f.Now, f.Properly, f.Settle, f.Others = orEmpty(f.Now), orEmpty(f.Properly), orEmpty(f.Settle), orEmpty(f.Others)
	return *f
}

// level sets how far the evidence carries.
func (f *Finding) level(l Level, rule string) { f.Level, f.LevelRule = l, rule }

// not adds what else it could be, and why not.
func (f *Finding) not(what, why string) { f.Others = append(f.Others, Other{what, why}) }

// between sets since when it was seen.
func (f *Finding) between(from, to time.Time) {
	if from.IsZero() {
		return
	}
	f.Since = &from
	f.Span = "since " + from.UTC().Format("2006-01-02 15:04:05")
	if d := to.Sub(from); d >= time.Second {
		f.Span += ", seen for " + lasting(d)
	}
}

// betweenSamples sets since when samples of a metric show it. Two are two instants;
// of more it is said where there were none for much longer than usual.
func (f *Finding) betweenSamples(points []evidence.Point) {
	from, to := points[0].At, points[len(points)-1].At
	f.between(from, to)
	if from.IsZero() || !to.After(from) {
		return
	}
	var steps []time.Duration
	for i := range points[1:] {
		steps = append(steps, points[i+1].At.Sub(points[i].At))
	}
	slices.Sort(steps)
	usual, longest := steps[len(steps)/2], steps[len(steps)-1]
	begin := "since " + from.UTC().Format("2006-01-02 15:04:05")
	switch {
	case len(steps) == 1:
		f.Span = begin + ", at two instants, " + lasting(longest) + " apart; what was in between is not told"
	case longest > farApart*usual:
		f.Span = begin + ", seen at " + phrase.Count(int64(len(points))) + " instants within " + lasting(to.Sub(from)) + ", of which none for " + lasting(longest)
	}
}

// farApart times the usual step between two samples without one is a gap.
const farApart = 5

// lasting writes a length of time, without parts that are 0; from two days on in
// days.
func lasting(d time.Duration) string {
	if d >= 48*time.Hour {
		return decimals(d.Hours()/24) + " days"
	}
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// over sets the stretch of two readings as what was seen.
func (f *Finding) over(l *look) {
	s, ok := l.Span()
	switch {
	case ok && s.Seconds.Known:
		f.Span = "for at least " + lasting(s.Duration()) + ", which the readings span"
		if !s.From.At.IsZero() {
			from := s.From.At
			f.Since = &from
		}
	case l.Last() != nil:
		f.Span = "at the one instant that was read"
	}
}

// atLeast sets since when it lasts where what waits is older than the readings
// span.
func (f *Finding) atLeast(l *look, age evidence.Value) {
	s, ok := l.Span()
	if !ok || !s.Seconds.Known || !age.AtLeast(s.Seconds.Number) {
		return
	}
	d := time.Duration(age.Number * float64(time.Second))
	f.Span = "for at least " + lasting(d) + ": as long has the oldest waited"
	if !s.To.At.IsZero() {
		from := s.To.At.Add(-d)
		f.Since = &from
	}
}

// countOf makes a value of how many events there are, repeated lines counted.
func countOf(events []*evidence.Event) evidence.Value {
	n, from := 0.0, []evidence.Source(nil)
	for _, e := range events {
		n += cmp.Or(e.Times.Number, 1)
		from = append(from, e.From)
	}
	if len(from) > 2 {
		from = []evidence.Source{from[0], from[len(from)-1]}
	}
	return evidence.Known(n, evidence.Events, from...)
}

// stretch is the first and the last time of events that have one.
func stretch(events []*evidence.Event) (from, to time.Time) {
	for _, e := range events {
		if e.At.IsZero() {
			continue
		}
		if from.IsZero() || e.At.Before(from) {
			from = e.At
		}
		if e.At.After(to) {
			to = e.At
		}
	}
	return from, to
}
