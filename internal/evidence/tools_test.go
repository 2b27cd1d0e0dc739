package evidence

import (
	"strings"
	"testing"
)

const ssText6 = `State  Recv-Q Send-Q Local Address:Port  Peer Address:Port Process
LISTEN 129    128          0.0.0.0:8000       0.0.0.0:*     users:(("gunicorn",pid=12,fd=5),("gunicorn",pid=10,fd=5))
LISTEN 0      511             [::]:80            [::]:*
ESTAB  5      0          10.0.0.1:8000      10.0.0.2:4000
`

func TestSS(t *testing.T) {
	c := readFile(t, "ss.txt", ssText6)
	l := c.Last().Listeners
	if len(l) != 2 || l[0].Process != "gunicorn" || l[0].PID != 12 || l[0].Port != 8000 || l[1].Port != 80 || l[1].Unix {
		t.Fatalf("listeners: %+v", l)
	}
	wantValue(t, "queue", l[0].Queue, 129, Events, "ss.txt:2 Recv-Q")
	wantValue(t, "backlog", l[0].Backlog, 128, Events, "ss.txt:2 Send-Q")
	if !l[0].Full() || l[1].Full() {
		t.Error("a queue is full at its limit, and an empty one is not")
	}
}

func TestSSOfUnixSockets(t *testing.T) {
	c := readFile(t, "ss.txt", "Netid State  Recv-Q Send-Q Local Address:Port  Peer Address:Port\nu_str LISTEN 11     10     /run/fcgi.sock 12345 * 0\nu_dgr UNCONN 0 0 /run/x 1 * 0\n")
	l := c.Last().Listeners
	if len(l) != 1 || !l[0].Unix || l[0].Address != "/run/fcgi.sock" || !l[0].Full() {
		t.Errorf("listeners: %+v", l)
	}
}

func FuzzSS(f *testing.F) { fuzzFile(f, "ss.txt", ssText6) }

func TestNstat(t *testing.T) {
	c := readFile(t, "nstat.txt", "#kernel\nTcpExtListenOverflows           35                 0.0\nTcpExtListenDrops               36                 0.0\nTcpExtTCPTimeouts 7 0.0\nTcpRetransSegs 9 0.0\n")
	n := c.Last().Netstat
	wantValue(t, "overflows", n.ListenOverflows, 35, Events, "nstat.txt:2 TcpExtListenOverflows")
	wantValue(t, "drops", n.ListenDrops, 36, Events, "nstat.txt:3 TcpExtListenDrops")
	wantValue(t, "timeouts", n.TCPTimeouts, 7, Events, "nstat.txt:4 TcpExtTCPTimeouts")
	wantValue(t, "retransmissions", n.RetransSegs, 9, Events, "nstat.txt:5 TcpRetransSegs")
}

func FuzzNstat(f *testing.F) {
	fuzzFile(f, "nstat.txt", "#kernel\nTcpExtListenOverflows           35                 0.0\n")
}

const vmstatText = `procs -----------memory---------- ---swap-- -----io---- --system-- ----cpu----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa
 0 110 795604  12328   3980  46676    0    0     0     0    0    0  4  1 95  1
 0 110 795604  12328   3980  46676 2500 2985  2500  2985  900  900  1  2  0 97
`

func TestVmstatToolsFirstLineIsSinceBoot(t *testing.T) {
	c := readFile(t, "vmstat.txt", vmstatText)
	if len(c.Activities) != 2 || !c.Activities[0].SinceBoot || c.Activities[1].SinceBoot {
		t.Fatalf("activities: %+v", c.Activities)
	}
	a := c.Activities[1]
	wantValue(t, "swap in", a.SwapIn, 2500, "KiB/s", "vmstat.txt:4 si")
	wantValue(t, "wait", a.IOWait, 97, Percent, "vmstat.txt:4 wa")
	wantValue(t, "blocked", a.Blocked, 110, Events, "vmstat.txt:4 b")
	wantMissing(t, "steal", a.Steal, Absent)
	if !c.Has(HasSwapRate) {
		t.Error("vmstat's second line is a rate of swapping")
	}
}

// vmstat(8): -S changes the unit of memory and swap, not of blocks. Only the command
// tells it.
func TestVmstatInOtherUnits(t *testing.T) {
	const rows = `procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 9  1   1312     70      1     90    0    1   436  4311 1651 4069 42 12 46  0  0
 7  9   1312     70      1     90    8    9     8    16 3193 7812 87 13  0  0  0
`
	c := readFile(t, "vmstat.txt", rows)
	wantMissing(t, "swap that may be in MiB", c.Activities[1].SwapIn, CannotTell)
	wantValue(t, "none", c.Activities[0].SwapIn, 0, "KiB/s", "")
	wantValue(t, "blocks", c.Activities[1].BlockIn, 8, "KiB/s", "")
	for command, want := range map[string]float64{"vmstat -S M 1": 8 * 1024, "vmstat -w -SM 1 2": 8 * 1024, "vmstat --unit=m 1": 8e6 / 1024, "vmstat -S K 1": 8} {
		c = readFile(t, "paste.txt", "$ "+command+"\n"+rows)
		wantValue(t, command, c.Activities[1].SwapIn, want, "KiB/s", "")
	}
}

// As procps-ng 4 prints it, with other figures.
const vmstatSumsText = `      2030296 K total memory
      1900296 K used memory
       130000 K free memory
        56264 K buffer memory
        90100 K swap cache
      1048572 K total swap
      1000000 K used swap
        48572 K free swap
      3008131 non-nice user cpu ticks
     42332729 K paged in
    418853432 K paged out
         1000 pages swapped in
         2000 pages swapped out
   1796045627 boot time
`

func TestSumsOfVmstat(t *testing.T) {
	later := strings.NewReplacer("1000 pages swapped in", "6000 pages swapped in").Replace(vmstatSumsText)
	c := readFiles(t, map[string]string{"t0/vmstat.txt": vmstatSumsText, "t1/vmstat.txt": later, "dt_s": "10"})
	wantWhole(t, c)
	m := &c.Last().Meminfo
	wantValue(t, "total", m.MemTotal, 2030296<<10, Bytes, "t1/vmstat.txt:1 MemTotal")
	wantValue(t, "free swap", m.SwapFree, 48572<<10, Bytes, "t1/vmstat.txt:8 SwapFree")
	wantValue(t, "cache", m.Cached, 90100<<10, Bytes, "")
	wantMissing(t, "available", m.MemAvailable, Absent)
	wantValue(t, "swapped out", c.Last().Vmstat.Pswpout, 2000, Pages, "t1/vmstat.txt:13 pswpout")
	wantValue(t, "rate", c.Rate(func(r *Reading) Value { return r.Vmstat.Pswpin }), 500, "pages/s", "")
}

func FuzzVmstatTool(f *testing.F) { fuzzFile(f, "vmstat.txt", vmstatText, vmstatSumsText) }

const topText = `top - 10:00:00 up 1 day,  1 user,  load average: 378.90, 324.11, 182.45
Tasks: 488 total,   2 running, 400 sleeping,   0 stopped,  89 zombie
%Cpu(s):  4.4 us,  6.6 sy,  0.0 ni,  0.0 id, 88.3 wa,  0.2 hi,  0.3 si,  0.2 st
  PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
  160 root      20   0       0      0      0 R  99.0   0.0  10:42.59 [kswapd0]
  161 root      20   0    9999   1.5g      0 D   0,5   0.0   0:42.59 python3
`

func TestTop(t *testing.T) {
	c := readFile(t, "top.txt", topText)
	a := c.Activities[0]
	wantValue(t, "wait", a.IOWait, 88.3, Percent, "top.txt:3 wa")
	wantValue(t, "system", a.System, 7.1, Percent, "")
	wantValue(t, "kswapd", a.Kswapd, 99, Percent, "top.txt:5 %CPU")
	p := c.Processes[1]
	if p.Name != "python3" || p.State != "D" {
		t.Errorf("process: %+v", p)
	}
	wantValue(t, "resident", p.RSS, 1.5*(1<<30), Bytes, "top.txt:6 RES")
	wantValue(t, "cpu", p.CPU, 0.5, Percent, "top.txt:6 %CPU")
}

func FuzzTop(f *testing.F) { fuzzFile(f, "top.txt", topText) }

func TestPS(t *testing.T) {
	c := readFile(t, "ps.txt", "USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND\nroot 12 99.0 1.0 9 2048 ? Ds 10:00 0:01 /usr/bin/python3 app.py --password hunter2\n")
	p := c.Processes[0]
	if p.Name != "/usr/bin/python3" || p.State != "D" || p.PID != 12 {
		t.Errorf("process: %+v", p)
	}
	wantValue(t, "resident", p.RSS, 2<<20, Bytes, "ps.txt:2 RSS")
	rss := readFile(t, "ps_rss_top_kb.txt", "1568 /usr/bin/dbus-daemon\n1284 /lib/systemd/systemd-resolved\n")
	wantValue(t, "resident", rss.Processes[0].RSS, 1568*1024, Bytes, "ps_rss_top_kb.txt:1 rss")
}

func FuzzPS(f *testing.F) {
	fuzzFile(f, "ps.txt", "USER PID %CPU RSS STAT COMMAND\nroot 12 99.0 2048 Ds python3\n")
}

func TestPumaStats(t *testing.T) {
	c := readFile(t, "puma.json", `{"workers":2,"worker_status":[{"index":0,"pid":9,"last_status":{"backlog":5,"running":1,"pool_capacity":0,"max_threads":1}},{"index":1,"last_status":{"backlog":0,"running":1,"pool_capacity":1,"max_threads":1}}]}`)
	p := c.Pools[0]
	wantValue(t, "queued", p.Queued, 5, Events, "puma.json worker_status[].last_status.backlog")
	wantValue(t, "idle", p.Idle, 1, Events, "")
	wantValue(t, "busy", p.Busy, 1, Events, "")
	if p.Members[0].State != "busy" || p.Members[1].State != "idle" || p.Members[0].PID != 9 {
		t.Errorf("members: %+v", p.Members)
	}
}

func FuzzPumaStats(f *testing.F) {
	fuzzFile(f, "puma.json", `{"workers":2,"worker_status":[{"index":0,"last_status":{"backlog":5,"pool_capacity":0,"max_threads":1}}]}`)
}

func TestSettings(t *testing.T) {
	c := readFile(t, "settings.json", `[{"name":"WEBSITES_PORT","slotSetting":false,"value":"8000"},{"name":"DB_PASSWORD","value":"hunter2"},{"name":"GUNICORN_CMD_ARGS","value":"--workers=4 --threads 2"}]`)
	if len(c.Config.Settings) != 2 {
		t.Fatalf("settings: %+v", c.Config.Settings)
	}
	s, ok := c.Config.Setting("WEBSITES_PORT")
	if !ok {
		t.Fatal("the port is not kept")
	}
	wantValue(t, "port", s.Value, 8000, NoUnit, "settings.json WEBSITES_PORT")
	wantValue(t, "workers", c.Config.Start[0].Workers, 4, Events, "")
	web := readFile(t, "show.json", `{"appCommandLine":"gunicorn -w4 -k gthread --threads=8 --bind=0.0.0.0:5000 app:app","linuxFxVersion":"PYTHON|3.11","alwaysOn":true,"numberOfWorkers":2}`)
	start := web.Config.Start[0]
	if start.Class != "gthread" || start.Port != 5000 || web.Config.AlwaysOn != Yes {
		t.Errorf("config: %+v", web.Config)
	}
	wantValue(t, "workers", start.Workers, 4, Events, "show.json appCommandLine --workers")
	wantValue(t, "threads", start.Threads, 8, Events, "show.json appCommandLine --threads")
	wantValue(t, "instances", web.Config.Instances, 2, Events, "show.json numberOfWorkers")
}

func FuzzSettings(f *testing.F) {
	fuzzFile(f, "s.json", `[{"name":"WEBSITES_PORT","value":"8000"}]`, `{"appCommandLine":"gunicorn -w4","siteConfig":null}`, `{"WEBSITES_PORT":600}`)
}

func TestStartCommands(t *testing.T) {
	for _, x := range []struct {
		text, server     string
		workers, timeout float64
		port             int
	}{
		{"gunicorn --workers 1 --threads 1 --timeout 120 app:app", "gunicorn", 1, 120, 0},
		{"exec /opt/venv/bin/python3 -m gunicorn -w 3 -t 20 -b :8080 app:app", "gunicorn", 3, 20, 8080},
		{"web: gunicorn -w 2 --bind=127.0.0.1:9000 app:app", "gunicorn", 2, -1, 9000},
		{"uwsgi --http :8000 --processes 4 --harakiri 30", "uwsgi", 4, 30, 8000},
		{"uvicorn main:app --workers 2 --port 8001", "uvicorn", 2, -1, 8001},
	} {
		c := readFile(t, "startup.sh", x.text+"\n")
		s := c.Config.Start[0]
		if s.Server != x.server || s.Port != x.port {
			t.Errorf("%q: server %q, port %d", x.text, s.Server, s.Port)
		}
		wantValue(t, x.text+": workers", s.Workers, x.workers, Events, "")
		if x.timeout >= 0 && !s.Timeout.Known || x.timeout >= 0 && s.Timeout.Number != x.timeout || x.timeout < 0 && s.Timeout.Known {
			t.Errorf("%q: timeout %+v, want %v", x.text, s.Timeout, x.timeout)
		}
	}
}

func FuzzStartCommand(f *testing.F) {
	fuzzFile(f, "startup.sh", "#!/bin/sh\ngunicorn --workers 1 --threads 1 --timeout 120 app:app\n")
}

func TestPoolConf(t *testing.T) {
	c := readFile(t, "www.conf", "[www]\nuser = www-data\npm = dynamic ; as shipped\npm.max_children = 5\nlisten.backlog = 511\n[api]\npm = static\npm.max_children = 20\n")
	if len(c.Config.Pools) != 2 || c.Config.Pools[0].Mode != "dynamic" || c.Config.Pools[1].Name != "api" {
		t.Fatalf("pools: %+v", c.Config.Pools)
	}
	wantValue(t, "children", c.Config.Pools[0].MaxChildren, 5, Events, "www.conf:4 pm.max_children")
	wantValue(t, "backlog", c.Config.Pools[0].Backlog, 511, Events, "www.conf:5 listen.backlog")
}

func FuzzPoolConf(f *testing.F) {
	fuzzFile(f, "www.conf", "[www]\npm = dynamic\npm.max_children = 5\n")
}

const diagText = `{"timestamp":"2026-04-02T10:00:00Z","meminfo":{"MemTotal":1899652,"MemAvailable":440000,"Active(anon)":5},
"vmstat":{"pgscan_kswapd":16500000,"allocstall_normal":50,"allocstall_movable":71,"pswpin":121000},
"pressure":{"memory":{"some":{"avg10":1.5,"avg60":2,"avg300":5.79,"total":77},"full":{"avg10":0,"avg60":0,"avg300":1.03,"total":7}},"cpu":null,"io":null},
"self":{"pid":7,"rss_kb":1024},"unavailable":{}}`

func TestDiagProc(t *testing.T) {
	c := readFile(t, "diag.json", diagText)
	r := c.Last()
	wantValue(t, "total", r.Meminfo.MemTotal, 1899652*1024, Bytes, "diag.json meminfo.MemTotal")
	wantValue(t, "active anonymous", r.Meminfo.ActiveAnon, 5*1024, Bytes, "")
	// The reference adds 50 normal and 71 movable up to 121.
	wantValue(t, "stalls", r.Vmstat.Allocstall, 121, Events, "")
	wantValue(t, "scanned", r.Vmstat.PgscanKswapd, 16.5e6, Pages, "diag.json vmstat.pgscan_kswapd")
	wantValue(t, "full", r.PSI.Memory.Full.Avg300, 1.03, Percent, "diag.json pressure.memory.full.avg300")
	wantMissing(t, "cpu pressure", r.PSI.CPU.Some.Avg10, Absent)
	wantMissing(t, "uptime", r.Machine.Uptime, NotSeen)
	if r.At.IsZero() {
		t.Error("the time was not read")
	}
	wantWhole(t, c)
}

func FuzzDiagProc(f *testing.F) { fuzzFile(f, "diag.json", diagText) }

// proc_pid_status(5), of two processes behind each other.
const procStatusText = "Name:\tnode\nUmask:\t0022\nState:\tD (disk sleep)\nTgid:\t71\nPid:\t71\nVmRSS:\t   81234 kB\nVmSwap:\t  512000 kB\nThreads:\t11\n" +
	"Name:\tkswapd0\nState:\tR (running)\nPid:\t40\nThreads:\t1\n"

func TestStatusOfProcesses(t *testing.T) {
	c := readFile(t, "status.txt", procStatusText)
	wantWhole(t, c)
	if len(c.Processes) != 2 || c.Processes[0].PID != 71 || c.Processes[0].Name != "node" || c.Processes[0].State != "D" || c.Processes[1].PID != 40 {
		t.Fatalf("%+v", c.Processes)
	}
	wantValue(t, "memory", c.Processes[0].RSS, 81234<<10, Bytes, "status.txt:6 VmRSS")
	wantValue(t, "swap", c.Processes[0].Swap, 512000<<10, Bytes, "status.txt:7 VmSwap")
	wantMissing(t, "a thread of the kernel", c.Processes[1].RSS, NotSeen)
}

func FuzzStatusOfProcesses(f *testing.F) { fuzzFile(f, "status.txt", procStatusText) }
