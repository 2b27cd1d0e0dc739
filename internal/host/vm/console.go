package vm

import (
	"bytes"
	"strings"
	"sync"
	"time"

	"brink/internal/clock"
	"brink/internal/guest"
)

// maxConsole bounds what is kept of a guest's console, in bytes.
const maxConsole = 32 << 10

// console keeps the last lines of a guest's serial port. Linux writes there
// when it panics, kills or cannot reach a drive, and so does guest.
type console struct {
	mu   sync.Mutex
	text []byte
	// The first line of each kind, which later ones must not push out.
	alive, failed, panicked, drive, full string
	aliveAt                              time.Time
	seen                                 int // lines before this offset of text were looked at
}

func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = append(c.text, p...)
	for {
		n := bytes.IndexByte(c.text[c.seen:], '\n')
		if n < 0 {
			break
		}
		c.look(strings.TrimSpace(string(c.text[c.seen : c.seen+n])))
		c.seen += n + 1
	}
	if over := len(c.text) - maxConsole; over > 0 {
		c.text = append(c.text[:0], c.text[over:]...)
		c.seen = max(c.seen-over, 0)
	}
	return len(p), nil
}

// look keeps the first line of each kind that says what became of the guest.
func (c *console) look(line string) {
	for _, k := range []struct {
		keep *string
		mark string
	}{
		{&c.alive, guest.Alive}, {&c.failed, guest.Failed}, {&c.full, guest.DiskFull},
		{&c.panicked, "Kernel panic - not syncing"}, {&c.drive, "I/O error, dev nvme"},
	} {
		if _, rest, ok := strings.Cut(line, k.mark); ok && *k.keep == "" {
			if k.keep == &c.alive {
				c.aliveAt = clock.Real.Now()
			}
			*k.keep = strings.Trim(rest, " :,") // it may be empty, and then the mark is all there is
			if *k.keep == "" {
				*k.keep = k.mark
			}
		}
	}
}

// trouble says in words what the guest's console told of its end, or nothing.
func (c *console) trouble() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.panicked != "":
		return "the guest's kernel panicked: " + c.panicked
	case c.failed != "":
		return "the guest could not set itself up: " + c.failed
	case c.full != "":
		return "the guest's disk is full"
	case c.drive != "":
		return "the guest could not read or write one of its drives (is this machine's disk full?): " + c.drive
	}
	return ""
}

// has tells whether the guest's init has begun.
func (c *console) has() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.alive != ""
}

// initAt is when the guest's init began, by the guest's own count since its
// kernel started, such as "1.6 s", and by this machine's clock.
func (c *console) initAt() (count string, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.alive, c.aliveAt
}

// tail returns the last lines, joined for a sentence.
func (c *console) tail() string {
	const lines = 8
	c.mu.Lock()
	defer c.mu.Unlock()
	var last []string
	for line := range strings.Lines(string(c.text)) {
		if line = strings.TrimSpace(line); line != "" {
			last = append(last, line)
		}
	}
	if len(last) == 0 {
		return "its console is empty"
	}
	return "its console ends: " + strings.Join(last[max(0, len(last)-lines):], " | ")
}
