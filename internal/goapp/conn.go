package goapp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"
)

// Bounds on what a client may send.
const (
	maxHeaderBytes = 64 << 10
	maxBodyBytes   = 1 << 20
	maxReadTime    = 10 * time.Second
)

// session is one client connection.
type session struct {
	conn  net.Conn
	limit *io.LimitedReader
	in    *bufio.Reader
}

// serveConn answers the connection's requests, one unless keep-alive is on,
// and closes it.
func (w *worker) serveConn(conn net.Conn) {
	defer conn.Close()
	limit := &io.LimitedReader{R: conn}
	s := &session{conn: conn, limit: limit, in: bufio.NewReader(limit)}
	for wait := w.readTime(); ; wait = w.cfg.KeepAlive {
		// A worker that cannot report is killed; no need to handle it here.
		_ = w.beat.alive()
		req, err := s.read(wait, w.readTime())
		if silent(err) {
			return
		}
		reply := w.answer(req, err)
		reply.close = err != nil || !s.drain(req) || w.cfg.KeepAlive == 0 ||
			w.stopping.Load() || req.Close || !req.ProtoAtLeast(1, 1)
		if err := reply.write(conn, req); err != nil || reply.close {
			return
		}
	}
}

// readTime bounds the reading of a request so that a client that sends nothing
// does not cost the worker its life, as it does with gunicorn.
func (w *worker) readTime() time.Duration {
	if w.cfg.Timeout == 0 {
		return maxReadTime
	}
	return min(maxReadTime, w.cfg.Timeout/2)
}

// read waits for the first byte, then for the rest of the request's head.
func (s *session) read(first, rest time.Duration) (*http.Request, error) {
	s.limit.N = maxHeaderBytes
	if err := s.conn.SetReadDeadline(time.Now().Add(first)); err != nil {
		return nil, err
	}
	if _, err := s.in.Peek(1); err != nil {
		return nil, err
	}
	if err := s.conn.SetReadDeadline(time.Now().Add(rest)); err != nil {
		return nil, err
	}
	req, err := http.ReadRequest(s.in)
	if err != nil && s.limit.N <= 0 {
		return nil, fmt.Errorf("its head is longer than %d bytes", maxHeaderBytes)
	}
	return req, err
}

// silent tells that there is nobody to answer: the client left or said nothing.
func silent(err error) bool {
	var broken *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &broken)
}

// drain reads the body, which no endpoint wants, and tells whether it is gone.
// Closing a connection with unread bytes would reset it and could take the
// answer away from the client.
func (s *session) drain(req *http.Request) bool {
	if req.Header.Get("Expect") != "" {
		return false
	}
	s.limit.N += maxBodyBytes
	_, err := io.CopyN(io.Discard, req.Body, maxBodyBytes)
	return errors.Is(err, io.EOF)
}

// reply is an answer before it is written.
type reply struct {
	status int
	body   any
	took   time.Duration
	close  bool
}

func (r reply) write(w io.Writer, req *http.Request) error {
	text, err := json.Marshal(r.body)
	if err != nil {
		return err
	}
	resp := http.Response{
		StatusCode:    r.status,
		ProtoMajor:    1,
		ProtoMinor:    1,
		Request:       req,
		Close:         r.close,
		ContentLength: int64(len(text)),
		Body:          io.NopCloser(bytes.NewReader(text)),
		Header: http.Header{
			"Content-Type":      {"application/json"},
			"Date":              {time.Now().UTC().Format(http.TimeFormat)},
			"Server":            {serverName},
			"X-Brink-Pid":       {strconv.Itoa(os.Getpid())},
			"X-Brink-Served-Ns": {strconv.FormatInt(r.took.Nanoseconds(), 10)},
		},
	}
	if r.status == http.StatusMethodNotAllowed {
		resp.Header.Set("Allow", "GET, HEAD")
	}
	out := bufio.NewWriter(w)
	if err := resp.Write(out); err != nil {
		return err
	}
	return out.Flush()
}
