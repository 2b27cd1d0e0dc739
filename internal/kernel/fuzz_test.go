package kernel

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// fuzzParser feeds a parser the files of the captured trees, whole, cut off,
// in one long line and spoiled. It must not panic, must call nothing but a
// FieldError an error, and must not let the reading before show through.
func fuzzParser[T any](f *testing.F, pattern string, parse func(*T, []byte) error) {
	f.Helper()
	names := must[[]string](f)(filepath.Glob(pattern))
	if len(names) == 0 {
		f.Fatalf("no seed matches %s", pattern)
	}
	for _, name := range names {
		b := must[[]byte](f)(os.ReadFile(name))
		f.Add(b)
		f.Add(b[:len(b)/2])
		f.Add([]byte(strings.ReplaceAll(string(b), "\n", " ")))
		f.Add([]byte(strings.ReplaceAll(string(b), " ", "\x00-")))
	}
	f.Add([]byte(strings.Repeat("9", 1<<16)))
	f.Add([]byte(strings.Repeat("\n", 1<<10)))
	f.Add([]byte("(:\xff)"))
	seed := must[[]byte](f)(os.ReadFile(names[0]))
	f.Fuzz(func(t *testing.T, b []byte) {
		var fresh, used T
		err := parse(&fresh, b)
		if fe := (*FieldError)(nil); err != nil && (!errors.As(err, &fe) || fe.Line < 1 || len(fe.Text) > 100) {
			t.Errorf("error %v", err)
		}
		_ = parse(&used, seed)
		clearReading(&used)
		if again := parse(&used, b); (again == nil) != (err == nil) {
			t.Errorf("errors %v and %v for the same text", err, again)
		}
		if !sameReading(fresh, used) {
			t.Errorf("read %+v, and after another reading %+v", fresh, used)
		}
	})
}

// sameReading takes an empty slice for a nil one.
func sameReading[T any](a, b T) bool {
	switch a := any(a).(type) {
	case Stat:
		b := any(b).(Stat)
		same := len(a.CPU) == len(b.CPU) && (len(a.CPU) == 0 || reflect.DeepEqual(a.CPU, b.CPU))
		a.CPU, b.CPU = nil, nil
		return same && reflect.DeepEqual(a, b)
	case Diskstats:
		b := any(b).(Diskstats)
		return len(a.Disks) == 0 && len(b.Disks) == 0 || reflect.DeepEqual(a, b)
	case Swaps:
		b := any(b).(Swaps)
		return len(a.Areas) == 0 && len(b.Areas) == 0 || reflect.DeepEqual(a, b)
	case children:
		b := any(b).(children)
		return len(a.pids) == 0 && len(b.pids) == 0 || reflect.DeepEqual(a, b)
	case PIDStat:
		// The name is kept by clearReading, so that it need not be made anew;
		// a line that is not understood clears it.
		return a == any(b).(PIDStat)
	}
	return reflect.DeepEqual(a, b)
}

func FuzzMeminfo(f *testing.F) { fuzzParser(f, "testdata/*/proc/meminfo", parseMeminfo) }
func FuzzVmstat(f *testing.F) {
	fuzzParser(f, "testdata/*/proc/vmstat", func(v *Vmstat, b []byte) error { return parseVmstat(nil, v, b) })
}
func FuzzStat(f *testing.F)        { fuzzParser(f, "testdata/*/proc/stat", parseStat) }
func FuzzDiskstats(f *testing.F)   { fuzzParser(f, "testdata/*/proc/diskstats", parseDiskstats) }
func FuzzControllers(f *testing.F) { fuzzParser(f, "testdata/*/proc/cgroups", parseControllers) }
func FuzzSwaps(f *testing.F)       { fuzzParser(f, "testdata/*/proc/swaps", parseSwaps) }
func FuzzLoadavg(f *testing.F)     { fuzzParser(f, "testdata/*/proc/loadavg", parseLoadavg) }
func FuzzLastPID(f *testing.F)     { fuzzParser(f, "testdata/*/proc/loadavg", parseLastPID) }
func FuzzForks(f *testing.F)       { fuzzParser(f, "testdata/*/proc/stat", parseForks) }
func FuzzPSI(f *testing.F)         { fuzzParser(f, "testdata/*/proc/pressure/*", parsePSI) }
func FuzzNetstat(f *testing.F)     { fuzzParser(f, "testdata/*/proc/net/[ns]*", parseNetstat) }
func FuzzListenEvents(f *testing.F) {
	fuzzParser(f, "testdata/*/proc/net/netstat", parseListenEvents)
}
func FuzzPIDStat(f *testing.F)   { fuzzParser(f, "testdata/*/proc/[0-9]*/stat", parsePIDStat) }
func FuzzPIDStatus(f *testing.F) { fuzzParser(f, "testdata/*/proc/[0-9]*/status", parsePIDStatus) }
func FuzzSchedStat(f *testing.F) { fuzzParser(f, "testdata/*/proc/[0-9]*/schedstat", parseSchedStat) }
func FuzzChildren(f *testing.F) {
	fuzzParser(f, "testdata/*/proc/[0-9]*/task/*/children", parseChildren)
}

// FuzzCgroup reads any text as every file of both versions.
func FuzzCgroup(f *testing.F) {
	type both struct {
		mem CgroupMemory
		cpu CgroupCPU
	}
	fuzzParser(f, "testdata/*/sys/fs/cgroup/*/app/*", func(dst *both, b []byte) error {
		var err error
		for _, p := range append(memoryV1[:len(memoryV1):len(memoryV1)], memoryV2...) {
			dst.mem = CgroupMemory{}
			err = errors.Join(err, understand(p, &dst.mem, b))
		}
		for _, p := range append(append(cpuV1[:len(cpuV1):len(cpuV1)], cpuV2...), cpuacctV1...) {
			dst.cpu = CgroupCPU{}
			err = errors.Join(err, understand(p, &dst.cpu, b))
		}
		return err
	})
}

func understand[T any](p part[T], dst *T, b []byte) error {
	if p.flat != nil {
		return p.flat(nil, dst, b)
	}
	return p.parse(dst, b)
}

func FuzzCgroupPaths(f *testing.F) {
	fuzzParser(f, "testdata/*/proc/[0-9]*/cgroup", func(dst *map[string]string, b []byte) error {
		var err error
		*dst, err = parseCgroupPaths(b)
		return err
	})
}

// FuzzMountinfo also asks where a cgroup lies: never outside the mount.
func FuzzMountinfo(f *testing.F) {
	for _, name := range must[[]string](f)(filepath.Glob("testdata/*/proc/*/mountinfo")) {
		f.Add(must[[]byte](f)(os.ReadFile(name)), "/system.slice/web.service")
	}
	f.Add([]byte("1 1 0:1 / /../.. rw - cgroup2 a b\n"), "/../../etc")
	f.Fuzz(func(t *testing.T, b []byte, cgroup string) {
		m := parseMountinfo(b)
		if m.unified == nil {
			return
		}
		if dir, ok := m.unified.within(cgroup); ok && m.unified.dir != "" && !strings.HasPrefix(dir, m.unified.dir) {
			t.Errorf("%q in %+v lies at %q", cgroup, *m.unified, dir)
		}
	})
}

func FuzzTCPTable(f *testing.F) {
	fuzzParser(f, "testdata/*/proc/net/tcp*", func(dst *[]diagSocket, b []byte) error {
		*dst = nil
		return parseTCPTable(b, func(s *diagSocket) { *dst = append(*dst, *s) })
	})
}

// FuzzDiag walks netlink messages, starting from what this kernel answers.
func FuzzDiag(f *testing.F) {
	d := diag(f)
	for _, asked := range []diagRequest{
		{family: unix.AF_INET, states: 1 << tcpListen},
		{family: unix.AF_INET6, states: 1<<tcpListen | 1<<tcpEstablished, info: true},
	} {
		if err := errors.Join(d.start(asked), d.receive()); err != nil {
			f.Fatal(err)
		}
		f.Add(d.msgs.seq, append([]byte(nil), d.msgs.rest...))
		f.Add(d.msgs.seq, append([]byte(nil), d.msgs.rest[:len(d.msgs.rest)/2]...))
		for more, err := true, error(nil); more; {
			if _, more, err = d.next(asked.family); err != nil {
				f.Fatal(err)
			}
		}
	}
	f.Fuzz(func(t *testing.T, seq uint32, b []byte) {
		m := diagMessages{rest: b, seq: seq}
		for left := len(b) + 1; ; {
			body, done, err := m.next()
			if body == nil || done || err != nil {
				return
			}
			if len(m.rest) >= left {
				t.Fatal("a message took nothing away")
			}
			left = len(m.rest)
			if s, err := parseDiagSocket(body); err == nil && !s.local.IsValid() {
				t.Errorf("a socket without an address: %+v", s)
			}
		}
	})
}
