package agent

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"brink/internal/clock"
)

// tellEvery is how often an end that takes long says what it waits for.
const tellEvery = 30 * time.Second

// end tells what the end of an agent waits for, so that one which does not come
// has a reason.
type end struct {
	what atomic.Value // of string
	stop context.CancelFunc
}

// beginEnd begins to tell w, which may be nil.
func beginEnd(clk clock.Clock, w io.Writer) *end {
	ctx, stop := context.WithCancel(context.Background())
	e := &end{stop: stop}
	if w == nil {
		return e
	}
	began := clk.Now()
	go func() {
		for clk.Sleep(ctx, tellEvery) == nil {
			took := clk.Now().Sub(began).Round(time.Second)
			// Who cannot be told needs no telling.
			_, _ = fmt.Fprintf(w, "brink: ending takes %s, it waits for %s\n", took, e.what.Load())
		}
	}()
	return e
}

// waits says what comes next.
func (e *end) waits(what string) { e.what.Store(what) }

// done ends the telling.
func (e *end) done() { e.stop() }
