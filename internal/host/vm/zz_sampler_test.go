package vm

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"brink/internal/experiment"
)

func TestZZSampler(t *testing.T) {
	plan := experiment.Plan{CPUs: 1, MemoryMB: 420, SwapMB: 900, SwapIOPS: 150, SwapMBs: 12,
		Share: experiment.Share{BallastMB: 220, HotMB: 160, HotEvery: experiment.Duration(time.Second)}}
	s, o := open(t, plan, time.Second)
	for _, n := range []string{"a", "b"} {
		app := flask(n)
		app.AllocMB = 130
		go s.Deploy(t.Context(), app)
	}
	time.Sleep(60 * time.Second)
	f, _ := os.Create("/tmp/sampler_vm.jsonl")
	defer f.Close()
	e := json.NewEncoder(f)
	for _, n := range []string{"", "a", "b"} {
		for _, x := range o.Samples(n) {
			e.Encode(x)
		}
	}
}
