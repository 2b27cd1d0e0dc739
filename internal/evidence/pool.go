package evidence

import "time"

// Pool is a pool of workers as something counted it, at one instant or over
// the stretch that a [Reading] pair spans. It stands in case.json of a bundle, and
// docs/evidence.md describes its fields there.
type Pool struct {
	Name   string `json:"name,omitempty"`   // of the app, pool or program, where told
	Server string `json:"server,omitempty"` // gunicorn sync, uwsgi, php-fpm, Puma, Tomcat, .NET ThreadPool …
	// Seen says who counted.
	Seen PoolView  `json:"seen,omitempty"`
	At   time.Time `json:"at,omitzero"`
	From Source    `json:"from,omitzero"`

	Workers Value `json:"workers,omitzero"` // requests that can be served at once
	Busy    Value `json:"busy,omitzero"`
	Idle    Value `json:"idle,omitzero"`
	Queued  Value `json:"queued,omitzero"` // requests that wait for a worker
	Max     Value `json:"max,omitzero"`    // the most workers that the settings allow
	Min     Value `json:"min,omitzero"`    // .NET: threads beyond it are added slowly
	// BusyAtLeast is what is certain when Busy is not.
	BusyAtLeast Value `json:"busy_at_least,omitzero"`

	// Of the live gauge, over its readings.
	PID         int    `json:"pid,omitempty"`
	Cgroup      string `json:"cgroup,omitempty"`      // path
	CPU         Value  `json:"cpu,omitzero"`          // CPUs in use
	RSS         Value  `json:"rss,omitzero"`          // bytes, shared pages counted in each process
	Service     Value  `json:"service,omitzero"`      // s that a worker holds a request
	Rate        Value  `json:"rate,omitzero"`         // requests/s
	BusyShare   Value  `json:"busy_share,omitzero"`   // mean share of the workers that were busy, %
	QueuedShare Value  `json:"queued_share,omitzero"` // share of the readings with something queued, %
	Oldest      Value  `json:"oldest,omitzero"`       // s that the longest waiting connection has waited
	Abandoned   Value  `json:"abandoned,omitzero"`    // queued connections that their client has closed
	// Replaced is how many worker processes ended between the looks with another
	// in their place, LivedLeast and LivedMost how long those lived, in s, and
	// Stayed how many of the first look were there at the last.
	Replaced   Value `json:"replaced,omitzero"`
	LivedLeast Value `json:"lived_least,omitzero"`
	LivedMost  Value `json:"lived_most,omitzero"`
	Stayed     Value `json:"stayed,omitzero"`

	Looks   int        `json:"looks,omitempty"` // readings of the gauge behind the shares
	Sockets []Listener `json:"sockets,omitempty"`
	// Waits are what busy workers wait on, by the far end's address; the empty
	// address stands for none that can be named.
	Waits []Wait `json:"waits,omitempty"`
	// Note is what cannot be told of this kind of server.
	Note string `json:"note,omitempty"`

	Members []Member `json:"members,omitempty"`
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
	Name  string `json:"name,omitempty"`
	PID   int    `json:"pid,omitempty"`
	State string `json:"state,omitempty"` // busy, idle, unknown; R, S, D where only that is known
	// RunState is that of the main thread as in proc_pid_stat(5): T is stopped.
	RunState string `json:"run_state,omitempty"`
	Queued   Value  `json:"queued,omitzero"`
	Free     Value  `json:"free,omitzero"` // how many more requests it takes
	Max      Value  `json:"max,omitzero"`
	RSS      Value  `json:"rss,omitzero"` // bytes
	From     Source `json:"from,omitzero"`
}

// Wait is how many workers wait on one far end.
type Wait struct {
	Peer    string `json:"peer,omitempty"`
	Call    string `json:"call,omitempty"`
	Workers int    `json:"workers,omitempty"`
	Sure    bool   `json:"sure,omitempty"` // the system call names the connection
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
