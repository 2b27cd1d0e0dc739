// Package evidence is what doctor judges: everything that is known about one
// machine or app, in one shape, whatever it came from. It reads the live kernel
// ([Live]), captured trees, bundles of [Collect], run directories and the
// exports and logs of servers and platforms ([Read]). It judges nothing.
//
// Every number is a [Value]: it knows the file, line and field that it came
// from, or why it is not known. What is missing is never zero, and what could
// not be seen is listed ([Case.Gaps]) beside what was ([Case.Inputs]).
package evidence

import "time"

// Case is everything that is known about one machine or app.
type Case struct {
	// Readings of the kernel in the order of time; none, one or many.
	Readings []Reading
	// Activities are what the machine did over stretches of time, whoever
	// worked out the rates: two readings, or a tool that prints them.
	Activities []Activity
	// Events are the lines of logs and the states of platforms that say that
	// something happened, in the order of time; those without a time stand
	// where their file has them.
	Events []Event
	// Logs says, for each log, what it was and covered: a log without an event
	// of some kind is evidence too.
	Logs []Log
	// Pools are worker pools as something counted them.
	Pools []Pool
	// Containers are the states of containers as their platform tells them.
	Containers []Container
	// Requests are HTTP requests, one by one or counted in buckets.
	Requests []Requests
	// Series are metrics over time, Tables those over something else, such as
	// the steps of a ladder.
	Series []Series
	Tables []Table
	// Processes are those that a tool listed (ps, top) or that were looked at.
	Processes []Process
	Config    Config

	// Inputs are what was understood, Strangers what was not, Gaps what could
	// not be seen.
	Inputs    []Input
	Strangers []Stranger
	Gaps      []Gap
}

// Input is a file or a place that was understood.
type Input struct {
	File string `json:"file"`
	As   string `json:"as"`             // the format, in words
	Note string `json:"note,omitempty"` // what to know about it
}

// Stranger is a file that was not understood, or only in part.
type Stranger struct {
	File string `json:"file"`
	Why  string `json:"why"` // one sentence
}

// Gap is something that could not be seen.
type Gap struct {
	What   Signal `json:"what"`
	Why    Reason `json:"why"`
	Detail string `json:"detail,omitempty"` // one phrase
	From   Source `json:"from"`
}

// Last returns the latest reading, nil if there is none.
func (c *Case) Last() *Reading {
	if len(c.Readings) == 0 {
		return nil
	}
	return &c.Readings[len(c.Readings)-1]
}

// First returns the earliest reading, nil if there is none.
func (c *Case) First() *Reading {
	if len(c.Readings) == 0 {
		return nil
	}
	return &c.Readings[0]
}

// Latest returns the value of the latest reading in which it is known, or why
// the last one does not know it.
func (c *Case) Latest(get func(*Reading) Value) Value {
	for i := len(c.Readings) - 1; i >= 0; i-- {
		if v := get(&c.Readings[i]); v.Known {
			return v
		}
	}
	if r := c.Last(); r != nil {
		return get(r)
	}
	return Missing(NotSeen, "there is no reading of the kernel")
}

// Interval returns the earliest and the latest instant that anything in the
// case carries; both are zero if nothing does.
func (c *Case) Interval() (from, to time.Time) {
	add := func(at time.Time) {
		if at.IsZero() {
			return
		}
		if from.IsZero() || at.Before(from) {
			from = at
		}
		if at.After(to) {
			to = at
		}
	}
	for i := range c.Readings {
		add(c.Readings[i].At)
	}
	for i := range c.Events {
		add(c.Events[i].At)
	}
	for i := range c.Logs {
		add(c.Logs[i].From)
		add(c.Logs[i].To)
	}
	for i := range c.Requests {
		add(c.Requests[i].From)
		add(c.Requests[i].To)
	}
	for i := range c.Series {
		if p := c.Series[i].Points; len(p) > 0 {
			add(p[0].At)
			add(p[len(p)-1].At)
		}
	}
	return from, to
}
