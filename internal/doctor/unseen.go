package doctor

import (
	"slices"
	"strings"

	"brink/internal/evidence"
)

// kindsOfEvidence are signals that one look or one export gives, by what a reader
// calls them. Where nothing of a kind was seen, its name stands for all.
var kindsOfEvidence = []struct {
	name    string
	signals []evidence.Signal
}{
	{"the machine's memory and swap", []evidence.Signal{evidence.HasMeminfo, evidence.HasAvailable, evidence.HasSwap, evidence.HasVmstat, evidence.HasReclaimRate, evidence.HasSwapRate,
		evidence.HasRefaultRate}},
	{"pressure (PSI)", []evidence.Signal{evidence.HasMemoryPSI, evidence.HasCPUPSI, evidence.HasIOPSI}},
	{"the machine's CPUs", []evidence.Signal{evidence.HasCPURate, evidence.HasLoad, evidence.HasSched}},
	{"cgroups", []evidence.Signal{evidence.HasCgroupMem, evidence.HasCgroupCPU, evidence.HasThrottle}},
	{"accept queues", []evidence.Signal{evidence.HasListeners, evidence.HasUnixQueues, evidence.HasOverflows}},
	{"workers", []evidence.Signal{evidence.HasPools}},
	{"processes", []evidence.Signal{evidence.HasProcesses}},
	{"kernel log", []evidence.Signal{evidence.HasKernelLog}},
	{"server log", []evidence.Signal{evidence.HasServerLog}},
	{"platform log", []evidence.Signal{evidence.HasPlatformLog}},
	{"containers", []evidence.Signal{evidence.HasContainers}},
	{"requests", []evidence.Signal{evidence.HasRequests}},
	{"metrics", []evidence.Signal{evidence.HasMetrics}},
	{"start command", []evidence.Signal{evidence.HasConfig}},
}

// unseenParts say in few words what could not be seen: first what is there and
// cannot be read, reason by reason, then what nothing here tells of.
func unseenParts(unseen []Unseen) (kept, absent []string) {
	plainly := map[evidence.Signal]bool{}
	var reasons []string
	of := map[string][]string{}
	for _, u := range unseen {
		if toldUnsure(u) {
			continue
		}
		if u.Why == evidence.NotSeen {
			plainly[u.What] = true
			continue
		}
		reason := string(u.Why)
		if u.Detail != "" {
			reason += ": " + u.Detail
		}
		if len(of[reason]) == 0 {
			reasons = append(reasons, reason)
		}
		of[reason] = append(of[reason], string(u.What))
	}
	for _, reason := range reasons {
		kept = append(kept, strings.Join(of[reason], ", ")+" ("+reason+")")
	}
	for _, k := range kindsOfEvidence {
		whole := !slices.ContainsFunc(k.signals, func(s evidence.Signal) bool { return !plainly[s] })
		if whole {
			absent = append(absent, k.name)
			continue
		}
		for _, s := range k.signals {
			if plainly[s] {
				absent = append(absent, string(s))
			}
		}
	}
	return kept, absent
}

// toldUnsure reports whether the checks that are unsure tell of what was not seen.
func toldUnsure(u Unseen) bool {
	return u.What == evidence.HasMetrics && u.Why == evidence.Implausible
}

// unseen says in one paragraph what could not be seen.
func (p *printer) unseen(r *Report) {
	kept, absent := unseenParts(r.Unseen)
	var strangers []string
	for _, s := range r.unread() {
		if text := s.File + " (" + s.Why + ")"; !slices.Contains(strangers, text) { // one name in several folders
			strangers = append(strangers, text)
		}
	}
	if len(kept)+len(absent)+len(strangers) > 0 {
		p.line("", "")
	}
	p.list("not seen", kept, 3)
	if len(absent) > 0 {
		name := "not seen"
		if len(kept) > 0 {
			name = ""
		}
		p.row(name, strings.Join(absent, ", ")+": this counts as unknown, not as healthy.")
	}
	p.list("not read", strangers, 3)
}
