package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"brink/internal/system"
	"brink/internal/wire"
)

// platform is what the agent does in the platform's name: the plan's limits and
// the platform's own share of it.
type platform struct {
	agent *agent
	// cgroup is the parent of the apps' and the share's; nil with the reason in
	// noCgroup.
	cgroup   *system.Group
	noCgroup error
	// tree is the share's processes, which never are the apps'.
	tree *tree

	plan atomic.Pointer[wire.Plan]

	// ctx ends when the agent does.
	ctx  context.Context
	stop context.CancelFunc

	mu       sync.Mutex
	swapped  *holder
	ballast  *holder
	cache    *holder
	inflated *holder
}

func newPlatform(a *agent, name string) *platform {
	p := &platform{agent: a, tree: newTree(a.fs)}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.cgroup, p.noCgroup = system.NewGroup(name)
	return p
}

// close ends the share. No app may run any more.
func (p *platform) close() error {
	p.stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range []*holder{p.inflated, p.cache, p.ballast, p.swapped} {
		h.end()
	}
	p.tree.scan(false) // forgets the ended
	if p.cgroup == nil {
		return nil
	}
	return p.cgroup.Remove()
}

// platformUsage returns the CPU time in ns since start and the resident bytes
// of the platform's own share of the plan, -1 without one.
func (a *agent) platformUsage(pageSize int64) (cpu, rss int64) {
	if a.platform.plan.Load() == nil {
		return -1, -1
	}
	a.platform.tree.scan(false)
	cpu, rss, _ = a.platform.tree.usage(pageSize)
	return cpu, rss
}

// share returns the prepared plan's share, an empty one without a plan.
func (p *platform) share() wire.Share {
	if plan := p.plan.Load(); plan != nil {
		return plan.Share
	}
	return wire.Share{}
}

func (p *platform) cpus() int {
	if plan := p.plan.Load(); plan != nil {
		return plan.CPUs
	}
	return 0
}

// prepare sets the plan up and says what of it holds.
func (p *platform) prepare(plan wire.Plan) ([]wire.Limit, error) {
	if err := checkPlan(plan); err != nil {
		return nil, &wire.Fault{Kind: wire.BadRequest, Text: err.Error()}
	}
	if len(p.agent.list()) > 0 || !p.plan.CompareAndSwap(nil, &plan) {
		return nil, &wire.Fault{Kind: wire.BadRequest, Text: "a plan is prepared once, before the first app is deployed"}
	}
	limits, err := p.limits(plan)
	if err != nil {
		return nil, err
	}
	if err := p.checkRoom(plan); err != nil {
		return nil, err
	}
	share, err := p.setUpShare(plan.Share)
	return append(limits, share...), err
}

func checkPlan(plan wire.Plan) error {
	s := plan.Share
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"cpus", int64(plan.CPUs)}, {"memory", int64(plan.MemoryMB)}, {"swap", int64(plan.SwapMB)},
		{"ballast", int64(s.BallastMB)}, {"hot ballast", int64(s.HotMB)}, {"interval of the ballast", s.HotEveryNs}, {"share in swap", int64(s.SwappedMB)},
		{"sidecar", int64(s.SidecarMB)}, {"hot sidecar", int64(s.SidecarHotMB)},
		{"cache", int64(s.CacheMB)}, {"interval of the cache", s.CacheEveryNs},
	} {
		if n.value < 0 {
			return fmt.Errorf("the plan's %s is %d; it cannot be negative", n.name, n.value)
		}
	}
	if s.HotMB > s.BallastMB || s.SidecarHotMB > s.SidecarMB {
		return errors.New("more of the platform's share is hot than there is of it")
	}
	return nil
}

// checkRoom refuses a share that cannot fit, before it takes the machine down.
func (p *platform) checkRoom(plan wire.Plan) error {
	m, err := p.agent.fs.Meminfo()
	if err != nil {
		return err
	}
	room := int64(m.MemAvailable.Value+m.SwapFree.Value) >> 20
	where := "memory and swap that are free here"
	if limit := int64(plan.MemoryMB + plan.SwapMB); !plan.Whole && plan.MemoryMB > 0 && p.cgroup != nil && limit < room {
		room, where = limit, "memory and swap of the plan"
	}
	if need := int64(plan.Share.BallastMB); need > room {
		return &wire.Fault{Kind: wire.NoRoom, Text: fmt.Sprintf("the platform's share needs %d MB, more than the %d MB of %s", need, room, where)}
	}
	if free := int64(m.SwapFree.Value) >> 20; int64(plan.Share.SwappedMB) > free {
		return &wire.Fault{Kind: wire.NoRoom, Text: fmt.Sprintf("%d MB of the platform's share are to be in swap, and %d MB of swap are free here", plan.Share.SwappedMB, free)}
	}
	dir := p.cacheDir(plan.Share)
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return &wire.Fault{Kind: wire.BadRequest, Text: fmt.Sprintf("the directory of the page cache's file, %s: %s", dir, err)}
	}
	if free := int64(st.Bavail) * st.Bsize >> 20; int64(plan.Share.CacheMB) > free {
		return &wire.Fault{Kind: wire.NoRoom, Text: fmt.Sprintf("the page cache's file needs %d MB; %s has %d MB free", plan.Share.CacheMB, dir, free)}
	}
	return nil
}

func (p *platform) cacheDir(s wire.Share) string {
	if s.CacheDir != "" {
		return s.CacheDir
	}
	return p.agent.opts.Dir
}

// setUpShare puts into swap what is to be there while memory is still free, then
// starts ballast and cache at once, and returns when both are filled.
func (p *platform) setUpShare(s wire.Share) ([]wire.Limit, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []wire.Limit
	if s.SwappedMB > 0 {
		l, err := p.putOut(s.SwappedMB)
		if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	var ballastErr, cacheErr error
	var both sync.WaitGroup
	if s.BallastMB > 0 {
		both.Go(func() {
			p.ballast, ballastErr = p.hold("ballast", system.Holding{MB: s.BallastMB, Hot: s.HotMB, Every: time.Duration(s.HotEveryNs)})
		})
	}
	if s.CacheMB > 0 {
		both.Go(func() {
			p.cache, cacheErr = p.hold("cache", system.Holding{MB: s.CacheMB, Hot: s.CacheMB, Every: time.Duration(s.CacheEveryNs), Dir: p.cacheDir(s)})
		})
	}
	both.Wait()
	if err := errors.Join(ballastErr, cacheErr); err != nil {
		return nil, err
	}
	if p.ballast != nil {
		list = append(list, p.ballast.limit("ballast", touched(s.BallastMB, s.HotMB, s.HotEveryNs), "anonymous memory of a process of brink's own"))
	}
	if p.cache != nil {
		list = append(list, p.cache.limit("page cache", touched(s.CacheMB, s.CacheMB, s.CacheEveryNs), "a file in "+p.cacheDir(s)+", mapped by a process of brink's own"))
	}
	if s.SidecarMB > 0 {
		list = append(list, wire.Limit{
			Name: "sidecar", Wanted: "per app " + touched(s.SidecarMB, s.SidecarHotMB, s.HotEveryNs), Applied: true,
			How: "anonymous memory of a process of brink's own, started, restarted and ended with each app" + protection(canProtect()) + p.whereShare(),
		})
	}
	return list, nil
}

func touched(mb, hot int, every int64) string {
	text := strconv.Itoa(mb) + " MB"
	if hot > 0 && every > 0 {
		text += fmt.Sprintf(", %d MB of it touched every %s", hot, time.Duration(every))
	}
	return text
}

func protection(protected bool) string {
	if protected {
		return fmt.Sprintf(", the OOM killer's last choice (oom_score_adj %d)", system.OOMScore)
	}
	return ", which this user may not protect from the OOM killer"
}

func (p *platform) whereShare() string {
	if p.cgroup == nil {
		return "; its CPU time is told from the apps' by process"
	}
	return "; in a cgroup of its own"
}

func (h *holder) limit(name, wanted, what string) wire.Limit {
	return wire.Limit{Name: name, Wanted: wanted, Applied: true, How: what + protection(h.protected()) + h.platform.whereShare()}
}

// canProtect tells whether this process may lower an oom_score_adj, which takes
// CAP_SYS_RESOURCE (capabilities(7)).
func canProtect() bool { return system.HasCapability(unix.CAP_SYS_RESOURCE) }

// platformCapabilities are what the agent can do in the platform's name.
func (a *agent) platformCapabilities() []wire.Capability {
	var list []wire.Capability
	if a.platform.cgroup != nil {
		list = append(list, wire.Cgroup2)
	}
	if system.CanContain() == nil {
		list = append(list, wire.Containers)
	}
	if canProtect() {
		list = append(list, wire.SharedPlan)
	}
	return list
}

// protected reads whether the process is the OOM killer's last choice.
func (h *holder) protected() bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(h.cmd.Process.Pid) + "/oom_score_adj")
	return err == nil && strings.TrimSpace(string(b)) == strconv.Itoa(system.OOMScore)
}
