package report

import (
	"fmt"
	"strconv"

	"brink/internal/experiment"
	"brink/internal/phrase"
)

// factSpeed is the environment's name for how many times slower the plan's
// machine is than the one below it.
const factSpeed = "speed factor"

// emulation says what of a run on a virtual machine is a property of that
// machine, of the share that stands in for the platform, and of the container
// runtime, and not of the platform.
func (b *builder) emulation() error {
	for _, f := range b.m.Environment {
		if x, err := strconv.ParseFloat(f.Value, 64); err == nil && f.Name == factSpeed {
			b.m.Run.SpeedFactor = x
		}
	}
	if a := b.m.Run.Accelerator; a == "" || a == "none" {
		return nil
	}
	say := func(format string, args ...any) { b.m.Emulation = append(b.m.Emulation, fmt.Sprintf(format, args...)) }
	say("%s", accelerated(b.m.Run))
	b.notice("accelerator", "The plan ran on a virtual machine; section 5 says what of the results is a property of the emulation.")
	var share, throttled, container, platform, frontEnd bool
	for _, s := range b.Table.Steps {
		p := s.Plan
		share = share || p.Share != experiment.Share{}
		platform = platform || p.Platform != experiment.Platform{}
		frontEnd = frontEnd || p.Platform.FrontEnd
		if (p.SwapIOPS > 0 || p.SwapMBs > 0) && !throttled {
			throttled = true
			say("The swap disk is held to %s and decides, with the size of swap, how long a start under pressure takes; how fast the platform's own is, is not known.", swapLimits(p))
		}
		for _, a := range s.Apps {
			container = container || a.Deploy == "container"
		}
	}
	if share {
		say("The platform's own share of memory is stood in for by ballast, a sidecar for each app and a hot file: their sizes were chosen so that the plan's readings come near to published ones, and say nothing of what the platform really runs.")
	}
	if platform {
		say("Pings, the start limit, restarts and giving up follow the rules that the plan states; the platform's own rules are not published in full.")
	}
	if container {
		say("Containers run under crun with an overlay on the same image: no image is pulled, no sandbox and no storage of the platform lies between, so what those cost in time and memory is missing here.")
	}
	if frontEnd {
		say("Requests pass brink's front end and a virtual wire on one machine: latency has no share of a data centre's network, of TLS or of the platform's own front end.")
	} else {
		say("Requests come over a virtual wire on one machine: latency has no share of a data centre's network, of TLS or of a platform's front end.")
	}
	return nil
}

// accelerated says what the accelerator does to times.
func accelerated(r Run) string {
	if r.Accelerator != "tcg" {
		return fmt.Sprintf("The plan is a virtual machine under `%s`: its CPUs are this machine's, and not the platform's.", r.Accelerator)
	}
	slower := "by how much was not measured"
	if r.SpeedFactor > 0 {
		slower = fmt.Sprintf("a fixed piece of work took %s times as long as on the machine below", phrase.Number(r.SpeedFactor))
	}
	return fmt.Sprintf("The plan is a virtual machine under `tcg`, which translates every instruction: %s. Times that the CPU decides (imports, starts, bursts, CPU shares) are larger for it; limits and time-outs are seconds of the wall clock, as the file has them. Nothing was scaled.", slower)
}

func swapLimits(p experiment.Plan) string {
	switch {
	case p.SwapIOPS > 0 && p.SwapMBs > 0:
		return fmt.Sprintf("%s operations and %s a second", phrase.Count(int64(p.SwapIOPS)), formatValue(p.SwapMBs, "MB"))
	case p.SwapIOPS > 0:
		return fmt.Sprintf("%s operations a second", phrase.Count(int64(p.SwapIOPS)))
	}
	return formatValue(p.SwapMBs, "MB") + " a second"
}
