package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Observer receives the messages that an agent sends unasked.
type Observer interface {
	Event(Event)
	Log(Log)
	// Sample must not keep s.
	Sample(s *Sample)
}

// Client is the asking side of a connection: it matches responses to
// requests and hands everything else to an Observer.
type Client struct {
	conn     *Conn
	observer Observer

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]chan Response
	err     error
	done    chan struct{}
}

// NewClient returns a client on a connection whose hello is done. Calls are
// answered while Run runs.
func NewClient(conn *Conn, o Observer) *Client {
	return &Client{conn: conn, observer: o, waiting: map[uint64]chan Response{}, done: make(chan struct{})}
}

// Run receives until the stream ends and returns why; nil when the other
// side closed it between two messages. All calls in flight fail then.
func (c *Client) Run() error {
	err := c.receive()
	c.mu.Lock()
	c.err = err
	c.mu.Unlock()
	close(c.done)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Done is closed when Run has ended.
func (c *Client) Done() <-chan struct{} { return c.done }

func (c *Client) receive() error {
	for {
		m, err := c.conn.Receive()
		if err != nil {
			return err
		}
		switch m := m.(type) {
		case Event:
			c.observer.Event(m)
		case Log:
			c.observer.Log(m)
		case *Sample:
			c.observer.Sample(m)
		case Response:
			if err := c.answer(m); err != nil {
				return err
			}
		default:
			return fmt.Errorf("the agent sent a %s, which only a lab sends", m.kind())
		}
	}
}

func (c *Client) answer(r Response) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.ID == 0 || r.ID > c.last {
		return fmt.Errorf("the agent answered request %d, which was never asked", r.ID)
	}
	// A missing entry is a call whose context ended before the answer came.
	if ch, ok := c.waiting[r.ID]; ok {
		delete(c.waiting, r.ID)
		ch <- r
	}
	return nil
}

// Call asks for method with in as the body and decodes the answer into out;
// either may be nil. A failure on the other side is a *Fault. When ctx ends
// first, the answer is dropped.
func (c *Client) Call(ctx context.Context, method Method, in, out any) error {
	req := Request{Method: method}
	if in != nil {
		body, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		req.Body = body
	}
	ch := make(chan Response, 1)
	c.mu.Lock()
	c.last++
	req.ID = c.last
	c.waiting[req.ID] = ch
	c.mu.Unlock()
	if err := c.conn.Send(req); err != nil {
		c.forget(req.ID)
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case r := <-ch:
		return r.into(method, out)
	case <-ctx.Done():
		c.forget(req.ID)
		return fmt.Errorf("%s: %w", method, context.Cause(ctx))
	case <-c.done:
		return c.ended(method, ch, out)
	}
}

// ended prefers an answer that came just before the stream's end.
func (c *Client) ended(method Method, ch <-chan Response, out any) error {
	select {
	case r := <-ch:
		return r.into(method, out)
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if errors.Is(c.err, io.EOF) {
		return fmt.Errorf("%s: the agent closed the connection: %w", method, io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("%s: %w", method, c.err)
}

func (c *Client) forget(id uint64) {
	c.mu.Lock()
	delete(c.waiting, id)
	c.mu.Unlock()
}

func (r Response) into(method Method, out any) error {
	if r.Fault != nil {
		return r.Fault
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(r.Body, out); err != nil {
		return fmt.Errorf("%s: the agent's answer is malformed: %w", method, err)
	}
	return nil
}
