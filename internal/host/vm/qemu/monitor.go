package qemu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

// Monitor gives commands to a machine that runs, over the QEMU Machine Protocol
// (https://www.qemu.org/docs/master/interop/qmp-spec.html). It is not safe for
// concurrent use.
type Monitor struct {
	conn net.Conn
	in   *json.Decoder
	out  *json.Encoder
}

// NewMonitor takes the connection that QEMU makes to the socket of [Control],
// and closes it if the two do not understand each other.
func NewMonitor(ctx context.Context, conn net.Conn) (*Monitor, error) {
	m := &Monitor{conn: conn, in: json.NewDecoder(conn), out: json.NewEncoder(conn)}
	err := m.exchange(ctx, func() error {
		var greeting struct{ QMP *json.RawMessage }
		if err := m.in.Decode(&greeting); err != nil {
			return err
		}
		if greeting.QMP == nil {
			return errors.New("it does not greet")
		}
		return m.command("qmp_capabilities", nil)
	})
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("QEMU's monitor: %w", err)
	}
	return m, nil
}

// Close ends the connection, not the machine.
func (m *Monitor) Close() error { return m.conn.Close() }

// Limit bounds reads and writes of a drive together, per second, from now on; 0
// does not bound them.
func (m *Monitor) Limit(ctx context.Context, drive string, iops int, bytesPerSecond int64) error {
	limits := map[string]any{
		"device": drive, "iops": iops, "iops_rd": 0, "iops_wr": 0, "bps": bytesPerSecond, "bps_rd": 0, "bps_wr": 0,
	}
	if err := m.exchange(ctx, func() error { return m.command("block_set_io_throttle", limits) }); err != nil {
		return fmt.Errorf("limiting the drive %s: %w", drive, err)
	}
	return nil
}

// exchange does what reads and writes, until ctx ends.
func (m *Monitor) exchange(ctx context.Context, do func() error) error {
	stop := context.AfterFunc(ctx, func() { _ = m.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := do(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	return nil
}

// command gives a command and waits for its answer; events come in between.
func (m *Monitor) command(name string, arguments map[string]any) error {
	command := struct {
		Execute   string         `json:"execute"`
		Arguments map[string]any `json:"arguments,omitempty"`
	}{name, arguments}
	if err := m.out.Encode(command); err != nil {
		return err
	}
	for {
		var answer struct {
			Return *json.RawMessage
			Error  *struct{ Desc string }
		}
		switch err := m.in.Decode(&answer); {
		case err != nil:
			return err
		case answer.Error != nil:
			return fmt.Errorf("%s: %s", name, answer.Error.Desc)
		case answer.Return != nil:
			return nil
		}
	}
}
