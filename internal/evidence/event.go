package evidence

import (
	"slices"
	"time"
)

// Event is something that a log line or a platform's state says happened. Only
// the fields that its kind names are filled in.
type Event struct {
	At     time.Time // zero if the line carries no time
	Kind   EventKind
	Origin Origin
	App    string // site, container, pod or program, where the source names it
	From   Source
	Text   string // the line, shortened

	PID         int    // of whom it happened to; 0 if not told
	Comm        string // its name
	Signal      int    // 0 if none
	Code        Value  // exit code, errno or HTTP status
	Cgroup      string // of an OOM kill in a cgroup
	AnonRSS     Value  // bytes, of an OOM kill; earlyoom has all of VmRSS
	MemoryLimit Value  // bytes, of the cgroup in which an OOM kill was
	Swap        Value  // bytes, that the machine has in all, of an OOM kill
	Available   Value  // bytes, of an eviction
	Pressure    Value  // %, of a kill by systemd-oomd
	Counter     Value  // how often, by the source's own count so far
	Elapsed     Value  // s
	Limit       Value  // s, the limit that Elapsed ran into; or a queue's or pool's limit
	Queue       Value  // connections waiting
	Active      Value  // workers at work
	Idle        Value  // workers without work
	Port        int    // 0 if not told
	Address     string // listened on, connected to or probed
	Probe       string // liveness, readiness, startup
	Reason      string // as the platform calls it
	Path        string // of a request
	Frame       string // of a slow request: the call in which it was seen
	Error       string // of AppError and AppLoadFailed: what went wrong, where the line tells
	Version     string
	Ago         Value // s before the evidence was taken, where ages stand instead of times
	Times       Value // how often, where one line stands for several
	OOMGlobal   Tri   // of an OOM kill: the whole machine was out of memory
	// Uptime is the kernel's own time in s since the boot, of its lines.
	Uptime Value
}

// Origin is who says so.
type Origin string

// The origins.
const (
	FromKernel     Origin = "kernel"
	FromServer     Origin = "server"     // the web server's own log
	FromPlatform   Origin = "platform"   // App Service, Container Apps
	FromKubernetes Origin = "kubernetes" // events and pod states
	FromDocker     Origin = "docker"
	FromSystem     Origin = "system" // systemd, systemd-oomd, earlyoom
	FromBrink      Origin = "run"    // a run of brink
)

// EventKind is what happened.
type EventKind string

// Of the kernel.
const (
	// OOMKill: PID, Comm, Cgroup, AnonRSS, OOMGlobal; Reason where only some NUMA nodes
	// were full.
	OOMKill EventKind = "oom kill"
	// OOMInvoked: a task asked for memory and the killer was started: Comm.
	OOMInvoked EventKind = "oom invoked"
	// HungTask: PID, Comm, Elapsed.
	HungTask EventKind = "hung task"
	// SynFlood: the kernel saw a full queue on Port.
	SynFlood EventKind = "syn flood"
	// Faulted: a program did what the CPU or the kernel ends: PID, Comm, Reason
	// ("segfault"), Frame (the library or program in which it was).
	Faulted EventKind = "faulted"
)

// Of a server.
const (
	ServerStarted    EventKind = "server started"     // Version, PID
	Listening        EventKind = "listening"          // Address, Port
	ServerStopping   EventKind = "server stopping"    // Signal
	WorkerBoot       EventKind = "worker boot"        // PID
	WorkerReady      EventKind = "worker ready"       // PID
	WorkerTimeout    EventKind = "worker timeout"     // PID: the server's own limit
	WorkerSignalled  EventKind = "worker signalled"   // PID, Signal: ended by a signal
	WorkerExit       EventKind = "worker exit"        // PID, Code if told
	WorkerBootFailed EventKind = "worker boot failed" // Code 3 of gunicorn; PID
	AppLoadFailed    EventKind = "app load failed"    // the import or the config of the app
	QueueFull        EventKind = "queue full"         // Address, Queue, Limit
	RequestsQueued   EventKind = "requests queued"    // Queue: inside the server, behind its workers
	QueuedAtProxy    EventKind = "queued at proxy"    // Queue: ahead of it; Elapsed if told; Reason where it was given up
	PoolAtLimit      EventKind = "pool at limit"      // App (pool), Limit
	PoolState        EventKind = "pool state"         // App (pool), Active, Idle
	UpstreamRefused  EventKind = "upstream refused"   // proxy: Address, Code (errno)
	ConnectRetried   EventKind = "connect retried"    // proxy: Address; Counter, the attempts before it was let in
	UpstreamBusy     EventKind = "upstream busy"      // proxy: EAGAIN on a unix socket; Address, Code
	UpstreamTimeout  EventKind = "upstream timeout"   // proxy: Address
	UpstreamClosed   EventKind = "upstream closed"    // proxy: Address
	NoUpstream       EventKind = "no live upstream"   // proxy: Address
	AddressInUse     EventKind = "address in use"     // Address
	LoopBlocked      EventKind = "loop blocked"       // Elapsed, Limit and Comm (the thread) if told
	ClientTimeout    EventKind = "client timeout"     // a client library timed out: Elapsed, Limit
	AppProgress      EventKind = "app progress"       // a line of the app's own, first and last are kept
	SlowRequest      EventKind = "slow request"       // Path; Elapsed and Frame if told
	AppError         EventKind = "app error"          // a line that names an error or an exception
)

// Of a platform.
const (
	StartWaiting     EventKind = "start waiting"     // Elapsed
	StartTimeout     EventKind = "start timeout"     // Elapsed, Limit if told
	PingFailed       EventKind = "ping failed"       // Port
	ContainerStarted EventKind = "container started" // Elapsed if told
	ContainerExited  EventKind = "container exited"  // Code or Signal if told; Elapsed since its start if told; a unit's result as Reason, with Limit
	ContainerKilled  EventKind = "container killed"  // Reason, Probe
	ContainerCreated EventKind = "container created" // Port if told
	ContainerStopped EventKind = "container stopped" // Reason
	ContainerReady   EventKind = "container ready"   // it answered the ping
	ProbeFailed      EventKind = "probe failed"      // Probe, Reason, Code, Times
	BackOff          EventKind = "back-off"          // Times
	PodOOMKilled     EventKind = "container oom killed"
	ScheduleFailed   EventKind = "not scheduled" // Reason
	NodeShort        EventKind = "node short of memory"
	NodeEnough       EventKind = "node has memory"
	Evicted          EventKind = "evicted" // Reason
	PullFailed       EventKind = "image pull failed"
	PlatformNote     EventKind = "platform note" // anything else of level warning or error
)

// EventsOf returns the events of some kinds, in the order of the case.
func (c *Case) EventsOf(kinds ...EventKind) []*Event {
	var found []*Event
	for i := range c.Events {
		if slices.Contains(kinds, c.Events[i].Kind) {
			found = append(found, &c.Events[i])
		}
	}
	return found
}

// Log is what a log was and what time it covers.
type Log struct {
	File   string
	As     string // "gunicorn", "nginx error" …
	Origin Origin
	App    string
	// Version is the server's, where the log tells.
	Version string
	Workers Value     // how many the server has by its own account
	From    time.Time // zero where lines carry no time
	To      time.Time
	Lines   int // all lines, understood or not
	// Uptime is the kernel's own time of the last line that has one, in s since
	// the boot.
	Uptime Value
	// Silence is the longest time between two lines that follow each other,
	// and SilenceAt when it began.
	Silence   Value // s
	SilenceAt time.Time
	// Garbled counts lines that two writers wrote into each other.
	Garbled int
}

// LogOf returns the first log of a format, nil if there is none.
func (c *Case) LogOf(as string) *Log {
	for i := range c.Logs {
		if c.Logs[i].As == as {
			return &c.Logs[i]
		}
	}
	return nil
}
