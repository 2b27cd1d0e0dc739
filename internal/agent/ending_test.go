package agent

import (
	"strings"
	"sync"
	"testing"
	"time"

	"brink/internal/clock"
	"brink/internal/system"
	"brink/internal/wire"
)

// notes is a writer that several goroutines may use.
type notes struct {
	mu   sync.Mutex
	text strings.Builder
}

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

func TestAnEndThatTakesLongSaysWhatItWaitsFor(t *testing.T) {
	clk := clock.NewFake(time.Unix(0, 0))
	var said notes
	e := beginEnd(clk, &said)
	e.waits("app web")
	clk.AwaitWaiters(1)
	clk.Advance(30 * time.Second)
	clk.AwaitWaiters(1)
	e.waits("the last look at the apps")
	clk.Advance(30 * time.Second)
	clk.AwaitWaiters(1)
	e.done()
	want := "brink: ending takes 30s, it waits for app web\n" +
		"brink: ending takes 1m0s, it waits for the last look at the apps\n"
	if got := said.String(); got != want {
		t.Errorf("it said %q, want %q", got, want)
	}
}

// A lab that gives up earlier would call an agent stuck that only waits for
// processes without memory.
func TestEveryEndIsWithinTheProtocolsLimit(t *testing.T) {
	apps := gracefulLimit + gracefulLimit/3 + killLimit + drainLimit // all at once
	const strays, share, lab = killLimit, system.RemoveLimit, 2 * farewellLimit
	if longest := apps + strays + share + lab; longest >= wire.ShutdownLimit {
		t.Errorf("an end takes up to %s, a lab waits %s", longest, wire.ShutdownLimit)
	}
}
