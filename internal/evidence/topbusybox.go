package evidence

var (
	busyboxMem = expression(`^Mem: (\d+)K used, (\d+)K free, (\d+)K shrd, (\d+)K buff, (\d+)K cached`)
	busyboxAvg = expression(`^Load average: (\d+\.\d+) (\d+\.\d+) (\d+\.\d+) \d+/\d+`)
)

// busyboxMemory takes in the line about memory of BusyBox's top, which most small
// images have. What it calls used is all that is not free.
//
// https://git.busybox.net/busybox/tree/procps/top.c
func busyboxMemory(m *Meminfo, from Source, text string) bool {
	found := busyboxMem().FindStringSubmatch(text)
	if found == nil {
		return false
	}
	kib := func(i int, field string) Value {
		from.Field = "Mem " + field
		return parsedNumber(found[i], Bytes, from).Times(1024, Bytes)
	}
	m.MemFree, m.Shmem, m.Buffers, m.Cached = kib(2, "free"), kib(3, "shrd"), kib(4, "buff"), kib(5, "cached")
	m.MemTotal = kib(1, "used").Plus(m.MemFree)
	return true
}

// busyboxLoad takes in its line about load.
func busyboxLoad(m *Machine, from Source, text string) bool {
	found := busyboxAvg().FindStringSubmatch(text)
	if found == nil {
		return false
	}
	from.Field = "Load average"
	for i, v := range []*Value{&m.Load1, &m.Load5, &m.Load15} {
		*v = parsedNumber(found[i+1], NoUnit, from)
	}
	return true
}
