package wire

import (
	"encoding/json"
	"fmt"
	"time"
)

// Message is one of Hello, Request, Response, Event, Log (by value) and
// *Sample.
type Message interface{ kind() frameKind }

// Hello opens a connection: each side states what it is before anything else.
type Hello struct {
	Version int `json:"version"`
	// Program names the speaker and its version for error messages.
	Program string `json:"program,omitempty"`
	// Capabilities lists what the speaker can do beyond the protocol's core.
	Capabilities []Capability `json:"capabilities,omitempty"`
}

// Can tells whether the speaker has the capability.
func (h Hello) Can(c Capability) bool {
	for _, have := range h.Capabilities {
		if have == c {
			return true
		}
	}
	return false
}

// Capability is something that an agent may or may not be able to do on its
// machine. A lab asks only for what the agent has stated.
type Capability string

// The capabilities of an agent.
const (
	// Affinity: CPUs of an App is applied.
	Affinity Capability = "affinity"
	// QueueSignals: accept queues can be read.
	QueueSignals Capability = "queue"
	// PSISignals: /proc/pressure exists.
	PSISignals Capability = "psi"
	// Cgroup2: each app gets a cgroup v2 with the memory controller, and limits
	// on memory and swap are applied.
	Cgroup2 Capability = "cgroup2"
	// Containers: Mode Container can be deployed.
	Containers Capability = "containers"
	// SharedPlan: the platform's Share can be set up and protected from the OOM
	// killer.
	SharedPlan Capability = "share"
)

// Method names what a Request asks for.
type Method string

// The methods, with the types of their bodies.
const (
	// Prepare sets up a Plan and answers []Limit when the platform's share is
	// in place. It comes at most once, before the first Deploy.
	Prepare Method = "prepare"
	// Deploy starts an App and answers Endpoint, or a Fault of kind
	// StartFailed. Several may be asked for at once.
	Deploy Method = "deploy"
	// StopApp stops the app named in AppName and answers nothing, when no
	// process of it is left.
	StopApp Method = "stop_app"
	// StartSampling takes Sampling and answers nothing. A later one replaces
	// the interval.
	StartSampling Method = "start_sampling"
	// StopSampling takes and answers nothing; no Sample follows the answer.
	StopSampling Method = "stop_sampling"
	// Inflate takes an Inflation and answers nothing when the memory is filled.
	// It replaces an earlier one.
	Inflate Method = "inflate"
	// Deflate takes nothing, returns the memory of Inflate and answers nothing.
	Deflate Method = "deflate"
	// SwapIn takes nothing, brings everything back that is swapped out and
	// answers nothing; a Fault of kind NoRoom when memory cannot hold it.
	SwapIn Method = "swap_in"
	// Speed takes nothing and answers Pace.
	Speed Method = "speed"
	// Shutdown stops all apps, removes the run directory, answers nothing within
	// ShutdownLimit and closes the connection.
	Shutdown Method = "shutdown"
	// Environment takes nothing and answers []Fact.
	Environment Method = "environment"
	// ClockProbe takes nothing and answers ClockReading.
	ClockProbe Method = "clock_probe"
)

// ShutdownLimit is longer than an agent takes for a Shutdown, with processes that
// cannot be killed and a lab that does not read.
const ShutdownLimit = 4 * time.Minute

// Request asks the agent for something. Each ID is used once.
type Request struct {
	ID     uint64          `json:"id"`
	Method Method          `json:"method"`
	Body   json.RawMessage `json:"body,omitempty"`
}

// Response answers the Request with the same ID; Fault is nil on success.
type Response struct {
	ID    uint64          `json:"id"`
	Fault *Fault          `json:"fault,omitempty"`
	Body  json.RawMessage `json:"body,omitempty"`
}

// FaultKind tells what a failed request means for the run.
type FaultKind string

// The kinds of fault.
const (
	// BadRequest: the request itself was wrong.
	BadRequest FaultKind = "bad_request"
	// StartFailed: the app did not become healthy, which is data.
	StartFailed FaultKind = "start_failed"
	// NoRoom: memory or disk is too small for what was asked, which is data.
	NoRoom FaultKind = "no_room"
	// Internal: the agent could not do its work.
	Internal FaultKind = "internal"
)

// Fault is an error that crossed the connection.
type Fault struct {
	Kind FaultKind `json:"kind"`
	Text string    `json:"text"`
}

func (f *Fault) Error() string { return f.Text }

// AppName is the body of StopApp.
type AppName struct {
	Name string `json:"name"`
}

// Sampling is the body of StartSampling.
type Sampling struct {
	// EveryNs is the interval between samples, at least 1 ms.
	EveryNs int64 `json:"every_ns"`
}

// Endpoint is the answer to Deploy.
type Endpoint struct {
	Addr string `json:"addr"`
	Pid  int    `json:"pid"`
}

// Inflation is the body of Inflate.
type Inflation struct {
	// MB is anonymous memory in units of 2^20 bytes, at least 1.
	MB int `json:"mb"`
	// TouchEveryNs is the interval at which all of it is touched; 0 leaves it
	// alone once it is filled.
	TouchEveryNs int64 `json:"touch_every_ns,omitempty"`
}

// Pace is the answer to Speed: how long a fixed amount of work took. Only the
// ratio of two machines' figures means anything.
type Pace struct {
	Ns int64 `json:"ns"`
}

// Fact is one line of the answer to Environment.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ClockReading is the agent's clock (Unix time, ns) when it received a
// ClockProbe and when it answered.
type ClockReading struct {
	ReceivedNs int64 `json:"received_ns"`
	AnsweredNs int64 `json:"answered_ns"`
}

func (Hello) kind() frameKind    { return frameHello }
func (Request) kind() frameKind  { return frameRequest }
func (Response) kind() frameKind { return frameResponse }
func (Event) kind() frameKind    { return frameEvent }
func (Log) kind() frameKind      { return frameLog }
func (*Sample) kind() frameKind  { return frameSample }

type frameKind byte

const (
	frameHello frameKind = iota + 1
	frameRequest
	frameResponse
	frameEvent
	frameLog
	frameSample
)

func (k frameKind) String() string {
	switch k {
	case frameHello:
		return "hello"
	case frameRequest:
		return "request"
	case frameResponse:
		return "response"
	case frameEvent:
		return "event"
	case frameLog:
		return "log"
	case frameSample:
		return "sample"
	}
	return fmt.Sprintf("0x%02x", byte(k))
}

func (k frameKind) known() bool { return k >= frameHello && k <= frameSample }
