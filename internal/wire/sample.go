package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

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

// sampleNumbers is how many numbers a Sample carries.
const sampleNumbers = 37

// numbers lists the sample's numbers in the order in which they travel.
func (s *Sample) numbers() [sampleNumbers]*int64 {
	return [sampleNumbers]*int64{
		&s.AtNs, &s.CPUNs, &s.BusyNs, &s.RSS, &s.Procs,
		&s.QueueDepth, &s.QueueLimit, &s.OldestMs, &s.Abandoned, &s.Overflows, &s.ListenDrops,
		&s.MemTotal, &s.MemAvailable, &s.MemFree, &s.Cached, &s.AnonPages, &s.Slab,
		&s.SwapTotal, &s.SwapFree,
		&s.PgscanKswapd, &s.PgscanDirect, &s.PgstealKswapd, &s.PgstealDirect,
		&s.Pswpin, &s.Pswpout, &s.Allocstall, &s.Pgmajfault, &s.RefaultAnon, &s.RefaultFile,
		&s.OOMKills,
		&s.PSICPUSome, &s.PSIMemSome, &s.PSIMemFull, &s.PSIIOSome, &s.PSIIOFull,
		&s.AgentCPUNs, &s.AgentRSS,
	}
}

// Clear makes every number of the sample unreadable (-1) and forgets its
// scope.
func (s *Sample) Clear() {
	s.App = ""
	for _, n := range s.numbers() {
		*n = -1
	}
}

// appendSample appends the scope's name and the numbers as varints.
func appendSample(b []byte, s *Sample) []byte {
	b = binary.AppendUvarint(b, uint64(len(s.App)))
	b = append(b, s.App...)
	for _, n := range s.numbers() {
		b = binary.AppendVarint(b, *n)
	}
	return b
}

var errSampleShort = errors.New("it ends too early")

// decodeSample is the inverse of appendSample. It keeps s.App when the name
// is the same as before, so that a stream of one scope allocates nothing.
func decodeSample(b []byte, s *Sample) error {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return errSampleShort
	}
	if name := b[n : n+int(size)]; string(name) != s.App {
		s.App = string(name)
	}
	b = b[n+int(size):]
	for _, p := range s.numbers() {
		v, n := binary.Varint(b)
		if n <= 0 {
			return errSampleShort
		}
		*p, b = v, b[n:]
	}
	if len(b) != 0 {
		return fmt.Errorf("%d bytes follow it", len(b))
	}
	return nil
}
