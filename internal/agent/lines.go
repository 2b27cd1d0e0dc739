package agent

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"brink/internal/clock"
	"brink/internal/wire"
)

const (
	// maxLine is where a line is cut.
	maxLine = 8 << 10
	// An app's stream may hold this many bytes at once, and refills at
	// logRate bytes per second; what exceeds it is counted, not kept. Each line
	// costs lineCost on top of its length.
	logBurst = 4 << 20
	logRate  = 1 << 20
	lineCost = 64
)

// lineReader turns what an app writes into log lines. It always reads on, so
// that an app never blocks on its log.
type lineReader struct {
	clock  clock.Clock
	app    string
	stream string
	// emit receives each line that is kept, seen each line that was complete.
	emit func(wire.Log)
	seen func(line string)

	budget   float64
	refilled time.Time
	lost     int
}

// run reads until the stream ends.
func (l *lineReader) run(r io.Reader) {
	l.budget, l.refilled = logBurst, l.clock.Now()
	br := bufio.NewReaderSize(r, maxLine)
	rest := false // the remainder of a line that was cut
	for {
		chunk, err := br.ReadSlice('\n')
		full := errors.Is(err, bufio.ErrBufferFull)
		if !rest && len(chunk) > 0 {
			l.line(chunk, full)
		}
		rest = full
		if err != nil && !full {
			l.tellLost(wire.Log{App: l.app, AtNs: l.clock.Now().UnixNano(), Stream: l.stream})
			return
		}
	}
}

func (l *lineReader) line(chunk []byte, cut bool) {
	now := l.clock.Now()
	text := strings.TrimRight(string(chunk), "\r\n")
	// NUL is valid UTF-8 but ends a text in too many places.
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	if !cut {
		l.seen(text)
	}
	log := wire.Log{App: l.app, AtNs: now.UnixNano(), Stream: l.stream, Line: text, Cut: cut}
	if !l.afford(now, len(text)+lineCost) {
		l.lost++
		return
	}
	l.tellLost(log)
	l.emit(log)
}

func (l *lineReader) tellLost(like wire.Log) {
	if l.lost > 0 {
		l.emit(notice(like, fmt.Sprintf("%d lines were left out: the app writes more than %d MiB of log per second", l.lost, logRate>>20)))
		l.lost = 0
	}
}

// afford is a token bucket. After a loss it waits until a tenth is refilled,
// so that losses come in few pieces.
func (l *lineReader) afford(now time.Time, cost int) bool {
	l.budget = min(logBurst, l.budget+now.Sub(l.refilled).Seconds()*logRate)
	l.refilled = now
	need := float64(cost)
	if l.lost > 0 {
		need = max(need, logBurst/10)
	}
	if l.budget < need {
		return false
	}
	l.budget -= float64(cost)
	return true
}
