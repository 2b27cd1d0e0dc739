//go:build linux

package closedloop

import (
	"encoding/json"
	"testing"
	"time"

	"brink/internal/doctor"
	"brink/internal/experiment"
	"brink/internal/guest"
	"brink/internal/servertest"
)

// inGuest is how far apart readings in a guest are.
const inGuest = 4 * time.Second

// TestGuest causes what takes a machine of one's own: cgroups, swap that is
// full, kills. doctor runs in the guest, as root, as an ordinary user, and in a
// container whose /proc shows the machine's.
func TestGuest(t *testing.T) {
	m := boot(t, experiment.Plan{CPUs: 2, MemoryMB: 700, SwapMB: 64})
	t.Run("healthy", m.healthy)
	t.Run("full but idle swap", m.idleSwap)
	t.Run("cgroups", m.cgroups)
	t.Run("memory that nobody shows", m.hidden)
	t.Run("promises", m.promises)
	t.Run("kills", m.kills) // last, for the kernel's log keeps them
}

// healthy: gunicorn under honest load.
func (m *machine) healthy(t *testing.T) {
	app := experiment.App{Name: "web", Runtime: "flask", WorkerClass: "sync", Workers: 2, Timeout: experiment.Duration(time.Minute), Backlog: 64, StartLimit: experiment.Duration(patience)}
	ep, err := m.Deploy(t.Context(), app)
	if err != nil {
		t.Fatal(err)
	}
	const hold = 500 * time.Millisecond
	client := m.client()
	visitors := servertest.Pool{Name: "web", Workers: app.Workers, Request: func(*servertest.Process) error {
		resp, err := client.Get("http://" + ep.Addr + "/thread-hold?secs=0.5")
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}}
	defer visitors.Drive(&servertest.Process{}, 0.6, hold)()
	m.wantModes(t, inGuest, all())
}

// idleSwap: pages that nobody needs fill all of swap.
func (m *machine) idleSwap(t *testing.T) {
	defer m.hold(t, "idle", `
mkdir /sys/fs/cgroup/idle
sh -c 'echo $$ >/sys/fs/cgroup/idle/cgroup.procs; exec python3 -c "x = bytearray(b\"x\" * (90 << 20)); open(\"/tmp/filled\", \"w\"); import time; time.sleep(10000)"' &
until [ -e /tmp/filled ]; do sleep 0.3; done
until awk '/SwapFree/ { exit $2 > 1024 }' /proc/meminfo; do echo 8M >/sys/fs/cgroup/idle/memory.reclaim; done 2>/dev/null
hold`)()
	m.wantModes(t, inGuest, all())
}

// group starts a command in a cgroup of its own: group NAME LIMIT=VALUE... -- COMMAND...
const group = `
echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
group() {
	dir=/sys/fs/cgroup/$1; shift; mkdir $dir
	while [ "$1" != -- ]; do echo "${1#*=}" >$dir/${1%%=*}; shift; done; shift
	sh -c 'echo $$ >'$dir'/cgroup.procs; exec "$@"' sh "$@" &
}
`

// cgroups: three at their limits, and beside each one with the same kind of
// limit that keeps below it.
func (m *machine) cgroups(t *testing.T) {
	defer m.hold(t, "cgroups", group+`
cat >/tmp/touch.py <<'PY'
import os, sys, time
x = bytearray(b"x") * (int(sys.argv[1]) << 20)
n = 0
while True:
    for i in range(0, len(x), 4096): x[i] = 1
    if len(sys.argv) > 2:
        fd = os.open(sys.argv[2], os.O_RDONLY)
        while os.read(fd, 1 << 16): pass
        os.close(fd)
    if n == 1: open("/tmp/touched.%d" % os.getpid(), "w")
    n += 1
    time.sleep(0.2)
PY
head -c 30M /dev/urandom >/var/tmp/file; cp /var/tmp/file /var/tmp/other
sync; echo 1 >/proc/sys/vm/drop_caches # or they would count as this script's
group high memory.swap.max=0 memory.high=24M -- python3 /tmp/touch.py 40
group below memory.swap.max=0 memory.high=60M -- python3 /tmp/touch.py 20
group rereads memory.swap.max=0 memory.max=48M -- python3 /tmp/touch.py 37 /var/tmp/file
group caches memory.swap.max=0 memory.max=100M -- python3 /tmp/touch.py 37 /var/tmp/other
group resting -- python3 /tmp/touch.py 0
until [ $(ls /tmp/touched.* 2>/dev/null | wc -l) -ge 4 ] && grep -q "high [1-9]" /sys/fs/cgroup/high/memory.events; do sleep 0.3; done
echo "20000 100000" >/sys/fs/cgroup/resting/cpu.max
group stopped "cpu.max=20000 100000" -- sh -c 'while :; do :; done'
hold`)()
	m.wantModes(t, inGuest, all("cpu-throttling /stopped", "memory-pressure /high", "file-thrash /rereads"))
}

// hidden: huge pages that nobody uses, with the rest of memory taken; the twin
// has as many, and room beside them.
func (m *machine) hidden(t *testing.T) {
	end := m.hold(t, "hidden", `
echo 100 >/proc/sys/vm/nr_hugepages
trap 'echo 0 >/proc/sys/vm/nr_hugepages' EXIT
hold`)
	defer end()
	m.wantModes(t, inGuest, all())
	defer m.hold(t, "taken", `
free=$(awk '/MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
python3 -c "x = b'x' * (($free - 45) << 20); open('/tmp/taken', 'w'); import time; time.sleep(10000)" &
until [ -e /tmp/taken ]; do sleep 0.3; done
hold`)()
	m.doctorUntil(t, doctor.HiddenMemory)
}

// doctorUntil has root look until a mode is the first that is found.
func (m *machine) doctorUntil(t *testing.T, mode doctor.Mode) {
	t.Helper()
	var r *doctor.Report
	for range tries {
		if r = m.doctor(t, root, inGuest); len(r.Findings) > 0 && r.Findings[0].Mode == mode {
			t.Logf("root found %q", modes(r))
			return
		}
	}
	t.Errorf("root found %q, want %s first:\n%s", modes(r), mode, sayAll(r))
}

// strict has the kernel promise no more memory than a limit. Much is promised to
// a program that does not use it, so that the last per cent are more than a 32nd
// of doctor's address space: the kernel keeps as much from it, and it would end
// as other programs do (__vm_enough_memory).
const strict = `
limit() { # limit PERCENT: so much of CommitLimit is promised then
	committed=$(awk '/Committed_AS/ { print $2 }' /proc/meminfo); swap=$(awk '/SwapTotal/ { print $2 }' /proc/meminfo)
	echo $((committed * 100 / $1 - swap)) >/proc/sys/vm/overcommit_kbytes
}
python3 -c "import mmap, time; x = [mmap.mmap(-1, 600 << 20, flags=mmap.MAP_PRIVATE) for i in range(3)]; open('/tmp/promised', 'w'); time.sleep(10000)" &
PROMISED=$!
until [ -e /tmp/promised ]; do sleep 0.3; done; rm /tmp/promised
limit 15; echo 2 >/proc/sys/vm/overcommit_memory
trap 'echo 0 >/proc/sys/vm/overcommit_memory; kill $PROMISED' EXIT
`

// promises: memory is refused by accounting; the twin has the same setting with a
// wide limit. Where nothing more is promised no program starts, doctor neither,
// so that it has begun before, by the time that a short look takes here.
func (m *machine) promises(t *testing.T) {
	end := m.hold(t, "promises", strict+"hold")
	m.wantModes(t, inGuest, all())
	end()
	var r *doctor.Report
	for range tries {
		if r = m.outOfPromises(t); r.Finding(doctor.StrictOvercommit) != nil && len(r.Findings) == 1 {
			return
		}
		if !theNeighbours().crowd(t) {
			break
		}
	}
	t.Errorf("root found %q, want strict-overcommit:\n%s", modes(r), sayAll(r))
}

// outOfPromises has root look while the last of the promises are given.
func (m *machine) outOfPromises(t *testing.T) *doctor.Report {
	t.Helper()
	out := m.shell(t, strict+`
began=$(date +%s); `+guest.Program+` doctor --json --for 200ms >/dev/null || true; takes=$(($(date +%s) - began + 1))
`+guest.Program+` doctor --json --for $((4 * takes + 4))s >/tmp/doctor.json 2>/tmp/doctor.err &
DOCTOR=$!
sleep $((2 * takes + 2)); limit 96; wait $DOCTOR || true
echo 0 >/proc/sys/vm/overcommit_memory; cat /tmp/doctor.json; head -c 2000 /tmp/doctor.err >&2`)
	r := &doctor.Report{}
	if err := json.Unmarshal([]byte(out), r); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return r
}

// kills: a request lets a worker of gunicorn outgrow its cgroup, again and again;
// the same requests at a limit that has room for them.
func (m *machine) kills(t *testing.T) {
	end := m.hold(t, "kills", group+`
mkdir -p /tmp/kills; cd /tmp/kills
cat >app.py <<'PY'
def app(env, start):
    x = b"x" * (int(env["QUERY_STRING"]) << 20)
    start("200 OK", [("Content-Length", "0")])
    return [b""]
PY
cat >ask.py <<'PY'
import http.client, os, time
while True:
    for port in (8001, 8002):
        try:
            c = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            c.request("GET", "/?120" if os.path.exists("/tmp/kill") else "/?1")
            c.getresponse().read()
            if port == 8002: open("/tmp/asked", "w")
        except OSError: pass
        except http.client.HTTPException: pass
    time.sleep(1)
PY
group limited memory.max=100M memory.swap.max=0 -- gunicorn -w 1 -b 127.0.0.1:8001 app:app
group spacious memory.max=250M memory.swap.max=0 -- gunicorn -w 1 -b 127.0.0.1:8002 app:app
python3 ask.py &
until [ -e /tmp/asked ]; do sleep 0.3; done
hold`)
	defer end()
	m.wantModes(t, inGuest, all()) // as long as they ask for little
	m.shell(t, "touch /tmp/kill")
	m.wantModes(t, 2*inGuest, func(who viewer) []string {
		if who == root {
			return []string{"oom-kill"} // from the kernel's log
		}
		return []string{"oom-kill /limited"} // by the cgroup's counter
	})
}
