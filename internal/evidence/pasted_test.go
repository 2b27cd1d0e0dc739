package evidence

import "testing"

const pastedFiles = `==> /proc/pressure/memory <==
some avg10=33.00 avg60=31.10 avg300=22.90 total=99123456
full avg10=9.00 avg60=8.10 avg300=6.90 total=48123456

==> /proc/meminfo <==
MemTotal:        4030296 kB
MemAvailable:     331000 kB
`

const pastedGreps = `/proc/pressure/memory:some avg10=33.00 avg60=31.10 avg300=22.90 total=99123456
/proc/pressure/memory:full avg10=9.00 avg60=8.10 avg300=6.90 total=48123456
/proc/meminfo:MemTotal:        4030296 kB
/proc/meminfo:MemAvailable:     331000 kB
`

const pastedSession = `user@host:~$ cat /proc/pressure/memory
some avg10=33.00 avg60=31.10 avg300=22.90 total=99123456
full avg10=9.00 avg60=8.10 avg300=6.90 total=48123456
user@host:~$ sudo cat /proc/meminfo
MemTotal:        4030296 kB
MemAvailable:     331000 kB
user@host:~$ ss -ltn
State  Recv-Q Send-Q Local Address:Port Peer Address:Port
LISTEN 3      128    0.0.0.0:8000       0.0.0.0:*
user@host:~$ whoami
`

func TestFilesThatWerePastedIntoOne(t *testing.T) {
	for name, text := range map[string]string{"head": pastedFiles, "grep": pastedGreps, "a shell": pastedSession} {
		t.Run(name, func(t *testing.T) {
			c := readFile(t, "t0/paste.txt", text)
			if len(c.Readings) != 1 || c.Readings[0].Name != "t0" {
				t.Fatalf("readings: %+v", c.Readings)
			}
			r := &c.Readings[0]
			wantValue(t, "stall", r.PSI.Memory.Full.Avg10, 9, Percent, "t0/proc/pressure/memory:2 full avg10")
			wantValue(t, "available", r.Meminfo.MemAvailable, 331000<<10, Bytes, "t0/proc/meminfo:2 MemAvailable")
			if name == "a shell" && (len(r.Listeners) != 1 || r.Listeners[0].Port != 8000) {
				t.Errorf("listeners: %+v", r.Listeners)
			}
		})
	}
}

func TestPastedNamesStayWhereTheyAre(t *testing.T) {
	c := readFiles(t, map[string]string{"x.txt": "==> /proc/../../etc/passwd <==\nroot:x:0:0\n==> /proc/meminfo <==\nMemTotal: 5 kB\n"})
	for _, in := range c.Inputs {
		if in.File != "proc/meminfo" {
			t.Errorf("taken in: %+v", in)
		}
	}
}

func TestALogWithADollarIsNoShell(t *testing.T) {
	c := readFile(t, "app.log", "INFO: total $ 12 was paid\n2026-03-01 10:00:00 ERROR no\n")
	if len(c.Logs) != 1 || c.Logs[0].Lines != 2 {
		t.Errorf("logs: %+v", c.Logs)
	}
}

func FuzzPasted(f *testing.F)        { fuzzFile(f, "paste.txt", pastedFiles) }
func FuzzPastedSession(f *testing.F) { fuzzFile(f, "paste.txt", pastedSession) }
