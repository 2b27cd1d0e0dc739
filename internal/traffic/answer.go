package traffic

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// maxHead bounds the head of an answer, interim answers and trailers included.
// A body has no bound but the request's time-out: nothing of it is kept.
const maxHead = 64 << 10

var errEndless = fmt.Errorf("the head of the answer is longer than %d KiB", maxHead>>10)

// garbageError says in what way an answer is not HTTP/1.1.
type garbageError string

func (e garbageError) Error() string { return "not HTTP: " + string(e) }

// answer reads one HTTP/1.1 answer (RFC 9112) that is fed to it in pieces. Of
// the content it keeps nothing: an answer is its status, its length, whether
// the connection can be used again and who says to have served it.
type answer struct {
	toHead bool // the request was a HEAD: no body follows

	state     answerState
	old       bool // HTTP/1.0
	status    int
	body      int64 // bytes of content so far
	pid       int32
	servedNs  int64
	by        Answerer
	keepAlive bool
	encoded   bool  // there is a transfer encoding: Content-Length does not count
	chunked   bool  // ... and it ends in chunks
	length    int64 // declared, -1 unknown
	left      int64 // bytes to come of the body or of the current chunk
	head      int   // bytes of all heads and trailers so far
	line      []byte

	afterBytes answerState // what follows when left has come down to 0
}

type answerState uint8

// What an answer's next bytes are.
const (
	inStatusLine answerState = iota
	inHeader
	inBody       // left bytes more, of the body or of a chunk
	inOpenBody   // until the connection is closed
	inChunkSize  // the line before a chunk
	inChunkEnd   // the line break after a chunk
	inTrailer    // lines after the last chunk
	answerIsDone // complete
)

// reset prepares for the answer to another request, keeping the line buffer.
func (a *answer) reset(toHead bool) {
	*a = answer{toHead: toHead, servedNs: -1, length: -1, line: a.line[:0]}
}

// feed takes the next bytes off the connection. It returns how many of them
// belong to the answer, which is all of them unless the answer is complete.
func (a *answer) feed(p []byte) (int, error) {
	rest := p
	for len(rest) > 0 && a.state != answerIsDone {
		var n int
		var err error
		switch a.state {
		case inBody:
			n = int(min(int64(len(rest)), a.left))
			a.body += int64(n)
			if a.left -= int64(n); a.left == 0 {
				a.state = a.afterBytes
			}
		case inOpenBody:
			n = len(rest)
			a.body += int64(n)
		default:
			n, err = a.feedLine(rest)
		}
		if err != nil {
			return len(p) - len(rest), err
		}
		rest = rest[n:]
	}
	return len(p) - len(rest), nil
}

// close tells the answer that the connection was closed. It is complete then if
// its end was to be marked that way.
func (a *answer) close() error {
	switch a.state {
	case answerIsDone:
		return nil
	case inOpenBody:
		a.state = answerIsDone
		return nil
	case inStatusLine:
		if a.head == 0 {
			return errEmpty
		}
	}
	return io.ErrUnexpectedEOF
}

var errEmpty = errors.New("closed without an answer")

// feedLine takes bytes up to the end of a line and acts on the line once it is
// whole. A line that arrives in one piece is not copied.
func (a *answer) feedLine(p []byte) (int, error) {
	end := bytes.IndexByte(p, '\n')
	n := end + 1
	if end < 0 {
		n = len(p)
	}
	if a.state == inStatusLine || a.state == inHeader || a.state == inTrailer {
		a.head += n
	}
	if a.head > maxHead || len(a.line)+n > maxHead {
		return 0, errEndless
	}
	if end < 0 {
		a.line = append(a.line, p...)
		return n, nil
	}
	line := p[:end]
	if len(a.line) > 0 {
		line = append(a.line, line...)
		a.line = line[:0]
	}
	return n, a.endLine(bytes.TrimSuffix(line, []byte("\r")))
}

func (a *answer) endLine(line []byte) error {
	switch a.state {
	case inStatusLine:
		return a.statusLine(line)
	case inHeader:
		if len(line) == 0 {
			return a.endHead()
		}
		return a.header(line)
	case inChunkSize:
		return a.chunkSize(line)
	case inChunkEnd:
		if len(line) != 0 {
			return garbageError("a chunk is longer than it says")
		}
		a.state = inChunkSize
	case inTrailer:
		if len(line) == 0 {
			a.state = answerIsDone
		}
	}
	return nil
}

// statusLine reads HTTP/1.1 200 OK, whose reason may be absent.
func (a *answer) statusLine(line []byte) error {
	rest, ok := bytes.CutPrefix(line, []byte("HTTP/1."))
	if !ok || len(rest) < 5 || (rest[0] != '0' && rest[0] != '1') || rest[1] != ' ' || (len(rest) > 5 && rest[5] != ' ') {
		return garbageError(fmt.Sprintf("the answer starts with %.20q", line))
	}
	status, err := strconv.ParseUint(string(rest[2:5]), 10, 16)
	if err != nil || status < 100 {
		return garbageError(fmt.Sprintf("the status is %.3q", rest[2:]))
	}
	a.status = int(status)
	a.old = rest[0] == '0'
	a.keepAlive = !a.old
	a.state = inHeader
	return nil
}

func (a *answer) header(line []byte) error {
	if line[0] == ' ' || line[0] == '\t' {
		return nil // an obsolete continuation of a value; none that counts has one
	}
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok || len(name) == 0 {
		return garbageError(fmt.Sprintf("a header line is %.20q", line))
	}
	value = bytes.Trim(value, " \t")
	switch len(name) {
	case len("Connection"):
		if bytes.EqualFold(name, []byte("Connection")) {
			a.connection(value)
		}
	case len("X-Brink-Pid"):
		if bytes.EqualFold(name, []byte("X-Brink-Pid")) {
			if n, err := strconv.ParseInt(string(value), 10, 32); err == nil && n > 0 {
				a.pid = int32(n)
			}
		}
	case len("X-Brink-Front"):
		if bytes.EqualFold(name, []byte("X-Brink-Front")) {
			a.by = answererNamed(value)
		}
	case len("Content-Length"):
		if bytes.EqualFold(name, []byte("Content-Length")) {
			return a.contentLength(value)
		}
	case len("Transfer-Encoding"): // as long as X-Brink-Served-Ns
		if bytes.EqualFold(name, []byte("Transfer-Encoding")) {
			// HTTP/1.0 knows no transfer encodings (RFC 9112, section 6.1).
			a.encoded, a.chunked = !a.old, !a.old && endsInChunked(value)
		} else if bytes.EqualFold(name, []byte("X-Brink-Served-Ns")) {
			if n, err := strconv.ParseInt(string(value), 10, 64); err == nil && n >= 0 {
				a.servedNs = n
			}
		}
	}
	return nil
}

func (a *answer) connection(value []byte) {
	for option := range bytes.SplitSeq(value, []byte(",")) {
		option = bytes.Trim(option, " \t")
		if bytes.EqualFold(option, []byte("close")) {
			a.keepAlive = false
		} else if bytes.EqualFold(option, []byte("keep-alive")) {
			a.keepAlive = true
		}
	}
}

func endsInChunked(value []byte) bool {
	last := bytes.Trim(value[bytes.LastIndexByte(value, ',')+1:], " \t")
	return bytes.EqualFold(last, []byte("chunked"))
}

func (a *answer) contentLength(value []byte) error {
	n, err := strconv.ParseUint(string(value), 10, 63)
	if err != nil {
		return garbageError(fmt.Sprintf("the content length is %.20q", value))
	}
	if a.length >= 0 && a.length != int64(n) {
		return garbageError("two content lengths that differ")
	}
	a.length = int64(n)
	return nil
}

// endHead decides how the body is delimited (RFC 9112, section 6.3).
func (a *answer) endHead() error {
	switch {
	case a.status == 101:
		return garbageError("the server switches protocols unasked")
	case a.status < 200: // an interim answer; the real one follows
		head := a.head
		a.reset(a.toHead)
		a.head = head
	case a.toHead || a.status == 204 || a.status == 304:
		a.state = answerIsDone
	case a.chunked:
		a.state = inChunkSize
	case a.encoded || a.length < 0:
		a.keepAlive = false
		a.state = inOpenBody
	case a.length == 0:
		a.state = answerIsDone
	default:
		a.left, a.afterBytes = a.length, answerIsDone
		a.state = inBody
	}
	return nil
}

// chunkSize reads a chunk's length in hexadecimal, ignoring extensions.
func (a *answer) chunkSize(line []byte) error {
	digits, _, _ := bytes.Cut(line, []byte(";"))
	digits = bytes.TrimRight(digits, " \t")
	n, err := strconv.ParseUint(string(digits), 16, 63)
	if err != nil {
		return garbageError(fmt.Sprintf("a chunk's size is %.20q", line))
	}
	a.left, a.afterBytes = int64(n), inChunkEnd
	a.state = inBody
	if n == 0 {
		a.state = inTrailer
	}
	return nil
}
