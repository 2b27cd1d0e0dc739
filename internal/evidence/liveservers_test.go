//go:build linux

package evidence

import (
	"bytes"
	"net"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"brink/internal/gauge"
	"brink/internal/servertest"
)

// One worker holds a request, and four wait behind it where three are allowed,
// since the kernel lets one more in (unix_recvq_full in net/unix/af_unix.c): in
// each reading, live and of a bundle, as of TCP.
func TestEveryReadingHasTheQueuesOfUnixSockets(t *testing.T) {
	p := servertest.GunicornApp(t, "unix", "@DIR@/u.sock", holdApp, "-w1", "--backlog", "3", "--timeout", "60")
	path := filepath.Join(p.Dir, "u.sock")
	servertest.Ask(t, "unix", path, 1)
	time.Sleep(500 * time.Millisecond) // until the worker has taken it
	servertest.Ask(t, "unix", path, 4)
	live, err := Live(t.Context(), Options{For: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	wantWhole(t, live)
	var buf bytes.Buffer
	if _, err := Collect(t.Context(), &buf, CollectOptions{Every: 150 * time.Millisecond, For: 300 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*Case{"live": live, "bundle": readArchive(t, buf.Bytes())} {
		if len(c.Readings) < 2 {
			t.Fatalf("%s: %d readings", name, len(c.Readings))
		}
		for i := range c.Readings {
			l := c.Readings[i].Listener(path)
			if l == nil || !l.Unix || l.Queue.Number != 4 || l.Backlog.Number != 3 || !l.Full() {
				t.Errorf("%s, reading %d: %+v, want 4 of 3", name, i, l)
			}
		}
	}
}

// Workers whose import outlasts --timeout are killed and started anew: their pids
// change, and each lives for about the time-out, which the master looks at once a
// second.
func TestLooksFollowWorkersThatAreReplaced(t *testing.T) {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(servertest.FreePort(t)))
	server := servertest.GunicornApp(t, "tcp4", address, "import time\ntime.sleep(60)\napp = None\n", "-w2", "--timeout", "1")
	servertest.Ask(t, "tcp4", address, 1)
	c, err := Live(t.Context(), Options{For: 6 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Pools {
		p := &c.Pools[i]
		if p.PID != server.Process.Pid {
			continue
		}
		if !p.Replaced.AtLeast(2) || !p.Stayed.AtMost(0) || !p.LivedLeast.AtLeast(1) || !p.BusyShare.AtMost(0) {
			t.Errorf("replaced %+v, stayed %+v, lived %+v to %+v, busy %+v", p.Replaced, p.Stayed, p.LivedLeast, p.LivedMost, p.BusyShare)
		}
		return
	}
	t.Errorf("pid %d is not among %+v", server.Process.Pid, c.Pools)
}

// Of a server whose processes may not be looked at nothing is 0.
func TestAServerThatIsHiddenUsesWhatNobodyKnows(t *testing.T) {
	var p pools
	for i := range 3 {
		p.add(&gauge.Snapshot{At: time.Unix(int64(i), 0), Servers: []*gauge.Server{{Kind: "unknown", Sockets: []gauge.Socket{{Path: "/run/u.sock", Queue: 2}}}}})
	}
	one := p.pools()[0]
	wantMissing(t, "CPUs", one.CPU, Denied)
	wantMissing(t, "memory", one.RSS, Denied)
	wantMissing(t, "busy", one.BusyAtLeast, Denied)
	wantValue(t, "queue", one.Sockets[0].Queue, 2, Events, "")
}

// Starts are in hundredths of a second since boot (proc_pid_stat(5)).
func TestHowLongReplacedWorkersLived(t *testing.T) {
	look := func(workers ...gauge.Process) []gauge.Process {
		return append([]gauge.Process{{PID: 1, StartTicks: 100, Master: true}}, workers...)
	}
	at := func(pid int, start uint64) gauge.Process { return gauge.Process{PID: pid, StartTicks: start} }
	for _, c := range []struct {
		name                          string
		looks                         [][]gauge.Process
		replaced, least, most, stayed float64
	}{
		{"none", [][]gauge.Process{look(at(2, 200), at(3, 201)), look(at(3, 201), at(2, 200))}, 0, -1, -1, 2},
		{"both, twice", [][]gauge.Process{look(at(2, 200), at(3, 201)), look(at(4, 500), at(5, 510)), look(at(6, 800), at(7, 830))}, 4, 3, 3.2, 0},
		{"one of two", [][]gauge.Process{look(at(2, 200), at(3, 201)), look(at(2, 200), at(4, 1201))}, 1, 10, 10, 1},
		{"a pid again", [][]gauge.Process{look(at(2, 200)), look(at(2, 900))}, 1, 7, 7, 0},
		{"one more, and one less", [][]gauge.Process{look(at(2, 200)), look(at(2, 200), at(3, 300)), look(at(2, 200))}, 0, -1, -1, 1},
		{"nobody", [][]gauge.Process{look(), look()}, -1, -1, -1, -1},
	} {
		var w workerLooks
		for _, processes := range c.looks {
			w.take(processes)
		}
		var p Pool
		w.tell(&p)
		for _, v := range []struct {
			name string
			got  Value
			want float64
		}{{"replaced", p.Replaced, c.replaced}, {"least", p.LivedLeast, c.least}, {"most", p.LivedMost, c.most}, {"stayed", p.Stayed, c.stayed}} {
			if v.got.Known != (v.want >= 0) || v.got.Known && v.got.Number != v.want {
				t.Errorf("%s: %s is %+v, want %v", c.name, v.name, v.got, v.want)
			}
		}
	}
}
