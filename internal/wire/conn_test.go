package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// loop is a stream whose reads return what was written to it.
func loop() *Conn { return NewConn(new(bytes.Buffer)) }

func TestMessagesSurviveTheWire(t *testing.T) {
	code := 3
	for _, m := range []Message{
		Hello{Version: Version, Program: "brink 1", Capabilities: []Capability{Affinity, QueueSignals}},
		Request{ID: 7, Method: Deploy, Body: []byte(`{"name":"a"}`)},
		Response{ID: 7, Fault: &Fault{Kind: StartFailed, Text: "exited with code 3"}},
		Response{ID: 8, Body: []byte(`[1,2]`)},
		Event{App: "a", AtNs: 5, Kind: Exited, Pid: 9, Code: &code, Detail: "é\n"},
		Event{App: "a", Kind: Deployed, Addr: "127.0.0.1:8000"},
		Log{App: "a", AtNs: 6, Stream: "stderr", Line: "x", Cut: true},
	} {
		c := loop()
		if err := c.Send(m); err != nil {
			t.Fatal(err)
		}
		got, err := c.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, m) {
			t.Errorf("sent %#v, received %#v", m, got)
		}
		if _, err := c.Receive(); err != io.EOF {
			t.Errorf("after the last message: %v, want io.EOF", err)
		}
	}
}

func TestSamplesSurviveTheWire(t *testing.T) {
	c := loop()
	rapid.Check(t, func(t *rapid.T) {
		want := Sample{App: rapid.String().Draw(t, "app")}
		for _, n := range want.Numbers() {
			*n = rapid.Int64().Draw(t, "n")
		}
		if err := c.Send(&want); err != nil {
			t.Fatal(err)
		}
		got, err := c.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if *got.(*Sample) != want {
			t.Fatalf("sent %+v, received %+v", want, got)
		}
	})
}

// Every number of a Sample must travel, in the order of the fields, under a
// name of its own: reflection finds what was forgotten in Numbers.
func TestEveryNumberOfASampleTravels(t *testing.T) {
	var s Sample
	numbers, names := s.Numbers(), SampleNames()
	v := reflect.ValueOf(&s).Elem()
	if want := v.NumField() - 1; SampleNumbers != want {
		t.Fatalf("%d numbers travel, the sample has %d", SampleNumbers, want)
	}
	seen := map[string]bool{}
	for i, n := range numbers {
		f := v.Type().Field(i + 1)
		if n != v.Field(i+1).Addr().Interface() {
			t.Errorf("number %d is not the field %s", i, f.Name)
			continue
		}
		if name := names[i]; name == "" || name != strings.ToLower(name) || seen[name] {
			t.Errorf("%s travels as %q", f.Name, name)
		}
		seen[names[i]] = true
	}
	s.Clear()
	for i, n := range numbers {
		if *n != -1 {
			t.Errorf("%s is %d after Clear, want -1", names[i], *n)
		}
	}
}

func TestSendingASampleAllocatesNothing(t *testing.T) {
	c := NewConn(struct {
		io.Reader
		io.Writer
	}{strings.NewReader(""), io.Discard})
	s := &Sample{App: "app1", CPUNs: 1 << 50, RSS: 1 << 31}
	if n := testing.AllocsPerRun(100, func() {
		if err := c.Send(s); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations per sample, want 0", n)
	}
}

func frame(size uint32, kind byte, payload string) []byte {
	b := binary.BigEndian.AppendUint32(nil, size)
	return append(append(b, kind), payload...)
}

func TestReceiveRefuses(t *testing.T) {
	for _, tc := range []struct {
		name  string
		input []byte
		want  string
	}{
		{"text", []byte("HTTP/1.1 200 OK\r\n"), `does not speak brink's protocol`},
		{"an unknown kind", frame(0, 99, ""), `does not speak brink's protocol`},
		{"an oversized frame", frame(1<<20+1, byte(frameEvent), ""), "event of 1048577 bytes; at most 1048576 are allowed"},
		{"bad JSON", frame(1, byte(frameEvent), "{"), "malformed event"},
		{"a short sample", frame(2, byte(frameSample), "\x00\x01"), "malformed sample: it ends too early"},
		{"a name longer than the sample", frame(2, byte(frameSample), "\x7fx"), "malformed sample: it ends too early"},
		{"a long sample", frame(SampleNumbers+2, byte(frameSample), strings.Repeat("\x00", SampleNumbers+2)), "malformed sample: 1 bytes follow it"},
		{"a cut header", []byte{0, 0}, "ended in the middle of a message"},
		{"a cut payload", frame(10, byte(frameEvent), "{"), "ended in the middle of a message"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, err := NewConn(bytes.NewBuffer(tc.input)).Receive()
			if err == nil {
				t.Fatalf("received %#v, want an error", m)
			}
			if !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q, want one line with %q", err, tc.want)
			}
		})
	}
}

func TestSendRefusesAnOversizedMessage(t *testing.T) {
	var out bytes.Buffer
	err := NewConn(&out).Send(Log{Line: strings.Repeat("x", maxPayload)})
	if err == nil || !strings.Contains(err.Error(), "at most 1048576 are allowed") {
		t.Errorf("error %v, want the limit", err)
	}
	if out.Len() != 0 {
		t.Errorf("%d bytes were sent all the same", out.Len())
	}
}

func TestHandshake(t *testing.T) {
	a, b := net.Pipe()
	type result struct {
		hello Hello
		err   error
	}
	theirs := make(chan result, 1)
	go func() {
		h, err := NewConn(b).Handshake(Hello{Program: "lab"})
		theirs <- result{h, err}
	}()
	h, err := NewConn(a).Handshake(Hello{Program: "agent", Capabilities: []Capability{Affinity}})
	if err != nil || h.Program != "lab" || h.Can(Affinity) {
		t.Errorf("agent got %+v, %v", h, err)
	}
	r := <-theirs
	if r.err != nil || r.hello.Program != "agent" || !r.hello.Can(Affinity) || r.hello.Version != Version {
		t.Errorf("lab got %+v, %v", r.hello, r.err)
	}
}

func TestHandshakeRefuses(t *testing.T) {
	for _, tc := range []struct {
		name string
		say  func(*Conn) error
		want string
	}{
		{"another version", func(c *Conn) error { return c.Send(Hello{Version: 99, Program: "brink 9"}) },
			"protocol versions differ: this side (brink 1) speaks 2, the other (brink 9) speaks 99; use the same brink on both"},
		{"no hello", func(c *Conn) error { return c.Send(Event{App: "a"}) },
			"the other side began with a message of kind event where a hello is expected"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b := net.Pipe()
			go func() {
				c := NewConn(b)
				_ = tc.say(c)
				_, _ = io.Copy(io.Discard, b)
			}()
			_, err := NewConn(a).Handshake(Hello{Program: "brink 1"})
			if err == nil || err.Error() != tc.want {
				t.Errorf("error %q, want %q", err, tc.want)
			}
			a.Close()
		})
	}
	t.Run("silence", func(t *testing.T) {
		a, b := net.Pipe()
		b.Close()
		_, err := NewConn(a).Handshake(Hello{})
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("error %v, want an unexpected end", err)
		}
	})
}

// FuzzReceive feeds the decoder anything: it must end with an error and
// never panic, and what it accepts must survive being sent again.
func FuzzReceive(f *testing.F) {
	c := loop()
	for _, m := range []Message{Hello{Version: 1}, Request{ID: 1, Method: Deploy, Body: []byte(`{}`)},
		Response{ID: 1, Fault: &Fault{}}, Event{App: "a"}, Log{Line: "l"}, &Sample{App: "a", RSS: -1}} {
		var b bytes.Buffer
		if err := NewConn(&b).Send(m); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add([]byte("GET / HTTP/1.1\r\n"))
	f.Add(frame(1<<31, byte(frameSample), "x"))
	f.Fuzz(func(t *testing.T, input []byte) {
		in := NewConn(bytes.NewBuffer(input))
		for {
			m, err := in.Receive()
			if err != nil {
				return
			}
			if err := c.Send(m); err != nil {
				continue // JSON may grow past the limit when it is escaped
			}
			again, err := c.Receive()
			if err != nil {
				t.Fatalf("%#v cannot be received again: %v", m, err)
			}
			if s, ok := m.(*Sample); ok && *s != *again.(*Sample) {
				t.Fatalf("%+v became %+v", s, again)
			}
		}
	})
}
