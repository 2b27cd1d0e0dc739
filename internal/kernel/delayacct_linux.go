package kernel

import (
	"errors"
	"fmt"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Delays is what a process waited for, in ns since it was started: all its
// threads, ended ones included, but not its children. A field that the
// kernel's version lacks is unknown.
//
// https://www.kernel.org/doc/html/latest/accounting/delay-accounting.html
type Delays struct {
	CPUNanos, BlockIONanos, SwapinNanos Num
	ReclaimNanos                        Num // direct reclaim ("freepages")
	ThrashingNanos                      Num // pages that had only just been evicted; since 4.20
}

// TaskStats asks the kernel for the delays of processes over taskstats. It
// needs CAP_NET_ADMIN. It keeps its socket and buffers; asking again allocates
// nothing. It must not be used from several goroutines at once.
//
// https://www.kernel.org/doc/html/latest/accounting/taskstats.html
type TaskStats struct {
	fd     int
	on     *Reader[delayacct] // nil before 5.14, when the file came
	state  delayacct
	family uint16
	seq    uint32
	req    []byte
	buf    []byte
}

// delayacct is /proc/sys/kernel/task_delayacct.
type delayacct struct{ On Num }

// ErrDelaysOff says that the kernel keeps no account of delays: its counters
// are 0, whatever the processes wait for. See kernel.task_delayacct.
var ErrDelaysOff = errors.New("the kernel keeps no account of delays (kernel.task_delayacct is 0)")

// TaskStats opens a taskstats socket. The error is [ErrUnavailable] where the
// kernel was built without it, and in a captured tree.
func (f *FS) TaskStats() (*TaskStats, error) {
	if !f.live {
		return nil, fmt.Errorf("taskstats: %w: not in a captured tree", ErrUnavailable)
	}
	family, err := taskFamily()
	if err != nil {
		return nil, fmt.Errorf("taskstats: %w", err)
	}
	on, err := f.delayacctReader()
	if err != nil {
		return nil, fmt.Errorf("taskstats: %w", err)
	}
	fd, err := dialNetlink(unix.NETLINK_GENERIC)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("taskstats: %w", err), on.Close())
	}
	return &TaskStats{fd: fd, on: on, family: family, req: make([]byte, taskRequestLen), buf: make([]byte, 8<<10)}, nil
}

// taskFamily is the number that taskstats has in this kernel.
func taskFamily() (uint16, error) {
	conn, err := netlink.Dial(unix.NETLINK_GENERIC, nil)
	if err != nil {
		return 0, err
	}
	family, err := genetlink.NewConn(conn).GetFamily(unix.TASKSTATS_GENL_NAME)
	if errors.Is(err, unix.ENOENT) {
		err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return family.ID, errors.Join(err, conn.Close())
}

// delayacctReader is nil where the file is absent: the account is then on
// unless the kernel was started with nodelayacct.
func (f *FS) delayacctReader() (*Reader[delayacct], error) {
	r, err := newReader(f.at, "", numFile("proc/sys/kernel/task_delayacct", func(d *delayacct) *Num { return &d.On }))
	if errors.Is(err, ErrUnavailable) {
		return nil, nil
	}
	return r, err
}

// Accounted returns nil where the kernel keeps account of delays at present,
// [ErrDelaysOff] where it does not. Processes that were started while it did
// not are not accounted for.
func (t *TaskStats) Accounted() error {
	if t.on == nil {
		return nil
	}
	if err := t.on.Read(&t.state); err != nil {
		return err
	}
	if on := t.state.On; on.Known && on.Value == 0 {
		return ErrDelaysOff
	}
	return nil
}

// Delays reads those of one process. The error is [ErrGone] when there is no
// such process, and EPERM without the right. Ask [TaskStats.Accounted] first.
func (t *TaskStats) Delays(pid int, dst *Delays) error {
	*dst = Delays{}
	t.seq++
	putTaskRequest((*[taskRequestLen]byte)(t.req), t.family, t.seq, uint32(pid))
	if _, err := unix.Write(t.fd, t.req); err != nil {
		return fmt.Errorf("taskstats: send: %w", err)
	}
	for {
		n, err := readNetlink(t.fd, t.buf)
		if err != nil {
			return fmt.Errorf("taskstats: receive: %w", err)
		}
		done, err := parseTaskReply(dst, t.buf[:n], t.seq)
		if errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("taskstats of pid %d: %w", pid, ErrGone)
		}
		if done || err != nil {
			return err
		}
	}
}

// Close closes the socket. A nil TaskStats has none.
func (t *TaskStats) Close() error {
	if t == nil {
		return nil
	}
	return errors.Join(unix.Close(t.fd), t.on.Close())
}

const (
	genlHeaderLen  = 4
	taskRequestLen = unix.NLMSG_HDRLEN + genlHeaderLen + unix.SizeofNlAttr + 4
)

// putTaskRequest writes a request for the sums over a thread group.
func putTaskRequest(b *[taskRequestLen]byte, family uint16, seq, pid uint32) {
	clear(b[:])
	order := native
	order.PutUint32(b[0:], taskRequestLen)
	order.PutUint16(b[4:], family)
	order.PutUint16(b[6:], unix.NLM_F_REQUEST)
	order.PutUint32(b[8:], seq)
	g := b[unix.NLMSG_HDRLEN:]
	g[0], g[1] = unix.TASKSTATS_CMD_GET, unix.TASKSTATS_GENL_VERSION
	a := g[genlHeaderLen:]
	order.PutUint16(a[0:], unix.SizeofNlAttr+4)
	order.PutUint16(a[2:], unix.TASKSTATS_CMD_ATTR_TGID)
	order.PutUint32(a[4:], pid)
}
