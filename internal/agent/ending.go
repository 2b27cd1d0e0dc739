package agent

import (
	"context"
	"errors"
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

// endSampling stops sampling even if the lab does not read.
func (a *agent) endSampling(conn io.Closer) {
	ended := make(chan struct{})
	go func() {
		a.sampling.stop()
		close(ended)
	}()
	select {
	case <-ended:
	case <-a.clock.After(farewellLimit):
		conn.Close()
		<-ended
	}
}

// stopApps stops all apps at once, then ends what they left behind.
func (a *agent) stopApps(end *end) error {
	apps := a.list()
	for _, p := range apps {
		p.stop(errStopped)
	}
	var err error
	for _, p := range apps {
		end.waits("app " + p.spec.Name)
		<-p.gone
		err = errors.Join(err, p.leftErr)
	}
	end.waits("processes that no app can be made out for")
	return errors.Join(err, a.observer.killStrays())
}
