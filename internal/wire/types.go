// Package wire is what lab and agent say to each other. It holds the
// messages and their framing; neither side knows more of the other.
package wire

// Version is the protocol version that both sides state at hello. Sides of
// different versions refuse each other.
const Version = 1

// App describes one program that the agent starts and supervises.
type App struct {
	Name    string   `json:"name"`
	Runtime string   `json:"runtime"`
	Command []string `json:"command,omitempty"`
	// Interpreter is the path of the program that runs the app's code, where
	// it is known; otherwise the agent looks for one that can.
	Interpreter string            `json:"interpreter,omitempty"`
	WorkerClass string            `json:"worker_class,omitempty"`
	Workers     int               `json:"workers,omitempty"`
	Threads     int               `json:"threads,omitempty"`
	TimeoutNs   int64             `json:"timeout_ns,omitempty"`
	Backlog     int               `json:"backlog,omitempty"`
	KeepAliveNs int64             `json:"keep_alive_ns,omitempty"`
	AllocMB     int               `json:"alloc_mb,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
	// Addr is host:port to listen on; port 0 lets the agent choose.
	Addr string `json:"addr"`
	// StartLimitNs bounds the time from started to healthy; 0 means 30 s.
	StartLimitNs int64 `json:"start_limit_ns"`
	// CPUs is the plan's CPU count, applied by affinity; 0 leaves it alone.
	CPUs int `json:"cpus,omitempty"`
}

// EventKind is something that happened to an app.
type EventKind string

// The kinds of event. Exited carries Code or Signal; a worker's events carry
// its pid.
const (
	Deployed     EventKind = "deployed"
	Started      EventKind = "started"
	Healthy      EventKind = "healthy"
	WorkerBooted EventKind = "worker_booted"
	WorkerReady  EventKind = "worker_ready"
	WorkerExited EventKind = "worker_exited"
	WorkerKilled EventKind = "worker_killed"
	Exited       EventKind = "exited"
	Restarted    EventKind = "restarted"
	OOMKilled    EventKind = "oom_killed"
	GaveUp       EventKind = "gave_up"
	Stopped      EventKind = "stopped"
)

// Event is one event of one app, at AtNs (Unix time, ns).
type Event struct {
	App    string    `json:"app"`
	AtNs   int64     `json:"at_ns"`
	Kind   EventKind `json:"kind"`
	Pid    int       `json:"pid,omitempty"`
	Code   *int      `json:"code,omitempty"`
	Signal int       `json:"signal,omitempty"`
	Detail string    `json:"detail,omitempty"`
}

// Log is one line that an app wrote; Stream is stdout or stderr. Lines
// longer than 8 KiB are cut, which Cut tells.
type Log struct {
	App    string `json:"app"`
	AtNs   int64  `json:"at_ns"`
	Stream string `json:"stream"`
	Line   string `json:"line"`
	Cut    bool   `json:"cut,omitempty"`
}
