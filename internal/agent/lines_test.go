package agent

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"brink/internal/clock"
	"brink/internal/wire"
)

// readLines feeds input to a reader on a clock that stands still.
func readLines(input io.Reader) (logs []wire.Log, seen []string) {
	l := &lineReader{
		clock: clock.NewFake(time.Unix(1, 0)), app: "a", stream: "stderr",
		emit: func(l wire.Log) { logs = append(logs, l) },
		seen: func(s string) { seen = append(seen, s) },
	}
	l.run(input)
	return logs, seen
}

func TestLinesAreCutAndMadeText(t *testing.T) {
	long := strings.Repeat("x", 3*maxLine)
	for _, tc := range []struct {
		name, input string
		want        []string
		cut         []bool
	}{
		{"lines", "one\ntwo\r\n\nlast", []string{"one", "two", "", "last"}, []bool{false, false, false, false}},
		{"a long line", long + "\nnext\n", []string{long[:maxLine], "next"}, []bool{true, false}},
		{"no newline at all", long, []string{long[:maxLine]}, []bool{true}},
		{"binary", "a\xff\xfe\x00b\n", []string{"a\uFFFD\uFFFDb"}, []bool{false}},
		{"nothing", "", nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			logs, _ := readLines(strings.NewReader(tc.input))
			if len(logs) != len(tc.want) {
				t.Fatalf("%d lines, want %d", len(logs), len(tc.want))
			}
			for i, l := range logs {
				if l.Line != tc.want[i] || l.Cut != tc.cut[i] || l.App != "a" || l.Stream != "stderr" || l.AtNs != 1e9 {
					t.Errorf("line %d: %.40q cut=%t %+v, want %.40q cut=%t", i, l.Line, l.Cut, l.AtNs, tc.want[i], tc.cut[i])
				}
			}
		})
	}
}

func TestAnythingAnAppWritesIsLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		input := rapid.SliceOf(rapid.Byte()).Draw(t, "input")
		logs, seen := readLines(bytes.NewReader(input))
		want := bytes.Count(input, []byte("\n"))
		if len(input) > 0 && input[len(input)-1] != '\n' {
			want++
		}
		if len(logs) != want || len(seen) != want {
			t.Fatalf("%d lines, %d seen, want %d", len(logs), len(seen), want)
		}
		for _, l := range logs {
			if !utf8.ValidString(l.Line) || strings.ContainsAny(l.Line, "\n\x00") {
				t.Fatalf("line %q is not one line of text", l.Line)
			}
		}
	})
}

// An app that floods its log loses lines, and the loss is told with its size.
func TestAFloodIsBoundedAndCounted(t *testing.T) {
	const total = 200_000
	line := strings.Repeat("y", 99) + "\n"
	logs, seen := readLines(strings.NewReader(strings.Repeat(line, total)))
	bytes, kept := 0, 0
	for _, l := range logs[:len(logs)-1] {
		bytes += len(l.Line)
		kept++
	}
	if bytes > logBurst {
		t.Errorf("%d bytes were kept while no time passed, want at most %d", bytes, logBurst)
	}
	if len(seen) != total {
		t.Errorf("%d lines were looked at for events, want all %d", len(seen), total)
	}
	want := fmt.Sprintf("[brink] %d lines were left out: the app writes more than 1 MiB of log per second", total-kept)
	if got := logs[len(logs)-1].Line; got != want {
		t.Errorf("the last line is %q, want %q", got, want)
	}
}

func TestTheOutboxNeverBlocksAndCountsWhatItDrops(t *testing.T) {
	lab, agentEnd := newPipe(t)
	o := newOutbox(wire.NewConn(agentEnd))
	// Nobody reads: everything must return all the same.
	const lines = 2000
	for range lines {
		o.log(wire.Log{App: "a", Stream: "stdout", Line: strings.Repeat("z", maxLine)})
	}
	o.put(wire.Event{App: "a", Kind: wire.Exited})
	o.close()
	var logs, events int
	var notice string
	conn := wire.NewConn(lab)
	for events == 0 || notice == "" {
		m, err := conn.Receive()
		if err != nil {
			t.Fatal(err)
		}
		switch m := m.(type) {
		case wire.Event:
			events++
		case wire.Log:
			if strings.HasPrefix(m.Line, "[brink]") {
				notice = m.Line
			} else {
				logs++
			}
		}
	}
	if logs > maxLogBacklog/maxLine+1 || logs == 0 {
		t.Errorf("%d lines were kept, want at most %d", logs, maxLogBacklog/maxLine+1)
	}
	if want := fmt.Sprintf("[brink] %d lines were left out: the lab did not keep up", lines-logs); notice != want {
		t.Errorf("notice %q, want %q", notice, want)
	}
	<-o.done
}
