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

// Sample is one reading of one scope at one instant. The scope is the plan
// (App empty) or an app. A negative value means that the signal could not be
// read; it is never zero for that reason.
type Sample struct {
	App  string `json:"app,omitempty"`
	AtNs int64  `json:"at_ns"`

	// CPUNs is the CPU time used since start by the scope's processes, dead
	// ones included; for the plan, by all apps.
	CPUNs int64 `json:"cpu_ns"`
	// BusyNs is, for the plan, the CPU time used by the whole machine since boot
	// (/proc/stat, all but idle and iowait).
	BusyNs int64 `json:"busy_ns"`
	// RSS is the resident memory of the scope's processes in bytes.
	RSS   int64 `json:"rss"`
	Procs int64 `json:"procs"`

	// Accept queue of the app's listening socket.
	QueueDepth  int64 `json:"queue_depth"`
	QueueLimit  int64 `json:"queue_limit"`
	OldestMs    int64 `json:"oldest_ms"`
	Abandoned   int64 `json:"abandoned"`
	Overflows   int64 `json:"overflows"`
	ListenDrops int64 `json:"listen_drops"`

	// The rest belongs to the plan: /proc/meminfo in bytes, /proc/vmstat
	// counters in pages, /proc/pressure totals in µs.
	MemTotal      int64 `json:"mem_total"`
	MemAvailable  int64 `json:"mem_available"`
	MemFree       int64 `json:"mem_free"`
	Cached        int64 `json:"cached"`
	AnonPages     int64 `json:"anon_pages"`
	Slab          int64 `json:"slab"`
	SwapTotal     int64 `json:"swap_total"`
	SwapFree      int64 `json:"swap_free"`
	PgscanKswapd  int64 `json:"pgscan_kswapd"`
	PgscanDirect  int64 `json:"pgscan_direct"`
	PgstealKswapd int64 `json:"pgsteal_kswapd"`
	PgstealDirect int64 `json:"pgsteal_direct"`
	Pswpin        int64 `json:"pswpin"`
	Pswpout       int64 `json:"pswpout"`
	Allocstall    int64 `json:"allocstall"`
	Pgmajfault    int64 `json:"pgmajfault"`
	RefaultAnon   int64 `json:"refault_anon"`
	RefaultFile   int64 `json:"refault_file"`
	OOMKills      int64 `json:"oom_kills"`
	PSICPUSome    int64 `json:"psi_cpu_some"`
	PSIMemSome    int64 `json:"psi_mem_some"`
	PSIMemFull    int64 `json:"psi_mem_full"`
	PSIIOSome     int64 `json:"psi_io_some"`
	PSIIOFull     int64 `json:"psi_io_full"`
	// AgentCPUNs and AgentRSS are what the observer itself costs.
	AgentCPUNs int64 `json:"agent_cpu_ns"`
	AgentRSS   int64 `json:"agent_rss"`
}
