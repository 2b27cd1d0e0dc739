package experiment

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"brink/internal/phrase"
)

// defaultStagger is the time from one app to the next under start: staggered.
const defaultStagger = Duration(30 * time.Second)

// Plan is the capacity that apps share. Plans can be compared with ==.
type Plan struct {
	// Size is B1, B2 or B3, or empty; CPUs, MemoryMB and SwapMB hold what it
	// stands for, unless the file writes them itself.
	Size string `json:"size,omitempty"`
	// CPUs is the number of CPUs that apps may use, 1 to 256; 0 leaves them
	// unlimited.
	CPUs int `json:"cpus,omitempty"`
	// MemoryMB and SwapMB are in units of 2^20 bytes; 0 leaves them unlimited.
	MemoryMB int `json:"memory_mb,omitempty"`
	SwapMB   int `json:"swap_mb,omitempty"`
	// SwapIOPS and SwapMBs bound what the swap disk does in a second, in
	// operations and in units of 2^20 bytes; 0 does not.
	SwapIOPS int     `json:"swap_iops,omitempty"`
	SwapMBs  float64 `json:"swap_mb_s,omitempty"`
	// Share is the platform's own use of the plan.
	Share Share `json:"share,omitzero"`
	// Platform is how apps are looked after; the zero value is no platform.
	Platform Platform `json:"platform,omitzero"`
}

// Share is what the platform itself uses of a plan, beside the apps. Sizes are
// in units of 2^20 bytes.
type Share struct {
	// BallastMB is anonymous memory; HotMB of it are touched every HotEvery.
	BallastMB int      `json:"ballast_mb,omitempty"`
	HotMB     int      `json:"hot_mb,omitempty"`
	HotEvery  Duration `json:"hot_every,omitempty"`
	// SwappedMB is further anonymous memory that is in swap from the beginning
	// and is never needed.
	SwappedMB int `json:"swapped_mb,omitempty"`
	// SidecarMB is the anonymous memory of the companion that comes and goes
	// with each app; SidecarHotMB of it are touched every HotEvery.
	SidecarMB    int `json:"sidecar_mb,omitempty"`
	SidecarHotMB int `json:"sidecar_hot_mb,omitempty"`
	// CacheMB is a mapped file whose pages are touched every CacheEvery.
	CacheMB    int      `json:"cache_mb,omitempty"`
	CacheEvery Duration `json:"cache_every,omitempty"`
}

// Platform is how apps are looked after: pinged until they answer, restarted
// when they exit or miss the start limit, and given up in the end.
type Platform struct {
	PingEvery   Duration `json:"ping_every,omitempty"`
	PingTimeout Duration `json:"ping_timeout,omitempty"`
	// StartLimit is the longest time from started to healthy, for apps that
	// write none of their own.
	StartLimit Duration `json:"start_limit,omitempty"`
	// Backoff is the pause before the first restart. It doubles with each
	// further one.
	Backoff Duration `json:"backoff,omitempty"`
	// Restarts is how often an app is restarted before it is given up.
	Restarts int `json:"restarts,omitempty"`
	// FrontEnd puts a front end before the apps, which routes by host name and
	// holds requests to an app that starts for at most Hold.
	FrontEnd bool     `json:"front_end,omitempty"`
	Hold     Duration `json:"hold,omitempty"`
}

// Pressure is memory that is held beside the apps while a step's traffic runs.
type Pressure struct {
	// MB is in units of 2^20 bytes, all of them touched every Every.
	MB    int      `json:"mb,omitempty"`
	Every Duration `json:"every,omitempty"`
}

// sizes are the plans of App Service's Basic tier: vCPUs, MemTotal as Linux
// reports it, and swap. B1 is as the published experiment found it; B2 and B3
// have twice and four times as much.
var sizes = map[string]Plan{
	"B1": {CPUs: 1, MemoryMB: 1855, SwapMB: 2048},
	"B2": {CPUs: 2, MemoryMB: 3710, SwapMB: 4096},
	"B3": {CPUs: 4, MemoryMB: 7420, SwapMB: 8192},
}

// sized fills in what the plan's size stands for and the file does not write.
func (p *Plan) sized(n *node) {
	size, ok := sizes[p.Size]
	if !ok {
		return
	}
	for field, values := range map[string][2]*int{
		"cpus": {&p.CPUs, &size.CPUs}, "memory_mb": {&p.MemoryMB, &size.MemoryMB}, "swap_mb": {&p.SwapMB, &size.SwapMB},
	} {
		if n.get(field) == nil {
			*values[0] = *values[1]
		}
	}
}

// parts of a plan whose fields a step changes one by one.
var planParts = []string{"platform", "share"}

// mergedPlan is the experiment's plan with a step's fields put over it.
func mergedPlan(base, over *node) *node {
	m := merged(base, over)
	if base == nil || over == nil || m == over {
		return m
	}
	for _, part := range planParts {
		if a, b := base.get(part), over.get(part); a != nil && b != nil && a.kind == mapping && b.kind == mapping {
			m.set(part, merged(a, b))
		}
	}
	return m
}

// plan checks what the fields of a step's plan say together.
func (x *expander) plan(s *Step, n *node) {
	p := &s.Plan
	p.sized(n)
	if n == nil {
		return
	}
	for field, slow := range map[string]bool{"swap_iops": p.SwapIOPS > 0, "swap_mb_s": p.SwapMBs > 0} {
		if slow && p.SwapMB == 0 {
			x.about(n, field, "slows swap down, and the plan has none of its own; write swap_mb or size")
		}
	}
	x.share(p, n)
	if front := n.get("platform"); front.get("hold") != nil && !p.Platform.FrontEnd {
		x.about(front, "hold", "belongs to a front end, and front_end is false")
	}
}

func (x *expander) share(p *Plan, n *node) {
	at := n.get("share")
	if at == nil {
		return
	}
	s := p.Share
	if s.HotMB > s.BallastMB {
		x.about(at, "hot_mb", "%d MB of a ballast of %d MB cannot be hot; write at most ballast_mb", s.HotMB, s.BallastMB)
	}
	if s.SidecarHotMB > s.SidecarMB {
		x.about(at, "sidecar_hot_mb", "%d MB of a sidecar of %d MB cannot be hot; write at most sidecar_mb", s.SidecarHotMB, s.SidecarMB)
	}
	if s.SwappedMB > 0 && s.SwappedMB >= p.SwapMB {
		x.about(at, "swapped_mb", "%d MB are to be in swap from the beginning, and the plan has %d MB of swap; write less than that", s.SwappedMB, p.SwapMB)
	}
	switch own := s.BallastMB + s.CacheMB; {
	case p.MemoryMB == 0:
		x.at(at, "takes memory of a plan that does not limit it; write memory_mb or size")
	case own >= p.MemoryMB:
		x.at(at, "ballast and cache take %d MB, and the plan has %d MB of memory; leave room for the apps", own, p.MemoryMB)
	}
}

// fits checks that what a step asks for can be held at all: what is beyond
// memory and swap together ends in the OOM killer, whatever the apps do.
func (x *expander) fits(s *Step, n *node) {
	p := s.Plan
	if s.Pressure.MB == 0 {
		s.Pressure = Pressure{}
	}
	if s.Pressure.MB > 0 && p.MemoryMB == 0 {
		x.about(n, "pressure", "takes memory of a plan that does not limit it; write memory_mb or size in the plan")
	}
	if p.MemoryMB == 0 || p.SwapMB == 0 {
		return
	}
	wanted := p.Share.BallastMB + p.Share.SwappedMB + p.Share.SidecarMB*len(s.Apps) + s.Pressure.MB
	for _, a := range s.Apps {
		wanted += a.Workers * a.AllocMB
	}
	if wanted > p.MemoryMB+p.SwapMB {
		x.about(n, "apps", "apps, the platform's share and pressure of step %s take %d MB, and the plan has %d MB of memory and %d MB of swap", s.Name, wanted, p.MemoryMB, p.SwapMB)
	}
}

// starting checks how a step's apps are started, and fills in the default that
// depends on it.
func (x *expander) starting(s *Step, n *node) {
	switch stagger := n.get("stagger"); {
	case s.Start == "staggered" && stagger == nil:
		s.Stagger = defaultStagger.times(x.scale)
	case s.Start != "staggered" && stagger != nil:
		x.about(n, "stagger", "belongs to start: staggered")
	}
}

var sizeNames = slices.Sorted(maps.Keys(sizes))

// Text says the plan in a few words, such as "B1: 1 CPU, 1855 MB, 2048 MB of
// swap".
func (p Plan) Text() string {
	text := "CPUs unlimited"
	if p.CPUs > 0 {
		text = phrase.Plural(p.CPUs, "CPU")
	}
	if p.MemoryMB > 0 {
		text += fmt.Sprintf(", %d MB", p.MemoryMB)
	}
	if p.SwapMB > 0 {
		text += fmt.Sprintf(", %d MB of swap", p.SwapMB)
	}
	if p.Size != "" {
		text = p.Size + ": " + text
	}
	return text
}
