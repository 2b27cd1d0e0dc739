package evidence

import "testing"

// As net-tools 2.10 prints them on a machine with six listeners.
const netstatSockets = `Active Internet connections (servers and established)
Proto Recv-Q Send-Q Local Address           Foreign Address         State       PID/Program name
tcp       13      0 127.0.0.1:40103         0.0.0.0:*               LISTEN      21736/python3
tcp        0     51 127.0.0.1:40103         127.0.0.1:51022         ESTABLISHED 21736/python3
tcp6       0      0 :::80                   :::*                    LISTEN      812/nginx: master
udp        0      0 0.0.0.0:68              0.0.0.0:*                           -
Active UNIX domain sockets (servers and established)
Proto RefCnt Flags       Type       State         I-Node   PID/Program name     Path
unix  2      [ ACC ]     STREAM     LISTENING     17512    1/systemd            /run/systemd/private
`

func TestListenersOfNetstat(t *testing.T) {
	for name, text := range map[string]string{"with a title": netstatSockets, "without": netstatSockets[len("Active Internet connections (servers and established)\n"):]} {
		c := readFile(t, "netstat.txt", text)
		wantWhole(t, c)
		r := c.Last()
		if len(r.Listeners) != 2 {
			t.Fatalf("%s: %+v", name, r.Listeners)
		}
		l := r.Listener("127.0.0.1:40103")
		wantValue(t, name+": queue", l.Queue, 13, Events, "")
		wantMissing(t, name+": backlog", l.Backlog, Absent)
		if l.Port != 40103 || l.PID != 21736 || l.Process != "python3" || l.Full() || r.Listeners[1].Process != "nginx" || r.Listeners[1].Port != 80 {
			t.Errorf("%s: %+v", name, r.Listeners)
		}
	}
}

func TestListenersWithoutAHeading(t *testing.T) {
	for name, text := range map[string]string{
		"tcp":  "LISTEN 129    128    0.0.0.0:9000 0.0.0.0:* users:((\"node\",pid=71,fd=18))\nLISTEN 0      4096   127.0.0.1:39595 0.0.0.0:*\n",
		"both": "u_str LISTEN 0 4096 /run/a.sock 17512 * 0\ntcp LISTEN 129    128    0.0.0.0:9000 0.0.0.0:*\n",
	} {
		c := readFile(t, "x", text)
		if l := c.Last().Listener("0.0.0.0:9000"); len(c.Last().Listeners) != 2 || l == nil || !l.Full() {
			t.Errorf("%s: %+v", name, c.Last().Listeners)
		}
	}
}

// What net-tools calls the counters of /proc/net/snmp and netstat (statistics.c).
func TestNetstatHasMoreThanQueues(t *testing.T) {
	c := readFile(t, "netstat.txt", "Tcp:\n    3205478 passive connection openings\n    6974 segments retransmitted\nTcpExt:\n    785 SYN cookies sent\n    7646 times the listen queue of a socket overflowed\n    18856 connections reset due to early user close\n    TCPReqQFullDoCookies: 12\n")
	n := &c.Last().Netstat
	wantValue(t, "opened", n.PassiveOpens, 3205478, Events, "netstat.txt:2 passive connection openings")
	wantValue(t, "again", n.RetransSegs, 6974, Events, "")
	wantValue(t, "cookies", n.SyncookiesSent, 785, Events, "")
	wantValue(t, "overflows", n.ListenOverflows, 7646, Events, "")
	wantValue(t, "closed early", n.TCPAbortOnClose, 18856, Events, "")
	wantValue(t, "full", n.TCPReqQFullDoCookies, 12, Events, "netstat.txt:8 TCPReqQFullDoCookies")
}

// nstat(8) --json: an object "kernel" with the same names.
func TestNstatInJSON(t *testing.T) {
	c := readFile(t, "nstat.json", `{"kernel":{"IpInReceives":41470196,"TcpPassiveOpens":3205478,"TcpExtListenOverflows":7646,"TcpExtListenDrops":7650,"TcpExtTCPTimeouts":5861}}`)
	wantWhole(t, c)
	wantValue(t, "overflows", c.Last().Netstat.ListenOverflows, 7646, Events, "nstat.json kernel.TcpExtListenOverflows")
	wantValue(t, "drops", c.Last().Netstat.ListenDrops, 7650, Events, "")
	wantValue(t, "opened", c.Last().Netstat.PassiveOpens, 3205478, Events, "")
}

func FuzzNetstatSockets(f *testing.F) { fuzzFile(f, "x", netstatSockets) }
