package vm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"brink/internal/clock"
	"brink/internal/guest"
	"brink/internal/host"
	"brink/internal/host/vm/guestnet"
	"brink/internal/host/vm/qemu"
	"brink/internal/wire"
)

// bootLimit is far more than a guest takes to say hello, on a machine that does
// much else meanwhile.
const bootLimit = 3 * time.Minute

// size is what a machine has.
type size struct {
	cpus     int
	memoryMB int // MemTotal of its kernel
	swapMB   int
	cacheMB  int
}

// machine is a guest that runs, with the channel to its agent.
type machine struct {
	dir     *scratch
	drives  []*os.File
	process *qemu.Process
	network *guestnet.Network
	console *console
	monitor *qemu.Monitor
	conn    net.Conn
	client  *wire.Client
	clock   *guestClock
	// ramMB is what QEMU gives the machine. Init is the time from QEMU's start to
	// the guest's init, took that to the agent's hello.
	ramMB      int
	init, took time.Duration
	// received is closed when the last message has been handled.
	received chan struct{}
	recvErr  error
}

// boot starts a machine and returns once its agent has said hello. Everything
// that the agent says unasked goes to o, with its times by this machine's clock.
func (h *Host) boot(ctx context.Context, s size, o host.Observer) (*machine, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, bootLimit, fmt.Errorf("the guest's agent did not answer within %s", bootLimit))
	defer cancel()
	accel, err := h.acceleration(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := h.scratch()
	if err != nil {
		return nil, err
	}
	m := &machine{dir: dir, console: new(console), received: make(chan struct{})}
	spec, err := h.assemble(ctx, m, accel.Accelerator, s)
	if err == nil {
		err = h.start(ctx, m, spec, o)
	}
	if err != nil {
		return nil, errors.Join(h.suspectImage(ctx, m, err), m.discard())
	}
	return m, nil
}

// start starts QEMU with someone at the other end of each of its sockets, and
// returns once the guest's agent has said hello.
func (h *Host) start(ctx context.Context, m *machine, spec qemu.Machine, o host.Observer) (err error) {
	if m.network, err = guestnet.Listen(m.dir.file(networkSocket)); err != nil {
		return err
	}
	channel, err := net.Listen("unix", m.dir.file(agentSocket))
	if err != nil {
		return fmt.Errorf("the channel to the guest's agent: %w", err)
	}
	defer channel.Close()
	control, err := net.Listen("unix", m.dir.file(controlSocket))
	if err != nil {
		return fmt.Errorf("the channel to QEMU: %w", err)
	}
	defer control.Close()
	temporary, err := h.diskDir()
	if err != nil {
		return err
	}
	began := clock.Real.Now()
	if m.process, err = spec.Start(temporary, m.console); err != nil {
		return err
	}
	ctx, stop := m.untilEnded(ctx)
	defer stop()
	if err := m.command(ctx, control); err != nil {
		return m.explain(err)
	}
	if err := m.greet(ctx, channel, h.opts.Program, o); err != nil {
		return m.explain(err)
	}
	m.took = clock.Real.Now().Sub(began)
	_, at := m.console.initAt()
	m.init = at.Sub(began)
	return nil
}

// suspectImage looks whether a machine that did not come up was made from an
// image that has been damaged, which then is why.
func (h *Host) suspectImage(ctx context.Context, m *machine, err error) error {
	if m.process == nil || errors.Is(err, context.Canceled) {
		return err
	}
	img, imageErr := h.theImage(ctx)
	if imageErr == nil {
		imageErr = img.Verify()
	}
	if imageErr != nil {
		return fmt.Errorf("%w; %w", imageErr, err)
	}
	return err
}

// Names of the sockets of a machine.
const (
	networkSocket = "net.sock"
	agentSocket   = "agent.sock"
	controlSocket = "control.sock"
)

// assemble makes a machine's drives and describes it to QEMU.
func (h *Host) assemble(ctx context.Context, m *machine, accel qemu.Accelerator, s size) (qemu.Machine, error) {
	img, err := h.theImage(ctx)
	if err != nil {
		return qemu.Machine{}, err
	}
	brink, err := h.brinkDrive(ctx)
	if err != nil {
		return qemu.Machine{}, err
	}
	m.ramMB = machineMB(s.memoryMB)
	spec := qemu.Machine{
		Accelerator: accel, MemoryKB: m.ramMB << 10, CPUs: s.cpus, Kernel: img.KernelPath(),
		CommandLine: commandLine + fmt.Sprintf(" %s=%s/%d", guest.AddressParam, guestnet.GuestAddr, guestnet.PrefixLen),
		Devices: []qemu.Device{
			qemu.Console{},
			bootDrive(brink),
			qemu.Drive{Serial: guest.RootDrive, Path: img.Root(), Snapshot: true},
			qemu.Control{Socket: m.dir.file(controlSocket)},
			qemu.Port{Name: guest.Port, Socket: m.dir.file(agentSocket)},
			qemu.Network{Socket: m.dir.file(networkSocket), MAC: guestnet.GuestMAC},
		},
	}
	disks, err := h.diskDir()
	if err != nil {
		return spec, err
	}
	if s.swapMB > 0 {
		f, err := swapFile(disks, s.swapMB)
		if err != nil {
			return spec, fmt.Errorf("the guest's swap drive: %w", err)
		}
		m.drives = append(m.drives, f)
		spec.Devices = append(spec.Devices, qemu.Drive{Serial: guest.SwapDrive, File: f})
	}
	if s.cacheMB > 0 {
		f, err := cacheFile(ctx, disks, s.cacheMB)
		if err != nil {
			return spec, fmt.Errorf("the guest's cache drive: %w", err)
		}
		m.drives = append(m.drives, f)
		spec.Devices = append(spec.Devices, qemu.Drive{Serial: guest.CacheDrive, File: f})
	}
	return spec, nil
}

// commandLine is the kernel's: quiet, an end of the machine at a panic, no bounce
// buffers, which would take 64 MB of machines of 3 GB and more, and all the time
// in the world for a drive that is held to a speed, where otherwise a request
// that takes 30 s is the end of the drive and of everything in swap.
const commandLine = "console=ttyS0 quiet panic=-1 psi=1 swiotlb=noforce nvme_core.io_timeout=4294967 devtmpfs.mount=1 rootfstype=ext4 ro root=" + rootOnDrive + " init=" + guest.Init

// bootDrive is the drive with brink.
func bootDrive(f *os.File) qemu.Drive {
	return qemu.Drive{Serial: "brink", File: f, ReadOnly: true}
}

// untilEnded is ctx that also ends when the machine does.
func (m *machine) untilEnded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-m.process.Done():
			cancel(errEnded)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// command waits for the connection on which QEMU takes commands.
func (m *machine) command(ctx context.Context, channel net.Listener) error {
	conn, err := accept(ctx, channel)
	if err != nil {
		return err
	}
	m.monitor, err = qemu.NewMonitor(ctx, conn)
	return err
}

// hangUp ends the connection on which QEMU takes commands, once there is none
// left to give.
func (m *machine) hangUp() {
	if m.monitor != nil {
		m.monitor.Close()
		m.monitor = nil
	}
}

// accept accepts one connection, until ctx ends.
func accept(ctx context.Context, l net.Listener) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	conn, err := l.Accept()
	if err != nil {
		return nil, causeOr(ctx, err)
	}
	return conn, nil
}

// greet waits for the agent, exchanges hellos, compares the clocks and begins
// to receive.
func (m *machine) greet(ctx context.Context, channel net.Listener, program string, o host.Observer) error {
	conn, err := accept(ctx, channel)
	if err != nil {
		return err
	}
	m.conn = conn
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	c := wire.NewConn(conn)
	if _, err := c.Handshake(wire.Hello{Program: program}); err != nil {
		return causeOr(ctx, err)
	}
	m.clock = new(guestClock)
	m.client = wire.NewClient(c, translated{m.clock, o})
	go func() {
		m.recvErr = m.client.Run()
		close(m.received)
	}()
	for range clockProbes {
		if err := m.clock.probe(ctx, m.client); err != nil {
			return causeOr(ctx, err)
		}
	}
	return nil
}

// errEnded says that the machine is gone.
var errEnded = errors.New("the guest powered off or was reset by itself")

func causeOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// explain says why a machine cannot be talked to: what QEMU, the kernel or init
// said counts for more than what the channel says.
func (m *machine) explain(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	select {
	case <-m.process.Done():
	case <-clock.Real.After(2 * time.Second): // what ends with the channel ends about now
	}
	if trouble := m.console.trouble(); trouble != "" {
		return fmt.Errorf("%s; %s", trouble, m.console.tail())
	}
	select {
	case <-m.process.Done():
		if qerr := m.process.Err(); qerr != nil {
			return fmt.Errorf("%w; %s", qerr, m.console.tail())
		}
		return fmt.Errorf("%w; %s", errEnded, m.console.tail())
	default:
	}
	return fmt.Errorf("%w; %s", err, m.console.tail())
}

// discard ends the machine at once and removes what it used.
func (m *machine) discard() error {
	if m.conn != nil {
		m.conn.Close()
	}
	if m.process != nil {
		m.process.Kill()
	}
	if m.client != nil {
		<-m.received
	}
	if m.network != nil {
		m.network.Close()
	}
	m.hangUp()
	var err error
	for _, f := range m.drives {
		err = errors.Join(err, f.Close())
	}
	return errors.Join(err, m.dir.remove())
}

// off waits for a machine that was asked to power off, and removes what it
// used.
func (m *machine) off(limit time.Duration) error {
	var err error
	select {
	case <-m.process.Done():
		err = m.process.Err()
	case <-clock.Real.After(limit):
		err = fmt.Errorf("the guest did not power off within %s; %s", limit, m.console.tail())
	}
	return errors.Join(err, m.discard())
}
