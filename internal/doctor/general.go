package doctor

import (
	"slices"
	"time"

	"brink/internal/evidence"
)

// failShare is the share of requests that failed, in percent, that needs an
// explanation.
const failShare = 1

// requestsSeen counts requests and those that the server failed.
type requestsSeen struct {
	all, failed evidence.Value
	from, to    time.Time
}

// requested counts all requests of the case.
func (l *look) requested() requestsSeen {
	s := requestsSeen{all: evidence.Known(0, evidence.Events), failed: evidence.Known(0, evidence.Events)}
	for i := range l.Requests {
		r := &l.Requests[i]
		if len(r.List) == 0 {
			continue
		}
		s.all.From = append(s.all.From, evidence.Source{File: r.File})
		if s.failed.Number == 0 {
			s.failed.From = append(s.failed.From, evidence.Source{File: r.File})
		}
		s.all.Number += float64(len(r.List))
		for j := range r.List {
			q := &r.List[j]
			if q.Status < 500 && (q.Status > 0 || q.Outcome == "" || q.Outcome == "ok") {
				continue
			}
			if s.failed.Number == 0 {
				s.failed.From, s.from = []evidence.Source{{File: r.File, Line: q.Line}}, q.At
			}
			s.failed.Number++
			s.to = q.At
		}
	}
	return s
}

// general says what belongs to no mode: errors that nothing explains, and what was
// refused.
func general(l *look, r *Report) {
	proxied(l, r)
	refused(l, r)
	memoryRefused(l, r)
	threadsRefused(l, r)
	s := l.requested()
	if s.all.Number == 0 {
		return
	}
	var w words
	share := s.failed.PercentOf(s.all)
	a := &answer{}
	text := w.n("failed requests", s.failed) + " of " + w.n("requests", s.all) + " requests failed (" + w.n("failed share", share) + ")"
	switch {
	case len(r.Findings) > 0 && s.failed.Above(0):
		a.note(Traffic, text+"; see the findings for the cause.", &w)
	case share.AtLeast(failShare):
		a.suspect(Traffic, text+", and nothing here says why.", "The log of the server and of the platform from the same minutes, and readings of the kernel.", &w)
	case s.failed.Number == 0:
		a.fine(Traffic, "None of "+w.n("requests", s.all)+" requests failed.", &w)
	default:
		a.fine(Traffic, text+".", &w)
	}
	r.Good, r.Unsure, r.Notes = append(r.Good, a.good...), append(r.Unsure, a.unsure...), append(r.Notes, a.notes...)
}

// noErrorsYet adds to a finding about memory that users do not see it yet.
func (l *look) noErrorsYet(f *Finding) {
	s := l.requested()
	if s.all.Number > 0 && s.failed.Number == 0 {
		f.not("healthy, since no request fails", "none of "+f.n("requests", s.all)+" requests failed so far; starts and tails suffer first")
	}
}

// proxied says what a proxy sees of the server behind it, where no finding does.
func proxied(l *look, r *Report) {
	refused := l.EventsOf(evidence.UpstreamRefused, evidence.NoUpstream)
	late := l.EventsOf(evidence.UpstreamTimeout, evidence.UpstreamClosed)
	retried := l.EventsOf(evidence.ConnectRetried)
	if len(refused)+len(late)+len(retried) == 0 || len(r.Findings) > 0 {
		return
	}
	var w words
	a := &answer{}
	again := ""
	if len(retried) > 0 && len(refused)+len(late) > 0 {
		again = " " + w.count("connections after retries", countOf(retried), "connection") + " more came to it only after retries."
	}
	switch {
	case len(refused) > 0:
		a.suspect(Traffic, "The proxy was refused by the server behind it "+w.count("refused by upstream", countOf(refused), "time")+": nothing listens there, or it has just ended."+again,
			"The server's own log of the same seconds, and ss -ltn.", &w)
	case len(late) > 0:
		a.suspect(Traffic, "The server behind the proxy did not answer in time, or broke off, "+w.count("late upstream", countOf(late), "time")+"."+again,
			"What its workers did in the same seconds: brink watch, its own log, its backends.", &w)
	default:
		retriedOnly(l, a, retried)
	}
	r.Unsure, r.Notes = append(r.Unsure, a.unsure...), append(r.Notes, a.notes...)
}

// retriedOnly says of connections that a server took at a later attempt of its proxy
// what they may mean: the server was gone for a moment, or its accept queue was full.
//
// https://docs.haproxy.org/3.0/configuration.html#8.2.3 (retries)
func retriedOnly(l *look, a *answer, retried []*evidence.Event) {
	var w words
	text := "The proxy had to ask the server behind it again for " + w.count("connections after retries", countOf(retried), "connection") + ", and came through in the end: it was gone for a moment, or its accept queue was full"
	if s := l.requested(); countOf(retried).PercentOf(s.all).AtLeast(failShare) || !s.all.Above(0) {
		a.suspect(Traffic, text+".", "ListenOverflows of the server's machine (nstat) and ss -ltn in the same seconds, and its log of starts.", &w)
		return
	}
	a.note(Traffic, text+".", &w)
}

// refused says which metrics were not judged, since they hold what they cannot be.
func refused(l *look, r *Report) {
	a := &answer{}
	for _, g := range l.Gaps {
		if g.What == evidence.HasMetrics && g.Why == evidence.Implausible {
			text := g.Detail + "."
			if i := slices.IndexFunc(l.Strangers, func(s evidence.Stranger) bool { return s.Why == g.Detail }); i >= 0 {
				text = refusedText(&l.Strangers[i])
			}
			a.cannotTell(Source, text, "The same values as their source has them, in its own unit; of an export of Azure the average of each instance.", nil)
		}
	}
	r.Unsure = append(r.Unsure, a.unsure...)
}

// refusedText says of whom metrics were not judged, and why.
func refusedText(s *evidence.Stranger) string { return s.File + ": " + s.Why + "." }

// unread are the strangers of which nothing else in the report tells.
func (r *Report) unread() []evidence.Stranger {
	return slices.DeleteFunc(slices.Clone(r.Strangers), func(s evidence.Stranger) bool {
		return slices.ContainsFunc(r.Unsure, func(c Check) bool { return c.Text == refusedText(&s) })
	})
}
