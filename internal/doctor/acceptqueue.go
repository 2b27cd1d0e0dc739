package doctor

import (
	"slices"
	"strconv"
	"time"

	"brink/internal/evidence"
)

// floodNow is how long before a reading the kernel's line about a flood still is
// about it: there is one line for each listener, when its queue overflows first
// (tcp_syn_flood_action in net/ipv4/tcp_input.c).
const floodNow = time.Minute

// smallBacklog: a queue as short as this is filled by an ordinary burst of
// clients. gunicorn's default is 2048, Go's and nginx's 511 to 4096.
const smallBacklog = 64

// manyWait is how many connections wait at one look for that not to be in order
// as a matter of course. At a use of 0.8 four workers have as many waiting in 6 %
// of looks (M/M/4: the probability of waiting, 0.6, times 0.8^10).
const manyWait = 10

var acceptQueueOverflow = Rule{
	Mode:  AcceptQueueFilled,
	Needs: anyOf(evidence.HasListeners, evidence.HasUnixQueues, evidence.HasOverflows, evidence.HasServerLog, evidence.HasKernelLog),
	Judge: judgeQueues,
}

// overflow is what shows that an accept queue was full.
type overflow struct {
	full        []*evidence.Listener
	lasts       bool              // the first of these was full at every reading, and there are several
	busy, said  []*evidence.Event // the proxy's EAGAIN; the server's or kernel's own lines
	rate        evidence.Value    // drops between the readings
	perListener evidence.Value    // and those of one listener
	listener    *evidence.Listener
	likely      bool              // the listener follows from its queue alone
	past        []*evidence.Event // what the kernel's log said long before the readings
	shared      evidence.Value    // drops of this queue and others together, where several are full
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
	if l.Last() != nil {
		within = min(within, floodNow)
	}
	o.said, o.past = l.latelyKernel(within, evidence.QueueFull, evidence.SynFlood)
	if r := l.Last(); r != nil {
		for i := range r.Listeners {
			s := &r.Listeners[i]
			same := func(have *evidence.Listener) bool { return have.Address == s.Address } // SO_REUSEPORT
			if s.Full() && !slices.ContainsFunc(o.full, same) {
				o.full = append(o.full, s)
			}
		}
		o.lasts = len(o.full) > 0 && l.fullThroughout(o.full[0].Address)
		l.whoDrops(r, &o)
		if o.rate.Above(0) && o.unnamed() {
			o.listener, o.likely = l.wasFull(), true
		}
	}
	return o
}

// pastFloods notes the kernel's lines that are long over.
func pastFloods(l *look, a *answer, past []*evidence.Event) {
	if len(past) == 0 {
		return
	}
	var w words
	last := past[len(past)-1]
	text := "The kernel's log has " + w.count("possible SYN flooding", countOf(past), "line") + " about a full accept queue" + lastOf(len(past)) + "port " + strconv.Itoa(last.Port) + " " + l.ago(last)
	a.note(Queues, text+": it writes one line for a port, so whether that went on is not told.", &w)
}

// fullThroughout reports whether a listener's queue was full at each of several
// readings.
func (l *look) fullThroughout(address string) bool {
	return len(l.Readings) > 1 && !slices.ContainsFunc(l.Readings, func(r evidence.Reading) bool {
		s := r.Listener(address)
		return s == nil || !s.Full()
	})
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
		drops := l.dropsOf(s)
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
	pastFloods(l, a, o.past)
	if len(o.full)+len(o.busy)+len(o.said) > 0 || o.rate.Above(0) || o.perListener.Above(0) {
		for _, part := range l.eachQueue(o) {
			a.found(queueFinding(l, part))
		}
		return
	}
	if l.heldQueue(a) {
		return
	}
	var w words
	if s := l.atLimit(); s != nil {
		a.cannotTell(Queues, "The accept queue of "+s.Address+" holds "+w.n("accept queue", s.Queue)+" of "+w.n("backlog", s.Backlog)+": the kernel lets one more in, and turned none away that is seen here.",
			"ss -ltn or ss -lxn ten times, a second apart, and the state of the workers.", &w)
		return
	}
	switch {
	case o.rate.Known && o.rate.AtMost(0) && l.nobodyListens():
		a.note(Queues, "ListenOverflows did not rise between the readings ("+w.n("ListenOverflows", o.rate)+"), but nothing was seen that listens, and no connection was accepted in that time.", &w)
	case o.rate.Known && o.rate.AtMost(0):
		a.fine(Queues, "No accept queue overflowed between the readings (ListenOverflows "+w.n("ListenOverflows", o.rate)+").", &w)
	case l.Latest(func(r *evidence.Reading) evidence.Value { return r.Netstat.ListenOverflows }).Above(0):
		total := l.Latest(func(r *evidence.Reading) evidence.Value { return r.Netstat.ListenOverflows })
		a.cannotTell(Queues, "Accept queues overflowed "+w.count("ListenOverflows", total, "time")+" at some time; one reading does not tell whether they do now.", "The same counters a second time, and ss -ltn.", &w)
	case l.Has(evidence.HasListeners) || l.Has(evidence.HasUnixQueues):
		r := l.lastListeners()
		if r == nil {
			return
		}
		worst := slices.MaxFunc(r.Listeners, func(x, y evidence.Listener) int { return int(x.Queue.Number - y.Queue.Number) })
		text := "The longest accept queue holds " + w.n("accept queue", worst.Queue) + " of " + w.n("backlog", worst.Backlog) + " (" + worst.Address + ")"
		if worst.Queue.AtLeast(manyWait) {
			a.cannotTell(Queues, text+"; whether that lasts, and for how long they wait, is not told.", "ss -ltn ten times, a second apart, and the state of the workers.", &w)
			return
		}
		a.fineOf(worst.Address, Queues, text+".", &w)
	}
}

// nobodyListens reports whether a counter that stands still says nothing: no
// listener was seen, and none took in a connection.
func (l *look) nobodyListens() bool {
	if l.Has(evidence.HasListeners) {
		return false
	}
	return l.Delta(func(r *evidence.Reading) evidence.Value { return r.Netstat.PassiveOpens }).AtMost(0)
}

// atLimit returns a listener whose queue takes one more at most, nil if none is.
func (l *look) atLimit() *evidence.Listener {
	r := l.Last()
	if r == nil {
		return nil
	}
	if i := slices.IndexFunc(r.Listeners, func(s evidence.Listener) bool { return s.AtLimit() }); i >= 0 {
		return &r.Listeners[i]
	}
	return nil
}

func queueFinding(l *look, o overflow) *Finding {
	f := &Finding{}
	backlog := whichQueue(f, o)
	unix := len(o.busy) > 0 || len(o.full) > 0 && o.full[0].Unix
	// Both count packets: a client that is not answered tries again.
	if o.rate.Above(0) {
		f.What += ", and " + f.count("ListenOverflows", o.rate, "connection attempt") + were(o.rate) + " dropped between the readings, a client's further attempts counted again"
		f.see("drops of the listener", o.perListener)
	} else if o.perListener.Above(0) {
		f.What += ", and the kernel dropped " + f.count("drops of the listener", o.perListener, "packet") + " there between the readings, a client's further attempts counted again"
	}
	if len(o.busy) > 0 {
		f.What += ". The proxy was turned away " + f.count("EAGAIN of connect", countOf(o.busy), "time") + " (EAGAIN, 11)"
		if f.Subject == "" {
			f.Subject = o.busy[0].Address
		}
	}
	f.What += "."
	if !o.shared.Known {
		f.see("ListenOverflows per second", l.Rate(func(r *evidence.Reading) evidence.Value { return r.Netstat.ListenOverflows }))
	} else if o.shared.Above(0) {
		f.What += " Of all queues " + f.count("ListenOverflows", o.shared, "connection attempt") + were(o.shared) + " dropped between the readings; of which, the kernel does not count."
	}
	for _, s := range o.full {
		f.places = append(f.places, s.Address)
	}
	if o.listener != nil {
		f.places = append(f.places, o.listener.Address)
	}
	f.between(stretch(slices.Concat(o.busy, o.said)))
	switch {
	case f.Span != "":
	case o.rate.Above(0) || o.perListener.Above(0) || o.lasts:
		f.over(l)
	default:
		f.Span = "at the one instant that was read"
	}
	if o.unnamed() {
		if l.severalListen() {
			f.notBy = []Mode{BootTimeoutLoop, EventLoopBlocked, WorkerExhaustion} // of whom nothing says that the queue is theirs
		}
		f.level(Inferred, "the kernel counts for all listeners of the network namespace; that it is this server's queue, nothing tells")
		f.not("another server of the same machine or container", "cannot be ruled out: ListenOverflows has no address")
	} else if o.listener != nil && o.likely {
		f.level(StronglySuggested, "connections were dropped between two readings, and of all queues this alone was seen full at one of them")
	} else {
		f.level(Observed, queueRule(o))
	}
	if unix {
		f.not("no overflow, since ListenOverflows is 0", "that counter is of TCP only; a full unix socket shows as EAGAIN in the proxy's log")
	}
	queueCause(l, f, o, backlog)
	return f
}

// whichQueue begins the sentence with the queue that overflows, as far as it is
// known, and returns its backlog.
func whichQueue(f *Finding, o overflow) evidence.Value {
	if len(o.full) > 0 {
		s := o.full[0]
		f.What = "The accept queue of " + s.Address + " is full: " + f.n("accept queue", s.Queue) + " wait where " + f.n("backlog", s.Backlog) + " are allowed (the kernel lets one more in)"
		f.Subject = s.Address
		return s.Backlog
	}
	for _, e := range o.said {
		if e.Kind == evidence.QueueFull {
			f.What = "The accept queue of " + e.Address + " is full: " + f.n("accept queue", e.Queue) + " of a backlog of " + f.n("backlog", e.Limit)
			return e.Limit
		}
	}
	if o.listener != nil {
		f.What = "The accept queue of " + o.listener.Address + " overflows"
		f.Subject = o.listener.Address
		f.see("backlog", o.listener.Backlog)
		return o.listener.Backlog
	}
	if len(o.said) > 0 {
		f.What = "An accept queue overflowed"
		if e := o.said[len(o.said)-1]; e.Port > 0 {
			f.n("port", evidence.Known(float64(e.Port), evidence.NoUnit, e.From))
			f.What += " on port " + strconv.Itoa(e.Port) + ", says the kernel's log (possible SYN flooding)"
		}
		return evidence.Value{}
	}
	f.What = "An accept queue of this network namespace overflows; the counter does not tell which"
	return evidence.Value{}
}

func queueRule(o overflow) string {
	switch {
	case o.rate.Above(0) || o.perListener.Above(0):
		return "the kernel counted dropped connections between two readings"
	case len(o.busy)+len(o.said) > 0:
		return "the log has the refusals"
	case o.lasts:
		return "the queue was full at every reading"
	}
	return "seen at one instant; that it lasts was not seen"
}

func queueCause(l *look, f *Finding, o overflow, backlog evidence.Value) {
	switch small := backlog.Below(smallBacklog); {
	case o.lasts && l.takesNothing(o.full[0]):
		f.Cause = "The server accepts nothing: no connection left the queue between the readings. It is stopped, hangs, or its loop is blocked; the queue is full because nobody empties it."
		f.not("a backlog that is too small", "a longer queue that nobody empties fills up as well")
		f.Now = []string{"Look at the server first: whether its process is stopped (state T), waits for disk (D) or spins, and what it does (a stack, brink watch --once as root). Start it again if it hangs."}
		f.Properly = []string{"Mend what holds it, and let a health check end a server that accepts nothing."}
	case o.lasts && small:
		f.Cause = "It was full at every look, which an ordinary burst does not do: connections come faster than the server accepts them. Its workers are busy, its loop is blocked, or it stands still."
		f.Now = []string{"See first what the server and its workers do (brink watch --once): the queue is the symptom."}
		f.Properly = []string{"Mend what holds the workers. The backlog of " + f.n("backlog", backlog) + " is small as well: with workers that keep up, 511 or more takes in a burst."}
	case small:
		f.Cause = "The backlog of " + f.n("backlog", backlog) + " is so small that an ordinary burst of clients fills it, whether or not workers are busy."
		f.Now = []string{"Raise the server's backlog (listen backlog, --backlog) to 511 or more, and net.core.somaxconn with it if that is lower."}
		f.Properly = []string{"See afterwards whether the queue still grows: if so, workers are the limit, and a longer queue only makes requests wait longer."}
	default:
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
