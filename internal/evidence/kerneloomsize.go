package evidence

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
	e.Swap = k.swap
}
