// Package wire is what lab and agent say to each other. It holds the
// messages and their framing; neither side knows more of the other.
package wire

// Version is the protocol version that both sides state at hello. Sides of
// different versions refuse each other.
const Version = 2

// DeployMode is how an app is deployed.
type DeployMode string

// The deploy modes. An App without one is a zip.
const (
	// Zip: processes under the platform, without a limit of their own.
	Zip DeployMode = "zip"
	// Container: an OCI container with a cgroup of its own.
	Container DeployMode = "container"
)

// App describes one program that the agent starts and supervises.
type App struct {
	Name    string     `json:"name"`
	Mode    DeployMode `json:"mode,omitempty"`
	Runtime string     `json:"runtime"`
	Command []string   `json:"command,omitempty"`
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
	// MemoryLimitMB is the memory.max of a container in units of 2^20 bytes; 0
	// sets none. A zip has no limit of its own.
	MemoryLimitMB int `json:"memory_limit_mb,omitempty"`
	// Build makes the agent build the app before each first start: a virtual
	// environment, byte-compilation and an extension in C.
	Build bool `json:"build,omitempty"`
	// Addr is host:port to listen on; port 0 lets the agent choose.
	Addr string `json:"addr"`
	// StartLimitNs bounds the time from started to healthy; 0 means 30 s, with
	// a Policy 230 s.
	StartLimitNs int64 `json:"start_limit_ns"`
	// CPUs is the plan's CPU count, applied by affinity; 0 leaves it alone.
	CPUs int `json:"cpus,omitempty"`
	// Policy is how a platform treats the app. Without one the first start is
	// tried once, and an app that exits later is restarted three times.
	Policy *Policy `json:"policy,omitempty"`
}

// Policy is what a platform does with an app that is slow to start or exits.
// Under a policy a start that fails is tried again as well, and Deploy answers
// when the app is healthy or has been given up.
type Policy struct {
	// PingEveryNs is the pause between two requests for /health while the app
	// starts, PingTimeoutNs the time that one may take, both at least 1 ms; 0
	// means 20 ms growing to 250 ms, and 5 s.
	PingEveryNs   int64 `json:"ping_every_ns,omitempty"`
	PingTimeoutNs int64 `json:"ping_timeout_ns,omitempty"`
	// BackOffNs is the pause before the first restart. It doubles with each
	// further one, up to 5 min or to BackOffNs if that is longer.
	BackOffNs int64 `json:"back_off_ns"`
	// Restarts is how often the app is restarted before it is given up.
	Restarts int `json:"restarts"`
}

// Plan is the capacity that the apps of a session share, and what of it the
// platform keeps for itself.
type Plan struct {
	CPUs     int `json:"cpus,omitempty"`
	MemoryMB int `json:"memory_mb,omitempty"`
	SwapMB   int `json:"swap_mb,omitempty"`
	// Whole says that the machine carries nothing but the plan: what it has is
	// the limit, and its swap may be emptied. Otherwise the agent limits the
	// apps and the share together by a cgroup, where it can.
	Whole bool  `json:"whole,omitempty"`
	Share Share `json:"share"`
}

// Share is what the platform itself uses of a plan. Sizes are in units of 2^20
// bytes; an interval of 0 leaves memory alone once it is filled.
type Share struct {
	// BallastMB is the platform's anonymous memory, of which HotMB is touched
	// every HotEveryNs.
	BallastMB  int   `json:"ballast_mb,omitempty"`
	HotMB      int   `json:"hot_mb,omitempty"`
	HotEveryNs int64 `json:"hot_every_ns,omitempty"`
	// SwappedMB is further anonymous memory that is in swap from the beginning.
	SwappedMB int `json:"swapped_mb,omitempty"`
	// SidecarMB is the anonymous memory of the companion that starts, restarts
	// and ends with each app; SidecarHotMB of it are touched every HotEveryNs.
	SidecarMB    int `json:"sidecar_mb,omitempty"`
	SidecarHotMB int `json:"sidecar_hot_mb,omitempty"`
	// CacheMB is a file that is mapped and touched every CacheEveryNs. It is
	// made in CacheDir, by default the run directory.
	CacheMB      int    `json:"cache_mb,omitempty"`
	CacheEveryNs int64  `json:"cache_every_ns,omitempty"`
	CacheDir     string `json:"cache_dir,omitempty"`
}

// Limit is one part of a plan and whether it holds on the agent's machine.
type Limit struct {
	Name    string `json:"name"`
	Wanted  string `json:"wanted"`
	Applied bool   `json:"applied"`
	// How says by what means it is applied, or why it is not.
	How string `json:"how"`
}

// EventKind is something that happened to an app.
type EventKind string

// The kinds of event. Exited and OOMKilled carry Code or Signal; a worker's
// events carry its pid. Deployed carries Addr. OOMKilled precedes the Exited or
// WorkerKilled of a process that the kernel killed for want of memory.
// BuildDone carries the build's exit code.
const (
	Deployed     EventKind = "deployed"
	BuildStarted EventKind = "build_started"
	BuildDone    EventKind = "build_done"
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
	// Addr is where the app will answer once it is healthy.
	Addr string `json:"addr,omitempty"`
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
