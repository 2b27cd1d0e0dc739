package report

import (
	"fmt"
	"strconv"
	"strings"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/metric"
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
	b.notice("accelerator", "The plan ran on a virtual machine; section 13 says what of the results is a property of the emulation.")
	b.m.Emulation = append([]string{accelerated(b.m.Run)}, partsOf(b.executed()).says()...)
	return nil
}

// emulatedParts are the parts of the plans that stand in for something of the
// platform.
type emulatedParts struct {
	share, platform, frontEnd bool
	containers, limited       bool
	swap                      []string
}

func partsOf(steps []measure.StepInfo) emulatedParts {
	var x emulatedParts
	for _, s := range steps {
		p := s.Plan
		x.share = x.share || p.Share != experiment.Share{}
		x.platform = x.platform || p.Platform != experiment.Platform{}
		x.frontEnd = x.frontEnd || p.Platform.FrontEnd
		if p.SwapIOPS > 0 || p.SwapMBs > 0 {
			x.swap = distinct(append(x.swap, swapLimits(p)))
		}
		for _, a := range s.Apps {
			if a.Deploy == "container" {
				x.containers = true
				x.limited = x.limited || a.MemoryLimitMB > 0
			}
		}
	}
	return x
}

// says is one sentence for each part.
func (x emulatedParts) says() []string {
	var all []string
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if len(x.swap) > 0 {
		held := x.swap[0]
		if len(x.swap) > 1 {
			held += ", in other steps to " + strings.Join(x.swap[1:], " or to ")
		}
		say("The swap disk is held to %s. That and the size of swap decide how long a start under pressure takes; how fast the platform's own disk is, is not known.", held)
	}
	if x.share {
		say("The platform's own share of memory is stood in for by ballast, by a sidecar for each app (where App Service has its SCM container) and by a file that is read again and again (for the platform's page cache): their sizes were chosen so that the plan's readings come near to published ones, and say nothing of what the platform really runs.")
	}
	if x.platform {
		say("Pings, the start limit, restarts and giving up follow the rules that the plan states; the platform's own rules are not published in full.")
	}
	if x.containers {
		x.sayContainers(say)
	}
	if x.frontEnd {
		say("Requests pass a front end that is a part of brink's own process, outside of the plan, and then a virtual wire on one machine: latency has no share of a data centre's network, of TLS or of the platform's front ends, and what the front end costs is not the plan's.")
	} else {
		say("Requests come over a virtual wire on one machine: latency has no share of a data centre's network, of TLS or of a platform's front end.")
	}
	return all
}

// sayContainers says what containers here lack of the platform's, as
// internal/system makes them.
func (x emulatedParts) sayContainers(say func(string, ...any)) {
	say("A container runs under crun with mount, IPC and UTS namespaces and a cgroup of its own. It shares the machine's network and process ids; it has no user namespace and no seccomp filter, and no containerd, shim or other process of the host stands beside it: what those cost in time and memory is missing here.")
	say("A container's root is an overlay on the machine's own /usr and /etc: nothing is pulled from a registry or unpacked, and all apps, zips among them, share the page cache of that one lower layer, where images of different apps would each bring their own.")
	if !x.limited {
		say("Containers have no memory limit of their own here, so that none is killed for crossing it.")
	}
}

// whyHere says of a metric that was published what of the distance between the
// published figures and ours the emulation makes, empty for nothing that is
// known.
func (b *builder) whyHere(name string) string {
	r := b.m.Run
	if r.Accelerator == "" || r.Accelerator == "none" {
		return ""
	}
	var says []string
	if c := b.Design.Experiment.Calibration; c != nil && c.Metric == name {
		says = append(says, fmt.Sprintf("in %s it is near by construction, since the platform's share was sized for that", c.Step))
	}
	x := partsOf(b.executed())
	slower := r.Accelerator == "tcg"
	m, _ := metric.Lookup(name)
	switch {
	case strings.HasPrefix(name, "latency_"):
		says = append(says, "no network of a data centre, TLS or front end of the platform is in it")
	case strings.HasPrefix(name, "cold_start"):
		if len(x.swap) > 0 {
			says = append(says, "the speed of the swap disk is the plan's choice")
		}
		says = append(says, "nothing is fetched from storage or a registry")
		if slower {
			says = append(says, factorOf(r)+" what the CPU does in it")
		}
	case strings.Contains(name, "cpu_pct") || strings.HasSuffix(name, "_cpu_start_pct"):
		says = append(says, "what else the platform computes is not there")
		if slower {
			says = append(says, factorOf(r)+" the apps' own work")
		}
	case x.share && (strings.HasPrefix(name, "memory_") && m.Unit == "%" || strings.HasPrefix(name, "swap_used")):
		says = append(says, "what the platform takes is a stand-in")
	case x.share && (strings.HasPrefix(name, "pgscan") || strings.HasPrefix(name, "psi_") || strings.HasPrefix(name, "pswp") || name == "allocstalls"):
		says = append(says, "how much is scanned and how long tasks stall follows from the stand-in's size and from the swap disk")
	}
	return strings.Join(says, "; ")
}

// factorOf is what translation does to work, as the beginning of a clause.
func factorOf(r Run) string {
	if r.SpeedFactor > 0 {
		return fmt.Sprintf("translation makes %s times as much of", phrase.Number(r.SpeedFactor))
	}
	return "translation makes more of"
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
