package doctor

import (
	"math"
	"time"

	"brink/internal/evidence"
)

// A worker that is given up within this of its limit after its boot has never
// told its master that it lives: the master looks once a second, and a machine
// short of memory makes it late.
const (
	bootSlack = 5 * time.Second
	bootLate  = 1.5
	// bootRounds is how many workers must be given up while they boot, with at
	// least one that took the place of another of them.
	bootRounds = 2
	// Where the limit is not known, so many workers must be given up after the
	// same time, to the second of the log's clock and the master's look; what is
	// shorter than this is no limit that anyone sets for requests.
	alikeRounds = 3
	alikeWithin = 2 * time.Second
	alikeLeast  = 10 * time.Second
)

var bootTimeoutLoop = Rule{
	Mode:  BootTimeoutLoop,
	Needs: anyOf(evidence.HasServerLog, evidence.HasPools),
	Judge: func(l *look, a *answer) {
		liveBoots(l, a)
		for _, c := range l.crews() {
			limit, told := c.limit(l)
			lost := c.lostInRounds(limit)
			if len(lost) == 0 && !told {
				if alike := c.lostAlike(); generations(alike) {
					lost = alike
				}
			}
			if len(lost) > 0 {
				a.found(bootFinding(l, c, lost, limit, told))
			}
		}
	},
}

// lostInRounds are the workers that were given up while they booted, if that went on
// for more than one round of them: by what the server says, or by their times.
func (c *crew) lostInRounds(limit time.Duration) []*life {
	if said := c.saidBooting(); said != nil {
		return said
	}
	if lost := c.lostBooting(limit); len(lost) >= bootRounds && generations(lost) {
		return lost
	}
	return nil
}

// neverBooted is what Puma says of a worker that it gives up while it boots.
//
// https://github.com/puma/puma/blob/master/lib/puma/cluster.rb (timeout_workers)
var neverBooted = expression(`(?i)worker(?: (\d+))? failed to boot within \d+ seconds`)

// saidBooting are the workers of which their server says that they were given up
// while they booted, if one took the place of another of them: a place is named
// twice, there are more of them than places, or they were given up longer apart than
// one boot may take.
func (c *crew) saidBooting() []*life {
	var lost []*life
	var gone []*evidence.Event
	places := map[string]int{}
	again := false
	for i := range c.lives {
		w := &c.lives[i]
		if w.timeout == nil {
			continue
		}
		m := neverBooted().FindStringSubmatch(w.timeout.Text)
		if m == nil {
			continue
		}
		if m[1] != "" {
			places[m[1]]++
			again = again || places[m[1]] > 1
		}
		lost, gone = append(lost, w), append(gone, w.timeout)
	}
	if len(lost) < bootRounds {
		return nil
	}
	from, to := stretch(gone)
	again = again || c.workers.Above(0) && c.workers.Below(float64(len(lost)))
	if limit := gone[0].Limit; !again && !(limit.Known && to.Sub(from).Seconds() >= limit.Number) {
		return nil
	}
	return lost
}

// lostBooting are the workers whose server gave them up as long after their
// boot as its limit is.
func (c *crew) lostBooting(limit time.Duration) []*life {
	var lost []*life
	for i := range c.lives {
		w := &c.lives[i]
		if d, ok := w.booted(); ok && d >= limit-time.Second && d <= time.Duration(bootLate*float64(limit))+bootSlack {
			lost = append(lost, w)
		}
	}
	return lost
}

// lostAlike are the workers that were given up, if each was so the same time
// after its boot: a limit that nothing tells, and which no worker outlives.
func (c *crew) lostAlike() []*life {
	var lost []*life
	least, most := time.Duration(math.MaxInt64), time.Duration(0)
	for i := range c.lives {
		w := &c.lives[i]
		if w.timeout == nil {
			continue
		}
		d, ok := w.booted()
		if !ok {
			return nil
		}
		least, most = min(least, d), max(most, d)
		lost = append(lost, w)
	}
	if len(lost) < alikeRounds || most-least > alikeWithin || least < alikeLeast {
		return nil
	}
	return lost
}

// generations reports whether any of the workers was booted after another of
// them had been given up.
func generations(lost []*life) bool {
	for _, w := range lost {
		if w.boot != nil && !w.boot.At.Before(lost[0].timeout.At) {
			return true
		}
	}
	return false
}

func bootFinding(l *look, c *crew, lost []*life, limit time.Duration, told bool) *Finding {
	var gone []*evidence.Event
	for _, w := range lost {
		gone = append(gone, w.timeout)
	}
	f := &Finding{Subject: c.subject()}
	d, timed := lost[0].booted()
	lasted := gone[0].Limit
	if timed {
		lasted = evidence.Known(d.Seconds(), evidence.Seconds, lost[0].boot.From, lost[0].timeout.From)
	}
	f.What = "Workers take longer to boot than their server waits: " + f.count("workers given up while booting", countOf(gone), "worker") +
		" killed"
	if lasted.Known {
		f.What += " about " + f.n("from boot to time-out", lasted) + " after their boot"
	}
	f.What += " and booted anew, which no restart counter shows."
	from, to := stretch(gone)
	if timed {
		from = lost[0].boot.At
	}
	f.between(from, to)
	f.level(Observed, "boots and time-outs of the same workers stand in the server's log, round after round")
	if !timed {
		f.level(Observed, "the server's own log says of each that it did not boot in time, round after round")
	}
	server, setting, preload := c.bootWords()
	f.Cause = server + " kills a worker that does not report within " + setting + ", and importing the app or filling its memory counts. Killing and booting again costs the machine the same memory and CPU once more, so that all boots get slower."
	if v := latestLimit(gone); v.Known {
		f.see("the server's time-out", v)
	} else if told && l.start() != nil {
		f.see("--timeout", l.start().Timeout)
	} else if timed && d > time.Duration(bootLate*float64(limit))+bootSlack {
		f.Cause += " The time-out was not seen; that all were given up after the same time tells what it is."
		f.level(Inferred, "each worker was given up the same time after its boot; the limit itself was not seen")
	} else if server == "gunicorn" {
		f.Cause += " The time-out was not seen; " + lasting(limit) + " is gunicorn's default."
	}
	f.not("out of memory kill", "the SIGKILL comes from the master: the time-out of the same worker stands before it in the log")
	f.not("slow requests", "each was given up one time-out after its boot; a request would have come later")
	f.Now = []string{"Raise " + setting + " above the time of a boot (600 while this lasts).", "Start the apps one after another, not together."}
	f.Properly = []string{"Shorten the boot: load less at import, or " + preload + " so that it is loaded once.",
		"Fewer workers: each imports the app and fills its memory again."}
	f.Settle = []string{"How long one boot takes with the machine to itself.", "/proc/pressure/memory and swap traffic while it boots."}
	return f
}
