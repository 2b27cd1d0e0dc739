package measure

import (
	"context"

	"brink/internal/record"
	"brink/internal/wire"
)

// TimelinePoint is one reading of the plan. Sizes are in units of 2^20 bytes,
// CPU and pressure in percent over the time since the reading before. What
// could not be read is -1.
type TimelinePoint struct {
	// T is in seconds since the repetition's first deployment.
	T float64
	// Anon, File, Slab, Other and Free add up to MemTotal: AnonPages; Cached and
	// Buffers without Shmem; Slab; what is left; MemFree.
	Anon, File, Slab, Other, Free float64
	SwapUsed                      float64
	PSISome, PSIFull              float64
	AppsCPU, PlatformCPU          float64
	KswapdCPU                     float64
}

// Timeline reads what happened to the plan in one repetition of a step, from
// its first deployment to its end.
func (t *Table) Timeline(ctx context.Context, r *record.Reader, step string, rep RepetitionInfo) ([]TimelinePoint, error) {
	info, _ := t.Step(step)
	from := rep.StartedNs
	for _, e := range rep.Events {
		if e.Kind == wire.Deployed {
			from = e.AtNs
			break
		}
	}
	cpus := t.cpus(info.Step)
	var out []TimelinePoint
	var last *record.Sample
	for s, err := range r.Samples(ctx, rep.ID) {
		if err != nil {
			return nil, err
		}
		if s.App != "" || s.AtNs < from || rep.EndedNs > 0 && s.AtNs > rep.EndedNs {
			continue
		}
		out = append(out, timelinePoint(s, last, from, cpus))
		kept := *s
		last = &kept
	}
	return out, nil
}

func timelinePoint(s, last *record.Sample, from int64, cpus int) TimelinePoint {
	p := TimelinePoint{T: float64(s.AtNs-from) / 1e9, Anon: mib(s.AnonPages), File: -1, Slab: mib(s.Slab), Other: -1, Free: mib(s.MemFree), SwapUsed: -1,
		PSISome: -1, PSIFull: -1, AppsCPU: -1, PlatformCPU: -1, KswapdCPU: -1}
	if s.Cached >= 0 {
		p.File = mib(max(0, s.Cached+max(0, s.Buffers)-max(0, s.Shmem)))
	}
	if s.MemTotal >= 0 && p.Anon >= 0 && p.File >= 0 && p.Slab >= 0 && p.Free >= 0 {
		p.Other = max(0, mib(s.MemTotal)-p.Anon-p.File-p.Slab-p.Free)
	}
	if s.SwapTotal >= 0 && s.SwapFree >= 0 {
		p.SwapUsed = mib(s.SwapTotal - s.SwapFree)
	}
	if last == nil || s.AtNs <= last.AtNs {
		return p
	}
	span := float64(s.AtNs - last.AtNs)
	// A counter that falls was reset: nothing is known of that interval.
	share := func(before, now int64, perNs float64) float64 {
		if before < 0 || now < before {
			return -1
		}
		return 100 * float64(now-before) * perNs / span
	}
	const µs = 1000
	p.PSISome, p.PSIFull = share(last.PSIMemSome, s.PSIMemSome, µs), share(last.PSIMemFull, s.PSIMemFull, µs)
	if cpus > 0 {
		each := 1 / float64(cpus)
		p.AppsCPU, p.PlatformCPU, p.KswapdCPU = share(last.CPUNs, s.CPUNs, each), share(last.PlatformCPUNs, s.PlatformCPUNs, each), share(last.KswapdCPUNs, s.KswapdCPUNs, each)
	}
	return p
}

// mib is a number of bytes in units of 2^20, -1 where it is not known.
func mib(bytes int64) float64 {
	if bytes < 0 {
		return -1
	}
	return float64(bytes) / (1 << 20)
}
