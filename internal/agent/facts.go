package agent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"brink/internal/kernel"
	"brink/internal/system"
	"brink/internal/wire"
)

// unreadable stands for a fact that could not be found out.
const unreadable = "unknown"

// Facts describes this machine and the software on it that apps may use. What
// cannot be found out is "unknown"; software that is not there is "none".
func Facts(ctx context.Context) ([]wire.Fact, error) {
	fs, err := kernel.Open("/")
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	return facts(ctx, fs, runAlone), ctx.Err()
}

func facts(ctx context.Context, fs *kernel.FS, run runner) []wire.Fact {
	var list []wire.Fact
	add := func(name, value string) {
		if value == "" {
			value = unreadable
		}
		list = append(list, wire.Fact{Name: name, Value: value})
	}
	add("kernel", kernelRelease())
	add("distribution", field("/etc/os-release", "PRETTY_NAME", "="))
	add("CPU model", field("/proc/cpuinfo", "model name", ":"))
	add("cpus", onlineCPUs(fs))
	_, allowed, _ := AllowedCPUs()
	add("CPUs allowed", allowed)
	add("MemTotal", memory(fs, func(m *kernel.Meminfo) kernel.Num { return m.MemTotal }))
	add("SwapTotal", memory(fs, func(m *kernel.Meminfo) kernel.Num { return m.SwapTotal }))
	add("cgroup", system.CgroupVersion())
	add("agent memory", system.MemoryFact())
	add("clock source", firstLine("/sys/devices/system/clocksource/clocksource0/current_clocksource"))
	add("pressure (PSI)", pressure(fs))
	add("virtual machine", hypervisor())

	versions := pythonFacts(ctx, run)
	for _, name := range []string{"python", "flask", "gunicorn", "gevent", "uvicorn"} {
		add(name, orNone(versions[name]))
	}
	_, node, _ := findNode(ctx, run)
	add("node", orNone(node))
	return list
}

// pythonFacts are the versions of the interpreter that the flask app would run
// on; one that has the other servers too is preferred.
func pythonFacts(ctx context.Context, run runner) map[string]string {
	var first map[string]string
	wanted := []string{"flask", "gunicorn", "gevent", "uvicorn"}
	for n := len(wanted); n >= 2; n-- {
		found, err := findPython(ctx, run, wanted[:n]...)
		if err != nil {
			return first
		}
		if found.Has(wanted[:n]...) {
			return found.Versions
		}
		if first == nil {
			first = found.Versions
		}
	}
	return first
}

func orNone(version string) string {
	if version == "" {
		return "none"
	}
	return version
}

func kernelRelease() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return ""
	}
	text := func(b []byte) string { return unix.ByteSliceToString(b) }
	return fmt.Sprintf("%s %s %s (%s)", text(u.Sysname[:]), text(u.Release[:]), text(u.Machine[:]), text(u.Version[:]))
}

// field returns the first value of key in a file of lines "key SEP value".
func field(path, key, sep string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		k, v, ok := strings.Cut(s.Text(), sep)
		if ok && strings.TrimSpace(k) == key {
			return strings.Trim(strings.TrimSpace(v), `"`)
		}
	}
	return ""
}

func firstLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return line
}

func onlineCPUs(fs *kernel.FS) string {
	s, err := fs.Stat()
	if err != nil {
		return ""
	}
	return fmt.Sprint(len(s.CPU))
}

func memory(fs *kernel.FS, of func(*kernel.Meminfo) kernel.Num) string {
	m, err := fs.Meminfo()
	n := of(&m)
	if err != nil || !n.Known {
		return ""
	}
	return fmt.Sprintf("%d MiB", n.Value>>20)
}

func pressure(fs *kernel.FS) string {
	_, err := fs.PSI(kernel.PSIMemory)
	switch {
	case err == nil:
		return "available"
	case errors.Is(err, kernel.ErrUnavailable):
		return "not available"
	}
	return ""
}

// hypervisor looks for the flag that x86 processors show under one.
func hypervisor() string {
	for _, flag := range strings.Fields(field("/proc/cpuinfo", "flags", ":")) {
		if flag == "hypervisor" {
			return "yes"
		}
	}
	return "no sign of one"
}

// capabilities are what this machine offers beyond the core of the protocol.
func (a *agent) capabilities() []wire.Capability {
	list := []wire.Capability{wire.Affinity}
	if d, err := kernel.DialSockDiag(); err == nil {
		if _, err := d.Listeners(nil); err == nil {
			list = append(list, wire.QueueSignals)
		}
		d.Close()
	}
	if pressure(a.fs) == "available" {
		list = append(list, wire.PSISignals)
	}
	return list
}
