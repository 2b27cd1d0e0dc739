package doctor

import (
	"slices"
	"strconv"

	"brink/internal/evidence"
)

// smallBacklog: a queue as short as this is filled by an ordinary burst of
// clients. gunicorn's default is 2048, Go's and nginx's 511 to 4096.
const smallBacklog = 64

var acceptQueueOverflow = Rule{
	Mode:  AcceptQueueFilled,
	Needs: anyOf(evidence.HasListeners, evidence.HasUnixQueues, evidence.HasOverflows, evidence.HasServerLog, evidence.HasKernelLog),
	Judge: judgeQueues,
}

// overflow is what shows that an accept queue was full.
type overflow struct {
	full        []*evidence.Listener
	busy, said  []*evidence.Event // the proxy's EAGAIN; the server's or kernel's own lines
	rate        evidence.Value    // drops between the readings
	perListener evidence.Value    // and those of one listener
	listener    *evidence.Listener
}

// unnamed reports whether nothing tells which queue it was.
func (o *overflow) unnamed() bool {
	return o.listener == nil && len(o.full)+len(o.busy)+len(o.said) == 0
}

func (l *look) overflow() overflow {
	o := overflow{
		busy: l.EventsOf(evidence.UpstreamBusy),
		rate: l.Delta(func(r *evidence.Reading) evidence.Value { return r.Netstat.ListenOverflows }),
	}
	within := justNow
	if s, ok := l.Span(); ok && o.rate.Known {
		within = s.Duration() // the counters of that time say more than the log
	}
	o.said, _ = l.latelyKernel(within, evidence.QueueFull, evidence.SynFlood)
	if r := l.Last(); r != nil {
		for i := range r.Listeners {
			s := &r.Listeners[i]
			if s.Full() {
				o.full = append(o.full, s)
			}
		}
		l.whoDrops(r, &o)
	}
	return o
}

// whoDrops names the listener whose queue overflowed, where it can be told. A
// listener drops for other reasons too: one that defers accepting until the
// request is there (TCP_DEFER_ACCEPT, as Apache does) counts a drop for every
// connection, since it drops the empty ACK. So drops tell only whose overflow it
// was, where there was one: of the queue that is full, or of the one that dropped
// as much as overflowed.
//
// tcp_check_req, tcp_v4_rcv and tcp_listendrop in the kernel's sources.
func (l *look) whoDrops(r *evidence.Reading, o *overflow) {
	type dropper struct {
		*evidence.Listener
		drops evidence.Value
	}
	var all []dropper
	for i := range r.Listeners {
		s := &r.Listeners[i]
		drops := l.Delta(func(r *evidence.Reading) evidence.Value {
			if s := r.Listener(s.Address); s != nil {
				return s.Drops
			}
			return evidence.Missing(evidence.NotSeen, "it does not listen there")
		})
		if drops.Above(0) && (o.rate.Above(0) || !o.rate.Known && s.Full()) {
			all = append(all, dropper{s, drops})
		}
	}
	for _, likely := range []func(dropper) bool{
		func(d dropper) bool { return d.Full() },
		func(d dropper) bool { return d.drops.Number == o.rate.Number },
		func(dropper) bool { return true },
	} {
		i := slices.IndexFunc(all, likely)
		if i < 0 {
			continue
		}
		if !slices.ContainsFunc(all[i+1:], likely) {
			o.listener, o.perListener = all[i].Listener, all[i].drops
		}
		return
	}
}

// judgeQueues: drops without overflows are noise, the queues of unix sockets
// are in no counter, and a total since boot says nothing of now.
//
// tcp_v4_conn_request and unix_stream_connect in the kernel's sources.
func judgeQueues(l *look, a *answer) {
	if l.frozen() {
		return
	}
	o := l.overflow()
	if len(o.full)+len(o.busy)+len(o.said) > 0 || o.rate.Above(0) || o.perListener.Above(0) {
		a.found(queueFinding(l, o))
		return
	}
	var w words
	switch {
	case o.rate.Known && o.rate.AtMost(0):
		a.fine(Queues, "No accept queue overflowed between the readings (ListenOverflows "+w.n("ListenOverflows", o.rate)+").", &w)
	case l.Latest(func(r *evidence.Reading) evidence.Value { return r.Netstat.ListenOverflows }).Above(0):
		total := l.Latest(func(r *evidence.Reading) evidence.Value { return r.Netstat.ListenOverflows })
		a.cannotTell(Queues, "Accept queues overflowed "+w.count("ListenOverflows", total, "time")+" at some time; one reading does not tell whether they do now.", "The same counters a second time, and ss -ltn.", &w)
	case l.Has(evidence.HasListeners) || l.Has(evidence.HasUnixQueues):
		r := l.Last()
		worst := slices.MaxFunc(r.Listeners, func(x, y evidence.Listener) int { return int(x.Queue.Number - y.Queue.Number) })
		a.fine(Queues, "The longest accept queue holds "+w.n("accept queue", worst.Queue)+" of "+w.n("backlog", worst.Backlog)+" ("+worst.Address+").", &w)
	}
}

func queueFinding(l *look, o overflow) *Finding {
	f := &Finding{}
	var backlog evidence.Value
	unix := len(o.busy) > 0
	for i, s := range o.full {
		if i == 0 {
			f.What = "The accept queue of " + s.Address + " is full: " + f.n("accept queue", s.Queue) + " wait where " + f.n("backlog", s.Backlog) + " are allowed (the kernel lets one more in)"
			backlog, f.Subject = s.Backlog, s.Address
			unix = unix || s.Unix
		}
	}
	for _, e := range o.said {
		if f.What == "" && e.Kind == evidence.QueueFull {
			f.What = "The accept queue of " + e.Address + " is full: " + f.n("accept queue", e.Queue) + " of a backlog of " + f.n("backlog", e.Limit)
			backlog = e.Limit
		}
	}
	if f.What == "" && o.listener != nil {
		f.What = "The accept queue of " + o.listener.Address + " overflows"
		f.Subject = o.listener.Address
		backlog = o.listener.Backlog
	}
	if f.What == "" && len(o.said) > 0 {
		f.What = "An accept queue overflowed"
		if e := o.said[len(o.said)-1]; e.Port > 0 {
			f.n("port", evidence.Known(float64(e.Port), evidence.NoUnit, e.From))
			f.What += " on port " + strconv.Itoa(e.Port) + ", says the kernel's log (possible SYN flooding)"
		}
	}
	if f.What == "" {
		f.What = "An accept queue of this network namespace overflows; the counter does not tell which"
	}
	if o.perListener.Above(0) {
		f.What += ", and " + f.count("drops of the listener", o.perListener, "connection") + " dropped there"
	} else if o.rate.Above(0) {
		f.What += ", and " + f.count("ListenOverflows", o.rate, "connection attempt") + " dropped between the readings"
	}
	if len(o.busy) > 0 {
		f.What += ". The proxy was turned away " + f.count("EAGAIN of connect", countOf(o.busy), "time") + " (EAGAIN, 11)"
		if f.Subject == "" {
			f.Subject = o.busy[0].Address
		}
	}
	f.What += "."
	f.see("ListenOverflows per second", l.Rate(func(r *evidence.Reading) evidence.Value { return r.Netstat.ListenOverflows }))
	for _, s := range o.full {
		f.places = append(f.places, s.Address)
	}
	if o.listener != nil {
		f.places = append(f.places, o.listener.Address)
	}
	f.between(stretch(slices.Concat(o.busy, o.said)))
	if f.Span == "" {
		f.over(l)
	}
	if o.unnamed() {
		f.level(Inferred, "the kernel counts for all listeners of the network namespace; that it is this server's queue, nothing tells")
		f.not("another server of the same machine or container", "cannot be ruled out: ListenOverflows has no address")
	} else {
		f.level(Observed, queueRule(o))
	}
	if unix {
		f.not("no overflow, since ListenOverflows is 0", "that counter is of TCP only; a full unix socket shows as EAGAIN in the proxy's log")
	}
	queueCause(l, f, backlog)
	return f
}

func queueRule(o overflow) string {
	switch {
	case o.rate.Above(0) || o.perListener.Above(0):
		return "the kernel counted dropped connections between two readings"
	case len(o.busy)+len(o.said) > 0:
		return "the log has the refusals"
	}
	return "seen at one instant; that it lasts was not seen"
}

func queueCause(l *look, f *Finding, backlog evidence.Value) {
	small := backlog.Below(smallBacklog)
	if small {
		f.Cause = "The backlog of " + f.n("backlog", backlog) + " is so small that an ordinary burst of clients fills it, whether or not workers are busy."
		f.Now = []string{"Raise the server's backlog (listen backlog, --backlog) to 511 or more, and net.core.somaxconn with it if that is lower."}
		f.Properly = []string{"See afterwards whether the queue still grows: if so, workers are the limit, and a longer queue only makes requests wait longer."}
	} else {
		f.Cause = "Connections come faster than the server accepts them: its workers are busy, its loop is blocked, or it stands still."
		f.Now = []string{"See what the workers do (brink watch --once): the queue is the symptom."}
		f.Properly = []string{"Mend what holds the workers. A longer backlog only makes requests wait longer."}
	}
	if s := l.start(); s != nil && s.Backlog.Known && backlog.Known && s.Backlog.Number > backlog.Number {
		f.Cause += " The server asks for " + f.n("--backlog", s.Backlog) + " and gets less: net.core.somaxconn bounds it."
		f.Now = append(f.Now, "Raise net.core.somaxconn and start the server again.")
	}
	if somax := l.Latest(func(r *evidence.Reading) evidence.Value { return r.Machine.SomaxConn }); somax.Known {
		f.see("net.core.somaxconn", somax)
	}
	f.not("a network fault", "the connections reach the machine; it is the server that does not take them")
	f.Settle = []string{"The queue (ss -ltn, ss -lxn) ten times, a second apart, with the state of the workers."}
}
