package evidence

import "time"

// Pool is a pool of workers as something counted it, at one instant or over
// the stretch that a [Reading] pair spans.
type Pool struct {
	Name   string // of the app, pool or program, where told
	Server string // gunicorn sync, uwsgi, php-fpm, Puma, Tomcat, .NET ThreadPool …
	// Seen says who counted.
	Seen PoolView
	At   time.Time
	From Source

	Workers Value // requests that can be served at once
	Busy    Value
	Idle    Value
	Queued  Value // requests that wait for a worker
	Max     Value // the most workers that the settings allow
	Min     Value // .NET: threads beyond it are added slowly
	// BusyAtLeast is what is certain when Busy is not.
	BusyAtLeast Value

	// Of the live gauge, over its readings.
	PID         int
	Cgroup      string // path
	CPU         Value  // CPUs in use
	RSS         Value  // bytes, shared pages counted in each process
	Service     Value  // s that a worker holds a request
	Rate        Value  // requests/s
	BusyShare   Value  // mean share of the workers that were busy, %
	QueuedShare Value  // share of the readings with something queued, %
	Oldest      Value  // s that the longest waiting connection has waited
	Abandoned   Value  // queued connections that their client has closed
	Looks       int    // readings of the gauge behind the shares
	Sockets     []Listener
	// Waits are what busy workers wait on, by the far end's address; the empty
	// address stands for none that can be named.
	Waits []Wait
	// Note is what cannot be told of this kind of server.
	Note string

	Members []Member
}

// PoolView says who counted.
type PoolView string

// The views: from outside while it ran, by the server itself, or as a line of
// a log had it.
const (
	PoolLive  PoolView = "live"
	PoolStats PoolView = "stats"
	PoolLog   PoolView = "log"
)

// Member is one worker of a pool that tells about each.
type Member struct {
	Name   string
	PID    int
	State  string // busy, idle, unknown; R, S, D where only that is known
	Queued Value
	Free   Value // how many more requests it takes
	Max    Value
	RSS    Value // bytes
	From   Source
}

// Wait is how many workers wait on one far end.
type Wait struct {
	Peer    string
	Call    string
	Workers int
	Sure    bool // the system call names the connection
}

// Container is the state of a container as its platform tells it.
type Container struct {
	Name     string
	From     Source // File and the object's place in it
	Platform Origin
	State    string // running, waiting, terminated; as told
	Ready    Tri
	Health   string // docker: healthy, unhealthy, starting
	Reason   string // of the present state: CrashLoopBackOff …
	Message  string // what the platform says of the present state
	Restarts Value

	OOMKilled Tri // as the platform has it: No is no proof
	ExitCode  Value
	// Last is the end before the present start.
	LastReason   string
	LastExitCode Value
	LastSignal   Value
	Started      time.Time
	Finished     time.Time
	// SinceRestart is how long ago the last restart was, in s, where that is told
	// and not when.
	SinceRestart Value
	// Age is how long ago it was made, in s, where that is told and not when.
	Age Value

	MemoryLimit Value // bytes
	CPULimit    Value // CPUs
	Ports       []int
	Probes      []Probe
	QOS         string
}

// Probe is a health check as it is configured.
type Probe struct {
	Kind    string // liveness, readiness, startup
	Path    string
	Port    int
	Delay   Value // s
	Timeout Value // s
	Period  Value // s
	Failure Value // consecutive failures until it acts
	From    Source
}

// Process is one line of ps or top, or a process that was looked at.
type Process struct {
	PID   int
	Name  string
	State string // R, S, D, Z …; empty if not told
	CPU   Value  // % of one CPU
	RSS   Value  // bytes
	Swap  Value  // bytes
	From  Source
}

// addUnixListeners puts the unix sockets of live pools beside the other
// listeners of the last reading: no table of the kernel's has their queues.
func (c *Case) addUnixListeners() {
	r := c.Last()
	if r == nil {
		return
	}
	for i := range c.Pools {
		for _, k := range c.Pools[i].Sockets {
			if k.Unix && r.Listener(k.Address) == nil {
				r.Listeners = append(r.Listeners, k)
			}
		}
	}
}
