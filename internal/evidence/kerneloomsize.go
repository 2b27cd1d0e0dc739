package evidence

import "strings"

// unlimitedKB is above what any machine has: the kernel prints the largest
// number of pages where there is no limit.
const unlimitedKB = 1 << 50

// oomLimitOf is the limit of the cgroup that a report is about, as kernels from
// 3.x on print it with what is in use.
func oomLimitOf(l *logLine, text string) Value {
	limit := l.number(oomUsage().FindStringSubmatch(text)[1], "limit", Bytes)
	if limit.AtLeast(unlimitedKB) {
		return Value{}
	}
	return limit.Times(1024, Bytes)
}

// sized gives a kill what the report has told of the sizes of what was full.
func (k *kernelLogState) sized(e *Event) {
	if e.OOMGlobal == No {
		e.MemoryLimit = k.limit
	}
	if strings.HasPrefix(k.constraint, "CONSTRAINT_") {
		e.Reason = k.constraint
	}
	e.Swap = k.swap
}

// boundTo is a constraint as the kernel calls it, with the NUMA nodes that it allows:
// a memory policy by nodemask, a cpuset by mems_allowed.
func boundTo(constraint, summary string) string {
	field := "nodemask"
	if constraint == "CONSTRAINT_CPUSET" {
		field = "mems_allowed"
	}
	_, rest, _ := strings.Cut(summary, ","+field+"=")
	// The list has commas itself: it ends where the next field begins.
	end := len(rest)
	for i := range len(rest) {
		if rest[i] != ',' && rest[i] != '-' && (rest[i] < '0' || rest[i] > '9') {
			end = i
			break
		}
	}
	if nodes := strings.Trim(rest[:end], ","); nodes != "" {
		return constraint + ", nodes " + nodes
	}
	return constraint
}
