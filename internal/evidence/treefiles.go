package evidence

import (
	"bytes"
	"path"
	"regexp"
	"strings"
	"sync"
)

// Where a file of a captured tree belongs: which reading, and which file below
// the root of proc and sys.
type place struct {
	group string // what stands before proc, sys or cgroup: "t0", "t1/host" …
	rel   string // proc/meminfo; own/memory.max for the capture's own cgroup
}

// ownCgroup is where files of the cgroup that the capture was taken in lie.
const ownCgroup = "own"

// placeOf finds where a name belongs by its directories; ok is false for names
// that lie in no tree.
func placeOf(name string) (p place, ok bool) {
	parts := strings.Split(name, "/")
	for i, part := range parts[:len(parts)-1] {
		rest := strings.Join(parts[i:], "/")
		p.group = strings.Join(parts[:i], "/")
		switch {
		case part == "proc" && wantedProc(parts[i+1:]):
			p.rel = rest
			return p, true
		case part == "sys" && wantedSys(parts[i+1:]):
			p.rel = rest
			return p, true
		case part == "cgroup" && (i == 0 || parts[i-1] != "fs") && cgroupName(parts[len(parts)-1]):
			p.rel = ownCgroup + strings.TrimPrefix(rest, "cgroup")
			return p, true
		}
	}
	return place{}, false
}

// wantedProc says which files below proc are read.
func wantedProc(parts []string) bool {
	name := strings.Join(parts, "/")
	switch name {
	case "meminfo", "vmstat", "loadavg", "uptime", "stat", "swaps", "diskstats", "cgroups",
		"pressure/cpu", "pressure/memory", "pressure/io", "pressure/irq",
		"net/netstat", "net/snmp", "net/tcp", "net/tcp6", strings.TrimPrefix(arcstatsFile, "proc/"),
		"sys/vm/overcommit_memory", "sys/vm/swappiness", "sys/vm/watermark_scale_factor",
		"sys/kernel/osrelease", "sys/kernel/hostname", "sys/net/core/somaxconn":
		return true
	}
	if len(parts) == 2 && isPID(parts[0]) {
		switch parts[1] {
		case "stat", "schedstat", "cgroup":
			return true
		}
	}
	return false
}

func isPID(s string) bool {
	return len(s) > 0 && len(s) < 9 && strings.Trim(s, "0123456789") == ""
}

func wantedSys(parts []string) bool {
	return len(parts) > 2 && parts[0] == "fs" && parts[1] == "cgroup" && cgroupName(parts[len(parts)-1])
}

// cgroupName says which files of a cgroup are read.
func cgroupName(base string) bool {
	switch base {
	case "memory.current", "memory.peak", "memory.max", "memory.high", "memory.swap.current", "memory.swap.max",
		"memory.events", "memory.events.local", "memory.stat", "memory.usage_in_bytes", "memory.limit_in_bytes",
		"memory.max_usage_in_bytes", "memory.failcnt", "memory.oom_control",
		"cpu.stat", "cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpuacct.usage", "cpuacct.stat",
		"pids.current", "pids.max", "pids.events",
		"memory.pressure", "cpu.pressure", "io.pressure", "irq.pressure", "cgroup.controllers":
		return true
	}
	return false
}

// cgroupVersion tells from a file's name, or else its contents, which version
// of cgroups it is of.
func cgroupVersion(base string, data []byte) string {
	switch base {
	case "memory.usage_in_bytes", "memory.limit_in_bytes", "memory.max_usage_in_bytes", "memory.failcnt",
		"memory.oom_control", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpuacct.usage", "cpuacct.stat":
		return "v1"
	case "memory.stat":
		for line := range bytes.Lines(data[:min(len(data), 16<<10)]) {
			key, _, _ := bytes.Cut(line, []byte{' '})
			switch string(key) {
			case "anon", "file", "anon_thp":
				return "v2"
			case "cache", "rss", "total_rss", "hierarchical_memory_limit":
				return "v1"
			}
		}
		return ""
	case "cpu.stat":
		if bytes.Contains(data, []byte("throttled_time")) {
			return "v1"
		}
		if bytes.Contains(data, []byte("_usec")) {
			return "v2"
		}
		return ""
	}
	return "v2"
}

var readingName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^t\d{1,5}$`) })

// split takes the reading's name off a group: "b/t1" is reading t1 of b.
func (p place) split() (rest, reading string) {
	dir, last := path.Split(p.group)
	if readingName().MatchString(last) {
		return strings.TrimSuffix(dir, "/"), last
	}
	return p.group, ""
}

// ofOneProcess reports whether a name is that of a file in which /proc shows one
// process's view: two of them are two processes, and no two readings.
func ofOneProcess(name string) bool {
	parts := strings.Split(name, "/")
	for i, part := range parts[:max(len(parts)-2, 0)] {
		if (isPID(part) || part == "self" || part == "thread-self") && (parts[i+1] == "net" || parts[i+1] == "task") {
			return true
		}
	}
	return false
}

// looseKernelFile recognises a file of the kernel that lies in no tree, by its
// contents and, where these do not settle it, its name.
func looseKernelFile(f *file) (rel string, ok bool) {
	base := strings.ToLower(strings.TrimSuffix(path.Base(f.name), ".txt"))
	head := f.data[:min(len(f.data), 4<<10)]
	first, _, _ := bytes.Cut(bytes.TrimLeft(head, " \r\n"), []byte{'\n'})
	switch {
	case cgroupName(base):
		return ownCgroup + "/" + base, true
	case meminfoHead().Match(head):
		return "proc/meminfo", true
	case vmstatHead().Match(head):
		return "proc/vmstat", true
	case bytes.HasPrefix(first, []byte("some avg10=")), bytes.HasPrefix(first, []byte("full avg10=")):
		for _, resource := range []string{"memory", "cpu", "io", "irq"} {
			if strings.Contains(base, resource) || strings.Contains(strings.ToLower(path.Dir(f.name)), resource) {
				return "proc/pressure/" + resource, true
			}
		}
	case bytes.HasPrefix(first, []byte("TcpExt: ")):
		return "proc/net/netstat", true
	case bytes.HasPrefix(first, []byte("cpu  ")):
		return "proc/stat", true
	case bytes.Contains(head, []byte("name                            type data")):
		return arcstatsFile, true
	case base == "loadavg" && loadavgHead().Match(first):
		return "proc/loadavg", true
	case base == "uptime" && uptimeHead().Match(first):
		return "proc/uptime", true
	}
	return "", false
}

var (
	meminfoHead = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^(?:Node \d+ )?(?:MemTotal|MemFree|MemAvailable|SwapTotal): +\S+ kB`)
	})
	vmstatHead = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^(?:nr_free_pages|pgfault|pswpin|pgscan_kswapd\w*|pgsteal_kswapd\w*|workingset_refault\w*|allocstall\w*) \d+\r?$`)
	})
	loadavgHead = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\d.]+ [\d.]+ [\d.]+ \d+/\d+`) })
	uptimeHead  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d+\.\d+ \d+\.\d+\s*$`) })
)
