package host

import (
	"net/netip"

	"brink/internal/experiment"
	"brink/internal/wire"
)

// WireApp is an app of an experiment as an agent needs it, to listen at at. The
// plan's platform says how it is looked after.
func WireApp(app experiment.App, plan experiment.Plan, at netip.Addr) wire.App {
	spec := wire.App{
		Name: app.Name, Mode: wire.DeployMode(app.Deploy), Runtime: app.Runtime, Command: app.Command,
		WorkerClass: app.WorkerClass, Workers: app.Workers, Threads: app.Threads,
		TimeoutNs: int64(app.Timeout), Backlog: app.Backlog, KeepAliveNs: int64(app.KeepAlive),
		AllocMB: app.AllocMB, Env: app.Env, MemoryLimitMB: app.MemoryLimitMB, Build: app.Build,
		Addr: netip.AddrPortFrom(at, uint16(app.Port)).String(), StartLimitNs: int64(app.StartLimit),
	}
	if p := plan.Platform; p != (experiment.Platform{}) {
		spec.Policy = &wire.Policy{
			PingEveryNs: int64(p.PingEvery), PingTimeoutNs: int64(p.PingTimeout),
			BackOffNs: int64(p.Backoff), Restarts: p.Restarts,
		}
	}
	return spec
}

// WirePlan is a plan as an agent needs it.
func WirePlan(plan experiment.Plan) wire.Plan {
	s := plan.Share
	return wire.Plan{
		CPUs: plan.CPUs, MemoryMB: plan.MemoryMB, SwapMB: plan.SwapMB,
		Share: wire.Share{
			BallastMB: s.BallastMB, HotMB: s.HotMB, HotEveryNs: int64(s.HotEvery),
			SwappedMB: s.SwappedMB, SidecarMB: s.SidecarMB, SidecarHotMB: s.SidecarHotMB,
			CacheMB: s.CacheMB, CacheEveryNs: int64(s.CacheEvery),
		},
	}
}
