package qemu

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

// qmp answers one connection as the protocol's specification shows it, and
// passes on what it was told.
func qmp(t *testing.T, greeting string, answers ...string) (net.Conn, <-chan string) {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { ours.Close() })
	told := make(chan string, len(answers)+1)
	go func() {
		defer theirs.Close()
		fmt.Fprintln(theirs, greeting)
		in := bufio.NewScanner(theirs)
		for _, answer := range answers {
			if !in.Scan() {
				return
			}
			told <- in.Text()
			fmt.Fprintln(theirs, answer)
		}
		if in.Scan() {
			told <- in.Text()
		}
	}()
	return ours, told
}

const greeting = `{"QMP": {"version": {"qemu": {"micro": 19, "minor": 2, "major": 7}, "package": ""}, "capabilities": ["oob"]}}`

func TestALimitIsCommanded(t *testing.T) {
	conn, told := qmp(t, greeting, `{"return": {}}`,
		`{"timestamp": {"seconds": 1, "microseconds": 2}, "event": "NIC_RX_FILTER_CHANGED"}`+"\n"+`{"return": {}}`,
		`{"error": {"class": "GenericError", "desc": "Device 'nowhere' not found"}}`)
	m, err := NewMonitor(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.Limit(t.Context(), "swap", 150, 12<<20); err != nil {
		t.Error(err)
	}
	if err := m.Limit(t.Context(), "nowhere", 1, 0); err == nil || err.Error() != "limiting the drive nowhere: block_set_io_throttle: Device 'nowhere' not found" {
		t.Errorf("error %v", err)
	}
	want := []string{
		`{"execute":"qmp_capabilities"}`,
		`{"execute":"block_set_io_throttle","arguments":{"bps":12582912,"bps_rd":0,"bps_wr":0,"device":"swap","iops":150,"iops_rd":0,"iops_wr":0}}`,
	}
	for _, w := range want {
		if got := <-told; got != w {
			t.Errorf("told %s, want %s", got, w)
		}
	}
}

func TestWhatDoesNotSpeakTheProtocol(t *testing.T) {
	conn, _ := qmp(t, `{"hello": 1}`)
	if _, err := NewMonitor(t.Context(), conn); err == nil || !strings.Contains(err.Error(), "it does not greet") {
		t.Errorf("error %v", err)
	}
	silent, _ := net.Pipe()
	stop := errors.New("no patience")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if _, err := NewMonitor(ctx, silent); !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
}

// A monitor that is closed leaves nothing open: QEMU's end reads its end.
func TestAMonitorThatIsClosedHangsUp(t *testing.T) {
	ours, theirs := net.Pipe()
	ended := make(chan error, 1)
	go func() {
		fmt.Fprintln(theirs, greeting)
		in := bufio.NewReader(theirs)
		_, err := in.ReadString('\n')
		fmt.Fprintln(theirs, `{"return": {}}`)
		if err == nil {
			_, err = in.ReadString('\n')
		}
		ended <- err
	}()
	m, err := NewMonitor(t.Context(), ours)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, io.EOF) {
		t.Errorf("QEMU's end reads %v, want its end", err)
	}
	if err := m.Limit(t.Context(), "swap", 1, 0); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a command after that: %v", err)
	}
}
