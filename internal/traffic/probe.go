package traffic

import (
	"fmt"
	"time"
)

// Probe is one request: when it was due, what became of it and when. Instants
// are Unix nanoseconds of the run's clock; 0 means that it did not happen.
type Probe struct {
	Seq       int64  // from 0, in the order of the schedule
	Due       int64  // when the schedule wanted it
	Sent      int64  // when the client turned to it: before it connects, or writes to a kept connection
	Connected int64  // when its new connection stood; 0 on a kept one
	FirstByte int64  // when the answer's first bytes were read
	Done      int64  // when the answer was complete, or the request had failed
	Bytes     int64  // of the answer that were read, head included
	ServedNs  int64  // the app's own account of its work (header X-Brink-Served-Ns), -1 unknown
	Pid       int32  // the process that answered (header X-Brink-Pid), 0 unknown
	Status    int    // of the answer, 0 without one
	Reused    bool   // sent on a connection that had served another request
	Err       string // why the outcome is not an answer, in a few words; else empty
	Outcome   Outcome
	By        Answerer // which side of a front end answered (header X-Brink-Front)
}

// Latency is the time from due to done, what somebody who wanted the answer
// when it was due had to wait.
func (p *Probe) Latency() time.Duration { return time.Duration(p.Done - p.Due) }

// SendLag is how late the request was sent. It is meaningless when Sent is 0.
func (p *Probe) SendLag() time.Duration { return time.Duration(p.Sent - p.Due) }

// Answerer is who gave an answer that came through a front end.
type Answerer uint8

// Who can have answered.
const (
	ByUnknown  Answerer = iota // no answer, or no front end that says
	ByApp                      // the app behind the front end
	ByFrontEnd                 // the front end itself, in the app's place
)

var answererNames = [...]string{"", "app", "frontend"}

// String is the answerer's name in the header, and empty where it is unknown.
func (a Answerer) String() string {
	if int(a) < len(answererNames) {
		return answererNames[a]
	}
	return fmt.Sprintf("answerer(%d)", uint8(a))
}

func answererNamed(name []byte) Answerer {
	for i, n := range answererNames {
		if n == string(name) {
			return Answerer(i)
		}
	}
	return ByUnknown
}

// Outcome is what became of a request.
type Outcome uint8

// The outcomes. An answer's status decides between the first three; a request
// without a complete answer has one of the others.
const (
	OutcomeOK          Outcome = iota // status below 400
	OutcomeHTTP4xx                    // status 400 to 499
	OutcomeHTTP5xx                    // status 500 and above
	OutcomeTimeout                    // not complete within Spec.Timeout
	OutcomeRefused                    // the connection was refused
	OutcomeReset                      // the connection was reset
	OutcomeAborted                    // closed before the answer was complete, or what came was not HTTP
	OutcomeEndless                    // more head than any answer should have
	OutcomeCanceled                   // sent, and cut short when the run was stopped
	OutcomeUnsent                     // not sent: no connection became free for it in time, or before the run was stopped
	OutcomeOutOfFiles                 // this process may not open another file
	OutcomeOutOfPorts                 // this machine has no local port left for the address
	OutcomeUnreachable                // any other reason for which no connection came about or one broke
	OutcomeTLS                        // the connection stood, but TLS on it did not: a certificate that is not trusted, no TLS there

	outcomes // how many there are
)

var outcomeNames = [outcomes]string{
	"ok", "http_4xx", "http_5xx", "timeout", "refused", "reset", "aborted", "endless",
	"canceled", "unsent", "out_of_files", "out_of_ports", "unreachable", "tls",
}

// String is the outcome's name in records and reports.
func (o Outcome) String() string {
	if o < outcomes {
		return outcomeNames[o]
	}
	return fmt.Sprintf("outcome(%d)", uint8(o))
}

// MarshalText returns the outcome's name.
func (o Outcome) MarshalText() ([]byte, error) {
	if o >= outcomes {
		return nil, fmt.Errorf("traffic: no outcome has the number %d", uint8(o))
	}
	return []byte(o.String()), nil
}

// UnmarshalText accepts the name of an outcome and nothing else.
func (o *Outcome) UnmarshalText(name []byte) error {
	for i, n := range outcomeNames {
		if n == string(name) {
			*o = Outcome(i)
			return nil
		}
	}
	return fmt.Errorf("traffic: no outcome is called %q", name)
}

func outcomeOfStatus(status int) Outcome {
	switch {
	case status >= 500:
		return OutcomeHTTP5xx
	case status >= 400:
		return OutcomeHTTP4xx
	}
	return OutcomeOK
}
