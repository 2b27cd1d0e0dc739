package kernel

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// taskStruct is a struct taskstats as a C compiler laid it out, from the header
// of version 13 and from one with the fields of version 15; the totals are 1001
// to 1005 and everything else is 0xee.
func taskStruct(t testing.TB, file string, version uint16) []byte {
	t.Helper()
	b := must[[]byte](t)(os.ReadFile("testdata/taskstats/" + file))
	native.PutUint16(b, version)
	return b
}

func attr(kind uint16, body []byte) []byte {
	b := native.AppendUint16(nil, uint16(unix.SizeofNlAttr+len(body)))
	b = append(native.AppendUint16(b, kind), body...)
	return append(b, make([]byte, nlAlign(len(b))-len(b))...)
}

func message(kind uint16, seq uint32, body []byte) []byte {
	b := native.AppendUint32(nil, uint32(unix.NLMSG_HDRLEN+len(body)))
	b = native.AppendUint16(native.AppendUint16(b, kind), 0)
	b = append(native.AppendUint32(native.AppendUint32(b, seq), 0), body...)
	return append(b, make([]byte, nlAlign(len(b))-len(b))...)
}

// taskReply is an answer as kernels since 3.0 send it: on 64 bits an empty
// attribute aligns the numbers.
func taskReply(seq uint32, stats []byte) []byte {
	inner := append(attr(unix.TASKSTATS_TYPE_TGID, []byte{1, 0, 0, 0}), attr(unix.TASKSTATS_TYPE_NULL, nil)...)
	inner = append(inner, attr(unix.TASKSTATS_TYPE_STATS, stats)...)
	return message(31, seq, append([]byte{unix.TASKSTATS_CMD_NEW, 1, 0, 0}, attr(unix.TASKSTATS_TYPE_AGGR_TGID, inner)...))
}

func TestDelaysOfEveryVersion(t *testing.T) {
	whole := Delays{num(1001), num(1002), num(1003), num(1004), num(1005)}
	before := whole
	before.ThrashingNanos = Num{}
	for _, c := range []struct {
		name  string
		stats []byte
		want  Delays
	}{
		{"8, before thrashing", taskStruct(t, "v13.bin", 8)[:328], before},
		{"9", taskStruct(t, "v13.bin", 9)[:344], whole},
		{"13", taskStruct(t, "v13.bin", 13), whole},
		{"14, with interrupts", append(taskStruct(t, "v13.bin", 14), make([]byte, 16)...), whole},
		{"15, with more in the middle", taskStruct(t, "v15.bin", 15), whole},
		{"16, with the same at the end", append(taskStruct(t, "v13.bin", 16), make([]byte, 144)...), whole},
		{"17", append(taskStruct(t, "v13.bin", 17), make([]byte, 300)...), whole},
	} {
		var d Delays
		done, err := parseTaskReply(&d, append(message(31, 6, []byte("of an earlier request")), taskReply(7, c.stats)...), 7)
		if !done || err != nil {
			t.Errorf("%s: done %v, %v", c.name, done, err)
		}
		wantEqual(t, c.name, d, c.want)
	}
	var d Delays
	for _, stats := range [][]byte{
		taskStruct(t, "v13.bin", 15), // of which nobody knows the layout
		taskStruct(t, "v13.bin", 3)[:200],
	} {
		if err := d.parse(stats); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%d bytes: %v", len(stats), err)
		}
		wantEqual(t, "delays", d, Delays{})
	}
	errno := native.AppendUint32(nil, ^uint32(unix.ESRCH)+1)
	if done, err := parseTaskReply(&d, message(unix.NLMSG_ERROR, 7, errno), 7); !done || !errors.Is(err, unix.ESRCH) {
		t.Errorf("an error message: done %v, %v", done, err)
	}
}

// Against /proc/PID/schedstat: the wait for a CPU is counted whether or not the
// other delays are.
func TestDelaysLive(t *testing.T) {
	stats, err := live(t).TaskStats()
	if err != nil {
		t.Fatal(err)
	}
	defer stats.Close()
	cmd := start(t, "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; read x")
	p := must[*Process](t)(live(t).OpenProcess(cmd.Process.Pid))
	defer p.Close()
	var d Delays
	if err := stats.Delays(cmd.Process.Pid, &d); errors.Is(err, unix.EPERM) {
		wantEqual(t, "what may not be read", d, Delays{})
		return
	} else if err != nil {
		t.Fatal(err)
	}
	var before, after SchedStat
	eventually(t, "the wait for a CPU lies between two readings of schedstat", func() bool {
		if err := errors.Join(p.SchedStat(&before), stats.Delays(cmd.Process.Pid, &d), p.SchedStat(&after)); err != nil {
			t.Fatal(err)
		}
		return d.CPUNanos.Value >= before.WaitNanos.Value && d.CPUNanos.Value <= after.WaitNanos.Value && after.RunNanos.Value > 0
	})
	sysctl, err := os.ReadFile("/proc/sys/kernel/task_delayacct")
	if off := err == nil && string(sysctl) == "0\n"; off != errors.Is(stats.Accounted(), ErrDelaysOff) {
		t.Errorf("task_delayacct is %q, %v", sysctl, stats.Accounted())
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err := stats.Delays(cmd.Process.Pid, &d); !errors.Is(err, ErrGone) {
		t.Errorf("of a process that has ended: %v", err)
	}
}

func FuzzTaskReply(f *testing.F) {
	f.Add(taskReply(7, taskStruct(f, "v13.bin", 13)))
	f.Add(taskReply(7, taskStruct(f, "v15.bin", 15)))
	f.Add(message(unix.NLMSG_ERROR, 7, []byte{0xfd, 0xff, 0xff, 0xff}))
	f.Add(taskReply(7, []byte{9}))
	f.Fuzz(func(t *testing.T, b []byte) {
		var d Delays
		done, err := parseTaskReply(&d, b, 7)
		if known := d != (Delays{}); known && (!done || err != nil) {
			t.Errorf("read %+v, done %v, %v", d, done, err)
		}
	})
}
