package evidence

import "testing"

const fpmStatus = `pool:                 shop
process manager:      static
start since:          918
accepted conn:        20110
listen queue:         7
max listen queue:     40
idle processes:       0
active processes:     8
total processes:      8
max children reached: 3
`

func TestFpmStatusPage(t *testing.T) {
	c := readFile(t, "status.txt", fpmStatus)
	if len(c.Pools) != 1 || c.Pools[0].Server != "php-fpm" || c.Pools[0].Name != "shop" {
		t.Fatalf("pools: %+v", c.Pools)
	}
	p := &c.Pools[0]
	wantValue(t, "queued", p.Queued, 7, Events, "status.txt:5 listen queue")
	wantValue(t, "busy", p.Busy, 8, Events, "status.txt:8 active processes")
	wantValue(t, "idle", p.Idle, 0, Events, "status.txt:7 idle processes")
	wantEvents(t, c, "pool at limit app=shop limit=8 reason=since its start times=3")
}

func TestFpmStatusPageAsJSON(t *testing.T) {
	c := readFile(t, "status.json", `{"pool":"shop","process manager":"dynamic","listen queue":2,"idle processes":1,"active processes":4,"total processes":5,"max children reached":0}`)
	wantValue(t, "busy", c.Pools[0].Busy, 4, Events, "status.json active processes")
	wantValue(t, "queued", c.Pools[0].Queued, 2, Events, "status.json listen queue")
	wantEvents(t, c)
}

func TestApacheServerStatus(t *testing.T) {
	c := readFile(t, "server-status.txt", "Total Accesses: 9\nBusyWorkers: 12\nIdleWorkers: 0\nScoreboard: WWWWWWWWWWWW\n")
	wantValue(t, "busy", c.Pools[0].Busy, 12, Events, "server-status.txt:2 BusyWorkers")
	wantValue(t, "max", c.Pools[0].Max, 12, Events, "server-status.txt:2 BusyWorkers")
	some := readFile(t, "server-status.txt", "BusyWorkers: 3\nIdleWorkers: 4\n")
	wantMissing(t, "max, while some are idle", some.Pools[0].Max, CannotTell)
}

func TestUwsgiStats(t *testing.T) {
	c := readFile(t, "stats.json", `{"version":"2.0.20","listen_queue":5,"workers":[{"id":1,"status":"busy"},{"id":2,"status":"idle"},{"id":3,"status":"cheap"}]}`)
	p := &c.Pools[0]
	wantValue(t, "busy", p.Busy, 1, Events, "stats.json workers[].status busy")
	wantValue(t, "idle", p.Idle, 1, Events, "stats.json workers[].status idle")
	wantValue(t, "queued", p.Queued, 5, Events, "stats.json listen_queue")
}

const podTable = `NAMESPACE  NAME            READY  STATUS                  RESTARTS         AGE
a          web-5c-k2       1/1    Running                 2 (5d3h ago)     20d
a          job-1           0/1    Completed               0                3h
a          api-7f-x9       0/1    CrashLoopBackOff        14 (3m40s ago)   50m
b          mail-0          0/1    Init:ImagePullBackOff   0                9m
`

func TestGetPods(t *testing.T) {
	c := readFile(t, "pods.txt", podTable)
	if len(c.Containers) != 4 {
		t.Fatalf("containers: %+v", c.Containers)
	}
	for i, want := range []struct {
		name, state, reason string
		ready               Tri
	}{{"web-5c-k2", "running", "", Yes}, {"job-1", "terminated", "", No}, {"api-7f-x9", "waiting", "CrashLoopBackOff", No}, {"mail-0", "waiting", "ImagePullBackOff", No}} {
		if got := &c.Containers[i]; got.Name != want.name || got.State != want.state || got.Reason != want.reason || got.Ready != want.ready {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	wantValue(t, "restarts", c.Containers[2].Restarts, 14, Events, "pods.txt:4 RESTARTS")
	wantValue(t, "since the last restart", c.Containers[0].SinceRestart, 5*86400+3*3600, Seconds, "pods.txt:2 RESTARTS")
	wantMissing(t, "since the last restart of none", c.Containers[3].SinceRestart, Absent)
}

const dockerTable = `CONTAINER ID   IMAGE        COMMAND       CREATED        STATUS                       PORTS                  NAMES
0123456789ab   shop:2       "node a.js"   3 days ago     Up 3 days (unhealthy)        0.0.0.0:80->3000/tcp   shop
123456789abc   job:1        "sh -c x"     2 hours ago    Exited (137) 5 minutes ago                          job
23456789abcd   bot:1        "python b"    2 hours ago    Restarting (1) 2 seconds ago                        bot
`

func TestDockerPS(t *testing.T) {
	c := readFile(t, "ps.txt", dockerTable)
	if len(c.Containers) != 3 {
		t.Fatalf("containers: %+v", c.Containers)
	}
	for i, want := range []struct{ name, state, health string }{{"shop", "running", "unhealthy"}, {"job", "exited", ""}, {"bot", "restarting", ""}} {
		if got := &c.Containers[i]; got.Name != want.name || got.State != want.state || got.Health != want.health {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	wantValue(t, "exit code", c.Containers[1].ExitCode, 137, NoUnit, "ps.txt:3 STATUS")
}

const netstatText = `Tcp:
    8123 active connection openings
TcpExt:
    41 times the listen queue of a socket overflowed
    57 SYNs to LISTEN sockets dropped
`

func TestNetstatTotals(t *testing.T) {
	c := readFiles(t, map[string]string{"t0/netstat.txt": netstatText, "t1/netstat.txt": "TcpExt:\n    44 times the listen queue of a socket overflowed\n", "dt_s": "10"})
	if len(c.Readings) != 2 {
		t.Fatalf("readings: %d", len(c.Readings))
	}
	wantValue(t, "ListenDrops", c.Readings[0].Netstat.ListenDrops, 57, Events, "t0/netstat.txt:5 SYNs to LISTEN sockets dropped")
	wantValue(t, "overflows", c.Delta(func(r *Reading) Value { return r.Netstat.ListenOverflows }), 3, Events, "")
}

func FuzzFpmStatus(f *testing.F) { fuzzFile(f, "status.txt", fpmStatus) }
func FuzzGetPods(f *testing.F)   { fuzzFile(f, "pods.txt", podTable) }
func FuzzDockerPS(f *testing.F)  { fuzzFile(f, "ps.txt", dockerTable) }
func FuzzNetstatS(f *testing.F)  { fuzzFile(f, "netstat.txt", netstatText) }
func FuzzUwsgiStats(f *testing.F) {
	fuzzFile(f, "s.json", `{"listen_queue":5,"workers":[{"status":"busy"}]}`)
}
