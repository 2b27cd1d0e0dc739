package wire

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

const (
	// maxPayload bounds a frame's payload, so that garbage read as a length
	// cannot make a side allocate without limit.
	maxPayload = 1 << 20
	headerSize = 5
)

// Conn sends and receives messages over a byte stream. A frame is a 4-byte
// big-endian length of the payload, one byte that tells its kind, and the
// payload: JSON, but for samples, which are packed.
type Conn struct {
	r       *bufio.Reader
	payload []byte
	sample  Sample

	mu  sync.Mutex
	w   io.Writer
	out []byte
}

// NewConn returns a connection over rw. Closing rw is the caller's business.
func NewConn(rw io.ReadWriter) *Conn {
	return &Conn{r: bufio.NewReader(rw), w: rw}
}

// Send writes one message as one Write. It may be called from several
// goroutines. Sending a *Sample allocates nothing.
func (c *Conn) Send(m Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := append(c.out[:0], 0, 0, 0, 0, byte(m.kind()))
	if s, ok := m.(*Sample); ok {
		b = appendSample(b, s)
	} else {
		body, err := json.Marshal(m)
		if err != nil {
			return fmt.Errorf("encoding a %s: %w", m.kind(), err)
		}
		b = append(b, body...)
	}
	size := len(b) - headerSize
	if size > maxPayload {
		return fmt.Errorf("a %s of %d bytes cannot be sent: at most %d are allowed", m.kind(), size, maxPayload)
	}
	binary.BigEndian.PutUint32(b, uint32(size))
	c.out = b
	if _, err := c.w.Write(b); err != nil {
		return fmt.Errorf("sending a %s: %w", m.kind(), err)
	}
	return nil
}

// Receive reads the next message. A *Sample is valid until the next call.
// The error is io.EOF when the stream ends between two messages. Receive must
// not be called from several goroutines at once.
func (c *Conn) Receive() (Message, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(c.r, header[:]); err != nil {
		return nil, streamError(err)
	}
	size, kind := binary.BigEndian.Uint32(header[:]), frameKind(header[4])
	if !kind.known() {
		return nil, fmt.Errorf("the other side does not speak brink's protocol: it sent %q where a message should begin", header[:])
	}
	if size > maxPayload {
		return nil, fmt.Errorf("the other side announced a %s of %d bytes; at most %d are allowed", kind, size, maxPayload)
	}
	if int(size) > cap(c.payload) {
		c.payload = make([]byte, size)
	}
	payload := c.payload[:size]
	if _, err := io.ReadFull(c.r, payload); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, streamError(err)
	}
	m, err := c.decode(kind, payload)
	if err != nil {
		return nil, fmt.Errorf("the other side sent a malformed %s: %w", kind, err)
	}
	return m, nil
}

func streamError(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the connection ended in the middle of a message: %w", err)
	case errors.Is(err, io.EOF):
		return io.EOF
	}
	return fmt.Errorf("receiving: %w", err)
}

func (c *Conn) decode(kind frameKind, payload []byte) (Message, error) {
	switch kind {
	case frameHello:
		return decodeJSON[Hello](payload)
	case frameRequest:
		return decodeJSON[Request](payload)
	case frameResponse:
		return decodeJSON[Response](payload)
	case frameEvent:
		return decodeJSON[Event](payload)
	case frameLog:
		return decodeJSON[Log](payload)
	default:
		return &c.sample, decodeSample(payload, &c.sample)
	}
}

func decodeJSON[M Message](payload []byte) (Message, error) {
	var m M
	err := json.Unmarshal(payload, &m)
	return m, err
}

// Handshake sends our hello and receives theirs, in either order, and fails
// when the other side does not speak brink's protocol or speaks another
// version of it. Our Version is filled in.
func (c *Conn) Handshake(ours Hello) (Hello, error) {
	ours.Version = Version
	sent := make(chan error, 1)
	go func() { sent <- c.Send(ours) }()
	m, err := c.Receive()
	if errors.Is(err, io.EOF) {
		return Hello{}, fmt.Errorf("the other side closed the connection without a hello: %w", io.ErrUnexpectedEOF)
	}
	if err != nil {
		return Hello{}, fmt.Errorf("waiting for the other side's hello: %w", err)
	}
	theirs, ok := m.(Hello)
	if !ok {
		return Hello{}, fmt.Errorf("the other side began with a message of kind %s where a hello is expected", m.kind())
	}
	if err := <-sent; err != nil {
		return Hello{}, err
	}
	if theirs.Version != Version {
		return theirs, fmt.Errorf("protocol versions differ: this side%s speaks %d, the other%s speaks %d; use the same brink on both",
			named(ours.Program), Version, named(theirs.Program), theirs.Version)
	}
	return theirs, nil
}

func named(program string) string {
	if program == "" {
		return ""
	}
	return " (" + program + ")"
}
