package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

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
