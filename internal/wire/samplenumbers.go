package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// SampleNumbers is how many numbers a Sample carries.
const SampleNumbers = 112

// Numbers lists the sample's numbers in the order of its fields, in which they
// travel. The first is AtNs.
func (s *Sample) Numbers() [SampleNumbers]*int64 {
	return [SampleNumbers]*int64{
		&s.AtNs, &s.CPUNs, &s.BusyNs, &s.RSS, &s.Procs, &s.QueueDepth, &s.QueueLimit, &s.OldestMs,
		&s.Abandoned, &s.Overflows, &s.ListenDrops, &s.MemTotal, &s.MemAvailable, &s.MemFree,
		&s.Cached, &s.AnonPages, &s.Slab, &s.SwapTotal, &s.SwapFree, &s.PgscanKswapd,
		&s.PgscanDirect, &s.PgstealKswapd, &s.PgstealDirect, &s.Pswpin, &s.Pswpout, &s.Allocstall,
		&s.Pgmajfault, &s.RefaultAnon, &s.RefaultFile, &s.OOMKills, &s.PSICPUSome, &s.PSIMemSome,
		&s.PSIMemFull, &s.PSIIOSome, &s.PSIIOFull, &s.AgentCPUNs, &s.AgentRSS, &s.Workers, &s.Busy,
		&s.Idle, &s.Queued, &s.CgMemory, &s.CgAnon, &s.CgFile, &s.CgSlab, &s.CgSwap,
		&s.CgRefaultAnon, &s.CgRefaultFile, &s.CgOOMKills, &s.CgMax, &s.CgPSIMemSome,
		&s.CgPSIMemFull, &s.CgCPUNs, &s.CgThrottledNs, &s.CgThrottled, &s.DelayReclaimNs,
		&s.DelaySwapinNs, &s.DelayThrashNs, &s.DelayIONs, &s.HeapUsed, &s.HeapTotal, &s.External,
		&s.ArrayBuffers, &s.KswapdCPUNs, &s.DirectReclaims, &s.DirectReclaimNs, &s.PlatformCPUNs,
		&s.PlatformRSS, &s.LatenessNs, &s.UserNs, &s.SystemNs, &s.IdleNs, &s.IOWaitNs, &s.StealNs,
		&s.Buffers, &s.SwapCached, &s.Dirty, &s.Mapped, &s.Shmem, &s.SReclaimable, &s.SUnreclaim,
		&s.KernelStack, &s.PageTables, &s.PgscanAnon, &s.PgscanFile, &s.PgstealAnon, &s.PgstealFile,
		&s.PgscanKhugepaged, &s.PgstealKhugepaged, &s.PgscanProactive, &s.PgstealProactive,
		&s.PgscanDirectThrottle, &s.AllocstallNormal, &s.Pgrefill, &s.Pgactivate, &s.Pgdeactivate,
		&s.SlabsScanned, &s.Pageoutrun, &s.CompactStall, &s.WorkingsetActivate, &s.WorkingsetRestore,
		&s.WorkingsetNodereclaim, &s.PgpgIn, &s.PgpgOut, &s.PgfaultAll, &s.DiskReads, &s.DiskWrites,
		&s.DiskReadBytes, &s.DiskWriteBytes, &s.DiskBusyNs, &s.DiskQueueNs, &s.DiskInFlight,
	}
}

// appendSample appends the scope's name and the numbers as varints.
func appendSample(b []byte, s *Sample) []byte {
	b = binary.AppendUvarint(b, uint64(len(s.App)))
	b = append(b, s.App...)
	for _, n := range s.Numbers() {
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
	for _, p := range s.Numbers() {
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
