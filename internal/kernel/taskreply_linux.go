package kernel

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

var errTaskForm = errors.New("taskstats: a message is not in the form of linux/taskstats.h")

// parseTaskReply looks in a datagram for the answer to request seq; done is
// false when it holds none.
func parseTaskReply(d *Delays, b []byte, seq uint32) (done bool, err error) {
	for len(b) >= unix.NLMSG_HDRLEN {
		size := int(native.Uint32(b))
		if size < unix.NLMSG_HDRLEN || size > len(b) {
			return false, errTaskForm
		}
		kind, got := native.Uint16(b[4:]), native.Uint32(b[8:])
		body := b[unix.NLMSG_HDRLEN:size]
		b = b[min(nlAlign(size), len(b)):]
		switch {
		case got != seq:
		case kind == unix.NLMSG_ERROR:
			if err := diagStatus(kind, body); err != nil {
				return true, fmt.Errorf("taskstats: %w", err)
			}
		case len(body) < genlHeaderLen:
			return false, errTaskForm
		default:
			return true, parseTaskAttrs(d, body[genlHeaderLen:])
		}
	}
	return false, nil
}

// parseTaskAttrs finds the numbers, which lie within an attribute that also
// repeats the pid.
func parseTaskAttrs(d *Delays, b []byte) error {
	for len(b) >= unix.SizeofNlAttr {
		size, kind := int(native.Uint16(b)), native.Uint16(b[2:])&^uint16(unix.NLA_F_NESTED)
		if size < unix.SizeofNlAttr || size > len(b) {
			return errTaskForm
		}
		body := b[unix.SizeofNlAttr:size]
		switch kind {
		case unix.TASKSTATS_TYPE_AGGR_TGID, unix.TASKSTATS_TYPE_AGGR_PID:
			return parseTaskAttrs(d, body)
		case unix.TASKSTATS_TYPE_STATS:
			return d.parse(body)
		}
		b = b[min(nlAlign(size), len(b)):]
	}
	return errTaskForm
}

// taskLayout is where the totals stand in struct taskstats.
type taskLayout struct{ cpu, blockIO, swapin, reclaim, thrashing int }

var (
	// The struct has grown at its end only, with one exception.
	taskLayoutUsual = taskLayout{cpu: 24, blockIO: 40, swapin: 56, reclaim: 320, thrashing: 336}
	// Version 15 (6.14, and 6.15 until "taskstats: fix struct taskstats breaks
	// backward compatibility since version 15") has two more numbers after each
	// total.
	taskLayout15 = taskLayout{cpu: 24, blockIO: 56, swapin: 88, reclaim: 368, thrashing: 400}
)

const (
	taskLayout15Len = 560
	taskWithTotals  = 328 // up to and with freepages_delay_total
	taskThrashing   = 9   // the version that brought thrashing
)

// parse reads a struct taskstats; its version is its first number.
func (d *Delays) parse(b []byte) error {
	if len(b) < 2 {
		return errTaskForm
	}
	version := native.Uint16(b)
	layout := taskLayoutUsual
	switch {
	case version == 15 && len(b) == taskLayout15Len:
		layout = taskLayout15
	case version == 15 || len(b) < taskWithTotals:
		return fmt.Errorf("taskstats: %w: the layout of version %d with %d bytes is not known", ErrUnavailable, version, len(b))
	}
	at := func(offset int) Num { return Num{native.Uint64(b[offset:]), true} }
	d.CPUNanos, d.BlockIONanos, d.SwapinNanos = at(layout.cpu), at(layout.blockIO), at(layout.swapin)
	d.ReclaimNanos = at(layout.reclaim)
	if version >= taskThrashing && len(b) >= layout.thrashing+8 {
		d.ThrashingNanos = at(layout.thrashing)
	}
	return nil
}
