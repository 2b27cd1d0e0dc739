package traffic

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// readAnswer feeds an answer in pieces of the given size, then the end of the
// connection, and returns how many bytes were its own.
func readAnswer(raw string, piece int) (*answer, int, error) {
	a := &answer{}
	a.reset(false)
	used := 0
	for used < len(raw) && a.state != answerIsDone {
		n, err := a.feed([]byte(raw[used:min(len(raw), used+piece)]))
		used += n
		if err != nil {
			return a, used, err
		}
	}
	return a, used, a.close()
}

var answers = []struct {
	name, raw string
	status    int
	body      int64
	keepAlive bool
	err       error // nil, an error of this package or io's, or garbage for any garbageError
}{
	{"length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, 5, true, nil},
	{"bare line feeds", "HTTP/1.1 200 OK\ncontent-length:5\n\nhello", 200, 5, true, nil},
	{"no reason", "HTTP/1.1 503\r\nContent-Length: 0\r\n\r\n", 503, 0, true, nil},
	{"asked to close", "HTTP/1.1 200 OK\r\nConnection: foo, Close\r\nContent-Length: 0\r\n\r\n", 200, 0, false, nil},
	{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, 1, false, nil},
	{"HTTP/1.0 kept", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx", 200, 1, true, nil},
	{"HTTP/1.0 in chunks", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200, 5, false, nil},
	{"until closed", "HTTP/1.1 200 OK\r\n\r\nhello", 200, 5, false, nil},
	{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n5;a=b\r\nhello\r\n1 \r\n!\r\n0\r\nX: y\r\n\r\n", 200, 6, true, nil},
	{"chunks win over length", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", 200, 1, true, nil},
	{"no content", "HTTP/1.1 204 No Content\r\n\r\n", 204, 0, true, nil},
	{"interim answers", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nContent-Length: 7\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, 1, true, nil},
	{"folded header", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n", 200, 0, true, nil},

	{"nothing", "", 0, 0, false, errEmpty},
	{"half a head", "HTTP/1.1 200 OK\r\nContent-", 200, 0, true, io.ErrUnexpectedEOF},
	{"half a body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe", 200, 2, true, io.ErrUnexpectedEOF},
	{"half a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe", 200, 2, true, io.ErrUnexpectedEOF},
	{"no last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n", 200, 2, true, io.ErrUnexpectedEOF},

	{"another protocol", "SSH-2.0-OpenSSH_9.2\r\n", 0, 0, false, garbage},
	{"HTTP/2", "HTTP/2 200\r\n\r\n", 0, 0, false, garbage},
	{"status of two digits", "HTTP/1.1 20 OK\r\n\r\n", 0, 0, false, garbage},
	{"signed status", "HTTP/1.1 +20 OK\r\n\r\n", 0, 0, false, garbage},
	{"no colon", "HTTP/1.1 200 OK\r\nnonsense\r\n\r\n", 200, 0, true, garbage},
	{"length of letters", "HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\n", 200, 0, true, garbage},
	{"negative length", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", 200, 0, true, garbage},
	{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", 200, 0, true, garbage},
	{"chunk size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 200, 0, true, garbage},
	{"chunk too long", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nhello\r\n", 200, 1, true, garbage},
	{"switching", "HTTP/1.1 101 Switching Protocols\r\n\r\n", 101, 0, true, garbage},

	{"endless line", "HTTP/1.1 200 " + strings.Repeat("x", maxHead), 0, 0, false, errEndless},
	{"endless head", "HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", maxHead/6), 200, 0, true, errEndless},
	{"endless interim answers", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", maxHead/24), 0, 0, false, errEndless},
	{"endless trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("A: b\r\n", maxHead/6), 200, 0, true, errEndless},
}

var garbage = garbageError("")

// Expected values follow RFC 9112, sections 4 and 6 to 7.
func TestAnswer(t *testing.T) {
	for _, c := range answers {
		for _, piece := range []int{1, 7, 1 << 20} {
			a, used, err := readAnswer(c.raw, piece)
			if c.err == garbage {
				if _, ok := err.(garbageError); !ok {
					t.Errorf("%s in pieces of %d: error %v, want garbage", c.name, piece, err)
				}
				continue
			}
			if !errors.Is(err, c.err) {
				t.Errorf("%s in pieces of %d: error %v, want %v", c.name, piece, err, c.err)
				continue
			}
			if err == errEndless {
				continue
			}
			if a.status != c.status || a.body != c.body || a.keepAlive != c.keepAlive || used != len(c.raw) {
				t.Errorf("%s in pieces of %d: status %d, body %d, keep %v, used %d; want %d, %d, %v, %d", c.name, piece,
					a.status, a.body, a.keepAlive, used, c.status, c.body, c.keepAlive, len(c.raw))
			}
		}
	}
}

func TestAnswerLeavesWhatFollows(t *testing.T) {
	one := "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"
	if _, used, err := readAnswer(one+"HTTP/1.1", 1<<20); err != nil || used != len(one) {
		t.Errorf("used %d bytes, error %v; want %d", used, err, len(one))
	}
}

func TestAnswerReadsWhoServedIt(t *testing.T) {
	a, _, err := readAnswer("HTTP/1.1 200 OK\r\nx-brink-pid: 4711\r\nX-Brink-Served-Ns: 5000000123\r\nContent-Length: 0\r\n\r\n", 3)
	if err != nil || a.pid != 4711 || a.servedNs != 5_000_000_123 {
		t.Errorf("pid %d, served %d ns, error %v", a.pid, a.servedNs, err)
	}
	a, _, err = readAnswer("HTTP/1.1 200 OK\r\nX-Brink-Pid: -1\r\nX-Brink-Served-Ns: soon\r\nContent-Length: 0\r\n\r\n", 3)
	if err != nil || a.pid != 0 || a.servedNs != -1 {
		t.Errorf("unusable headers gave pid %d, served %d ns, error %v; want 0, -1, nil", a.pid, a.servedNs, err)
	}
}

func TestAnswerToHeadHasNoBody(t *testing.T) {
	a := &answer{}
	a.reset(true)
	head := "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
	if n, err := a.feed([]byte(head)); n != len(head) || err != nil || a.state != answerIsDone {
		t.Errorf("used %d, error %v, state %d", n, err, a.state)
	}
}

// FuzzAnswer checks that an answer means the same however it is cut into pieces,
// and that where net/http reads the same bytes as an answer too, both agree on
// its status and the length of its content.
func FuzzAnswer(f *testing.F) {
	for _, c := range answers {
		if len(c.raw) < 4096 {
			f.Add([]byte(c.raw), uint8(3))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte, piece uint8) {
		whole, usedWhole, errWhole := readAnswer(string(raw), len(raw)+1)
		cut, usedCut, errCut := readAnswer(string(raw), int(piece)+1)
		if (errWhole == nil) != (errCut == nil) {
			t.Fatalf("whole: %v, in pieces: %v", errWhole, errCut)
		}
		if errWhole != nil {
			return
		}
		if whole.status != cut.status || whole.body != cut.body || usedWhole != usedCut {
			t.Fatalf("whole: %d with %d bytes, in pieces: %d with %d bytes", whole.status, whole.body, cut.status, cut.body)
		}
		theirs, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(raw))), nil)
		if err != nil || theirs.StatusCode < 200 {
			return // stricter than we are, or an interim answer, which ReadResponse returns
		}
		body, err := io.Copy(io.Discard, theirs.Body)
		if err != nil {
			return
		}
		if theirs.StatusCode != whole.status || body != whole.body {
			t.Fatalf("net/http: %d with %d bytes, we: %d with %d bytes", theirs.StatusCode, body, whole.status, whole.body)
		}
	})
}
