package wire

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

type recorder struct {
	mu      sync.Mutex
	events  []Event
	logs    []Log
	samples []Sample
}

func (r *recorder) Event(e Event) { r.mu.Lock(); defer r.mu.Unlock(); r.events = append(r.events, e) }
func (r *recorder) Log(l Log)     { r.mu.Lock(); defer r.mu.Unlock(); r.logs = append(r.logs, l) }
func (r *recorder) Sample(s *Sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.samples = append(r.samples, *s)
}

// pair returns a running client and the agent's end of its connection.
func pair(t *testing.T) (*Client, *recorder, *Conn, func() error) {
	t.Helper()
	a, b := net.Pipe()
	o := new(recorder)
	c := NewClient(NewConn(a), o)
	ran := make(chan error, 1)
	go func() { ran <- c.Run() }()
	t.Cleanup(func() { a.Close(); b.Close(); <-c.Done() })
	return c, o, NewConn(b), func() error { b.Close(); return <-ran }
}

func TestCallsAreMatchedByID(t *testing.T) {
	client, o, agent, end := pair(t)
	answers := make(chan int64, 2)
	for range 2 {
		go func() {
			var r ClockReading
			if err := client.Call(context.Background(), ClockProbe, nil, &r); err != nil {
				t.Error(err)
			}
			answers <- r.ReceivedNs
		}()
	}
	var ids []uint64
	for range 2 {
		m, err := agent.Receive()
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.(Request).ID)
	}
	// Answered in the reverse order, with other messages between.
	for i := len(ids) - 1; i >= 0; i-- {
		body, _ := json.Marshal(ClockReading{ReceivedNs: int64(ids[i])})
		for _, m := range []Message{Event{App: "a"}, Log{App: "a"}, &Sample{App: "a"}, Response{ID: ids[i], Body: body}} {
			if err := agent.Send(m); err != nil {
				t.Fatal(err)
			}
		}
	}
	if a, b := <-answers, <-answers; a+b != 3 || a == b {
		t.Errorf("answers %d and %d, want 1 and 2", a, b)
	}
	if err := end(); err != nil {
		t.Errorf("Run: %v, want nil at a clean end", err)
	}
	if len(o.events) != 2 || len(o.logs) != 2 || len(o.samples) != 2 {
		t.Errorf("observer saw %d events, %d logs, %d samples, want 2 of each", len(o.events), len(o.logs), len(o.samples))
	}
}

func TestCallReturnsTheFault(t *testing.T) {
	client, _, agent, _ := pair(t)
	go func() {
		m, _ := agent.Receive()
		_ = agent.Send(Response{ID: m.(Request).ID, Fault: &Fault{Kind: StartFailed, Text: "no"}})
	}()
	err := client.Call(context.Background(), Deploy, App{}, nil)
	var f *Fault
	if !errors.As(err, &f) || f.Kind != StartFailed || f.Text != "no" {
		t.Errorf("error %v, want the fault", err)
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	client, _, agent, _ := pair(t)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		m, _ := agent.Receive()
		cancel()
		// The late answer is dropped and does not disturb the next call.
		_ = agent.Send(Response{ID: m.(Request).ID})
		m, _ = agent.Receive()
		_ = agent.Send(Response{ID: m.(Request).ID})
	}()
	if err := client.Call(ctx, Shutdown, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	if err := client.Call(context.Background(), Shutdown, nil, nil); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

func TestCallFailsWhenTheAgentIsGone(t *testing.T) {
	client, _, agent, end := pair(t)
	go func() {
		_, _ = agent.Receive()
		_ = end()
	}()
	err := client.Call(context.Background(), Environment, nil, nil)
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "the agent closed the connection") {
		t.Errorf("error %v", err)
	}
}

func TestRunRefusesWhatAnAgentNeverSends(t *testing.T) {
	for want, m := range map[string]Message{
		"which only a lab sends": Request{ID: 1},
		"which was never asked":  Response{ID: 5},
	} {
		a, b := net.Pipe()
		client := NewClient(NewConn(a), new(recorder))
		go func() { _ = NewConn(b).Send(m) }()
		if err := client.Run(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		a.Close()
		b.Close()
	}
}
