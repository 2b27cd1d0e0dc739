package agent

import (
	"encoding/binary"
	"hash/fnv"
	"runtime"
	"time"

	"brink/internal/clock"
)

// Speed returns how long a fixed amount of work takes on this machine, the best
// of three times: arithmetic over memory that does not fit into a small cache.
// Only its ratio to another machine's says anything.
func Speed(clk clock.Clock) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	memory := make([]byte, 4<<20)
	best := time.Duration(0)
	for try := range 3 {
		begin := clk.Now()
		for round := range 4 {
			noise(memory, uint64(round)+1)
			h := fnv.New64a()
			_, _ = h.Write(memory) // never fails
			binary.LittleEndian.PutUint64(memory, h.Sum64())
		}
		if took := clk.Now().Sub(begin); try == 0 || took < best {
			best = took
		}
	}
	return best
}
