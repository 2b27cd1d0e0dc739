package evidence

import (
	"reflect"
	"time"

	"brink/internal/record"
)

// sampleNames are the numbers of a sample that the kernel calls otherwise.
var sampleNames = map[string]string{
	"RefaultAnon": "WorkingsetRefaultAnon", "RefaultFile": "WorkingsetRefaultFile", "OOMKills": "OOMKill",
	"PgpgIn": "Pgpgin", "PgpgOut": "Pgpgout", "PgfaultAll": "Pgfault", "ListenDrops": "ListenDrops", "Overflows": "ListenOverflows",
}

// sampleValue makes a value of a number of a sample, where -1 is unreadable.
func sampleValue(n int64, unit Unit, from Source) Value {
	if n < 0 {
		return Missing(Absent, "the run could not read it", from)
	}
	return Known(float64(n), unit, from)
}

// fillSample sets the Values of dst that a sample has.
func fillSample(dst any, s *record.Sample, file string, unit Unit) {
	to, from := reflect.ValueOf(dst).Elem(), reflect.ValueOf(s).Elem()
	for i := range from.NumField() {
		name := from.Type().Field(i).Name
		if other, ok := sampleNames[name]; ok {
			name = other
		}
		field, ok := to.Type().FieldByName(name)
		if !ok || field.Type != reflect.TypeFor[Value]() || from.Field(i).Kind() != reflect.Int64 {
			continue
		}
		u := unit
		if tag, ok := field.Tag.Lookup("unit"); ok {
			u = Unit(tag)
		}
		at := Source{File: file, Field: "samples." + from.Type().Field(i).Tag.Get("json")}
		to.FieldByIndex(field.Index).Set(reflect.ValueOf(sampleValue(from.Field(i).Int(), u, at)))
	}
}

// readingOfSample makes a reading of a sample of the plan.
func readingOfSample(s *record.Sample, file string) Reading {
	at := time.Unix(0, s.AtNs).UTC()
	r := Reading{Name: at.Format("15:04:05.000"), At: at, AtFrom: Source{File: file, Field: "samples.at_ns"}, View: ViewMachine}
	fillSample(&r.Meminfo, s, file, Bytes)
	fillSample(&r.Vmstat, s, file, Pages)
	fillSample(&r.Netstat, s, file, Events)
	value := func(n int64, unit Unit, column string) Value {
		return sampleValue(n, unit, Source{File: file, Field: "samples." + column})
	}
	seconds := func(n int64, column string) Value { return value(n, Seconds, column).Times(1e-9, Seconds) }
	total := func(n int64, column string) Stall {
		none := Missing(Absent, "a run keeps totals only", Source{File: file, Field: "samples." + column})
		return Stall{Avg10: none, Avg60: none, Avg300: none, Total: value(n, Micros, column)}
	}
	r.PSI.CPU.Some = total(s.PSICPUSome, "psi_cpu_some")
	r.PSI.Memory.Some, r.PSI.Memory.Full = total(s.PSIMemSome, "psi_mem_some"), total(s.PSIMemFull, "psi_mem_full")
	r.PSI.IO.Some, r.PSI.IO.Full = total(s.PSIIOSome, "psi_io_some"), total(s.PSIIOFull, "psi_io_full")
	r.CPU.User, r.CPU.System = seconds(s.UserNs, "user_ns"), seconds(s.SystemNs, "system_ns")
	r.CPU.IOWait, r.CPU.Steal = seconds(s.IOWaitNs, "iowait_ns"), seconds(s.StealNs, "steal_ns")
	r.KswapdTime = seconds(s.KswapdCPUNs, "kswapd_cpu_ns")
	r.SwapDisk = DiskIO{
		Name: "the disks that hold swap", Reads: value(s.DiskReads, Events, "disk_reads"), Writes: value(s.DiskWrites, Events, "disk_writes"),
		ReadBytes: value(s.DiskReadBytes, Bytes, "disk_read_bytes"), WriteBytes: value(s.DiskWriteBytes, Bytes, "disk_write_bytes"),
		BusyMillis: value(s.DiskBusyNs, Millis, "disk_busy_ns").Times(1e-6, Millis),
	}
	return r
}

// cgroupOfSample makes a cgroup of a sample of an app, called as the app is.
func cgroupOfSample(s *record.Sample, file string) Cgroup {
	value := func(n int64, unit Unit, column string) Value {
		return sampleValue(n, unit, Source{File: file, Field: "samples." + column + " of " + s.App})
	}
	g := Cgroup{Path: s.App, Server: s.App}
	m := &g.Memory
	m.Current, m.Anon, m.File = value(s.CgMemory, Bytes, "cg_memory"), value(s.CgAnon, Bytes, "cg_anon"), value(s.CgFile, Bytes, "cg_file")
	m.Slab, m.SwapCurrent = value(s.CgSlab, Bytes, "cg_slab"), value(s.CgSwap, Bytes, "cg_swap")
	m.RefaultAnon, m.RefaultFile = value(s.CgRefaultAnon, Pages, "cg_refault_anon"), value(s.CgRefaultFile, Pages, "cg_refault_file")
	m.EventOOMKill, m.EventMax = value(s.CgOOMKills, Events, "cg_oom_kills"), value(s.CgMax, Events, "cg_max")
	g.PSI.Memory.Some.Total = value(s.CgPSIMemSome, Micros, "cg_psi_mem_some")
	g.PSI.Memory.Full.Total = value(s.CgPSIMemFull, Micros, "cg_psi_mem_full")
	g.CPU.UsageMicros = value(s.CgCPUNs, Micros, "cg_cpu_ns").Times(1e-3, Micros)
	g.CPU.ThrottledMicros = value(s.CgThrottledNs, Micros, "cg_throttled_ns").Times(1e-3, Micros)
	g.CPU.Throttled = value(s.CgThrottled, Events, "cg_throttled")
	return g
}

func listenerOfSample(s *record.Sample, address, file string) Listener {
	value := func(n int64, column string) Value {
		return sampleValue(n, Events, Source{File: file, Field: "samples." + column + " of " + s.App})
	}
	l := Listener{Address: address, Process: s.App, Queue: value(s.QueueDepth, "queue_depth"), Backlog: value(s.QueueLimit, "queue_limit"),
		Drops: value(s.ListenDrops, "listen_drops")}
	_, l.Port = hostPort(address)
	return l
}

// runPool is an app's pool over the samples of a window.
type runPool struct {
	last                        record.Sample
	first                       int64
	looks, told, queued, queues int
	busy, workers               float64
}

func (p *runPool) add(s *record.Sample) {
	if p.first == 0 {
		p.first = s.AtNs
	}
	p.last = *s
	p.looks++
	if s.Workers > 0 && s.Busy >= 0 {
		p.told++
		p.busy += float64(s.Busy)
		p.workers += float64(s.Workers)
	}
	if s.Queued >= 0 {
		p.queues++
		if s.Queued > 0 {
			p.queued++
		}
	}
}

func (p *runPool) pool(app, server, file string) Pool {
	s := &p.last
	value := func(n int64, column string) Value {
		v := sampleValue(n, Events, Source{File: file, Field: "samples." + column + " of " + app})
		if !v.Known {
			v.Why, v.Detail = CannotTell, "it cannot be told from outside"
		}
		return v
	}
	from := Source{File: file, Field: "samples of " + app}
	none := Missing(NotSeen, "a run does not keep it", from)
	pool := Pool{
		Name: app, Server: server, Seen: PoolLive, At: time.Unix(0, s.AtNs).UTC(), From: from, Cgroup: app, Looks: p.looks,
		Workers: value(s.Workers, "workers"), Busy: value(s.Busy, "busy"), Idle: value(s.Idle, "idle"), Queued: value(s.Queued, "queued"),
		Max: none, Min: none, BusyAtLeast: none, CPU: none, Service: none, Rate: none,
		RSS: sampleValue(s.RSS, Bytes, from), Abandoned: value(s.Abandoned, "abandoned"),
		Oldest:    sampleValue(s.OldestMs, Seconds, from).Times(1e-3, Seconds),
		BusyShare: value(-1, "busy"), QueuedShare: value(-1, "queued"),
	}
	if p.told > 0 {
		pool.BusyShare = Known(100*p.busy/p.workers, Percent, from)
	}
	if p.queues > 0 {
		pool.QueuedShare = Known(100*float64(p.queued)/float64(p.queues), Percent, from)
	}
	return pool
}
