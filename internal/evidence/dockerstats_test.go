package evidence

import (
	"strings"
	"testing"
)

// The example of docker's own manual (docs.docker.com/reference/cli/docker/container/stats).
const statsText = "CONTAINER ID   NAME                                    CPU %     MEM USAGE / LIMIT     MEM %     NET I/O             BLOCK I/O           PIDS\n" +
	"b95a83497c91   awesome_brattain                        0.28%     5.629MiB / 1.952GiB   0.28%     916B / 0B           147kB / 0B          9\n" +
	"67b2525d8ad1   foobar                                  125.00%   1.727MiB / 1.952GiB   0.09%     2.48kB / 0B         4.11MB / 0B         2\n" +
	"e5c383697914   test-1951.1.kay7x1lh1twk9c0oig50sd5tr   0.00%     196KiB / 1.952GiB     0.01%     71.2kB / 0B         770kB / 0B          1\n" +
	"4bda148efbc0   gone                                    --        -- / --               --        --                  --                  --\n"

const statsJSON = `{"BlockIO":"0B / 13.3kB","CPUPerc":"0.03%","Container":"nginx","ID":"ed37317fbf42","MemPerc":"0.24%","MemUsage":"2.352MiB / 982.5MiB","Name":"nginx","NetIO":"539kB / 606kB","PIDs":"2"}
{"BlockIO":"0B / 13.3kB","CPUPerc":"50.00%","Container":"api","ID":"ed37317fbf43","MemPerc":"90.00%","MemUsage":"900MiB / 1000MiB","Name":"api","NetIO":"539kB / 606kB","PIDs":"2"}
`

func TestDockerStats(t *testing.T) {
	c := readFile(t, "stats.txt", statsText)
	wantWhole(t, c)
	if len(c.Readings) != 1 || len(c.Last().Cgroups) != 3 || c.Inputs[0].As != "docker stats" {
		t.Fatalf("%+v, %+v", c.Readings, c.Inputs)
	}
	g := c.Last().Cgroup("foobar")
	wantValue(t, "usage", g.Memory.Current, 1.727*(1<<20), Bytes, "stats.txt:3 MEM USAGE / LIMIT")
	wantValue(t, "limit", g.Memory.Max.Value, 1.952*(1<<30), Bytes, "stats.txt:3 MEM USAGE / LIMIT")
	wantValue(t, "CPUs", g.CPU.Now, 1.25, NoUnit, "stats.txt:3 CPU %")
	wantValue(t, "KiB", c.Last().Cgroup("test-1951.1.kay7x1lh1twk9c0oig50sd5tr").Memory.Current, 196<<10, Bytes, "")
}

func TestDockerStatsAsJSON(t *testing.T) {
	c := readFile(t, "stats.json", statsJSON)
	wantWhole(t, c)
	g := c.Last().Cgroup("api")
	wantValue(t, "usage", g.Memory.Current, 900<<20, Bytes, "stats.json:2 MemUsage")
	wantValue(t, "limit", g.Memory.Max.Value, 1000<<20, Bytes, "")
	wantValue(t, "CPUs", g.CPU.Now, 0.5, NoUnit, "")
}

// A stream prints the table again and again behind what clears the screen, and the
// last row of a container is that of now. podman counts in thousands and names its
// columns a little otherwise (podman-stats(1)).
func TestDockerStatsOfAStreamAndOfPodman(t *testing.T) {
	head := "\x1b[2J\x1b[HCONTAINER ID   NAME      CPU %     MEM USAGE / LIMIT     MEM %     NET I/O   BLOCK I/O   PIDS\n"
	c := readFile(t, "x", head+"b95a83497c91   api       1.00%     5MiB / 1GiB   0.28%     1B / 0B   1kB / 0B   9\n"+head+"b95a83497c91   api       2.00%     7MiB / 1GiB   0.28%     1B / 0B   1kB / 0B   9\n")
	wantValue(t, "the last", c.Last().Cgroup("api").Memory.Current, 7<<20, Bytes, "")
	c = readFile(t, "x", "ID            NAME        CPU %       MEM USAGE / LIMIT  MEM %       NET IO             BLOCK IO    PIDS        CPU TIME    AVG CPU %\n"+
		"4b61f4d2c1f7  web         0.50%       1.5MB / 16.4GB     0.01%       1.2kB / 936B       0B / 0B     2           12.5ms      0.40%\n")
	wantValue(t, "podman", c.Last().Cgroup("web").Memory.Current, 1.5e6, Bytes, "")
	wantValue(t, "podman's limit", c.Last().Cgroup("web").Memory.Max.Value, 16.4e9, Bytes, "")
}

// podman-stats(1) has these keys. Its first look has the mean since the container
// started, which is none of now (getPlatformContainerStats in podman's libpod).
const podmanJSON = `[
 {"id":"a9f1c2d3e4b5","name":"api","cpu_time":"1.2s","cpu_percent":"2.30%","avg_cpu":"2.30%","mem_usage":"510.1MB / 536.9MB","mem_percent":"95.01%","net_io":"430B / 110B","block_io":"0B / 0B","pids":"3"}
]
`

func TestStatsAsOneListInJSON(t *testing.T) {
	c := readFile(t, "stats.json", "["+strings.Join(strings.Split(strings.TrimSpace(statsJSON), "\n"), ",\n")+"]\n")
	wantWhole(t, c)
	wantValue(t, "docker's", c.Last().Cgroup("api").Memory.Current, 900<<20, Bytes, "stats.json [1].MemUsage")
	wantValue(t, "docker's CPU", c.Last().Cgroup("nginx").CPU.Now, 0.0003, NoUnit, "stats.json [0].CPUPerc")
	c = readFile(t, "podman.json", podmanJSON)
	wantWhole(t, c)
	g := c.Last().Cgroup("api")
	wantValue(t, "podman's", g.Memory.Current, 510.1e6, Bytes, "podman.json [0].mem_usage")
	wantValue(t, "podman's limit", g.Memory.Max.Value, 536.9e6, Bytes, "")
	wantMissing(t, "podman's first look at the CPU", g.CPU.Now, CannotTell)
	c = readFile(t, "podman.json", podmanJSON+strings.ReplaceAll(podmanJSON, `"cpu_percent":"2.30%"`, `"cpu_percent":"99.00%"`))
	wantValue(t, "podman's second look", c.Last().Cgroup("api").CPU.Now, 0.99, NoUnit, "")
}

// memory.max cannot be exceeded but for a moment (cgroup-v2.rst), and time does not
// run backwards.
func TestStatsThatCannotBe(t *testing.T) {
	for _, row := range []struct{ text, why string }{
		{"67b2525d8ad1   api    12.00%    900MiB / 512MiB   175.16%   1B / 0B   1B / 0B   2", "line 2: MEM USAGE / LIMIT of api is 900 of 512 MiB, and a container cannot use more than its limit: it was not read"},
		{"67b2525d8ad1   api    -12.00%   90MiB / 512MiB    17.16%    1B / 0B   1B / 0B   2", "line 2: CPU % of api is -12 %, and it is 0 or more: it was not read"},
	} {
		head := "CONTAINER ID   NAME   CPU %     MEM USAGE / LIMIT   MEM %     NET I/O   BLOCK I/O   PIDS\n"
		c := readFiles(t, map[string]string{"stats.txt": head + row.text + "\n"})
		if len(c.Strangers) != 1 || c.Strangers[0].Why != row.why || len(c.Inputs) != 0 || len(c.Readings) != 0 {
			t.Errorf("%s\n got %+v, %+v, %+v\nwant %s", row.text, c.Strangers, c.Inputs, c.Readings, row.why)
		}
		c = readFiles(t, map[string]string{"stats.txt": head + row.text + "\n77b2525d8ad2   db     3.00%     513MiB / 512MiB   100.00%   1B / 0B   1B / 0B   2\n"})
		if len(c.Strangers) != 1 || len(c.Last().Cgroups) != 1 {
			t.Errorf("beside another row: %+v, %+v", c.Strangers, c.Last())
		}
		wantValue(t, "a little above its limit", c.Last().Cgroup("db").Memory.Current, 513<<20, Bytes, "")
	}
}

// The answer of /containers/…/stats of docker's Engine API (v1.47): total_usage and
// throttled_time are in ns, and CPUs are the rise of total_usage over that of
// system_cpu_usage times online_cpus, as the API's own page says.
const engineJSON = `{"name":"/api","read":"2026-01-15T10:00:02.1Z","preread":"2026-01-15T10:00:01.1Z",
"cpu_stats":{"cpu_usage":{"total_usage":192500000000},"system_cpu_usage":1002000000000,"online_cpus":2,"throttling_data":{"periods":1400,"throttled_periods":700,"throttled_time":35000000000}},
"precpu_stats":{"cpu_usage":{"total_usage":192000000000},"system_cpu_usage":1000000000000,"online_cpus":2},
"memory_stats":{"usage":529530880,"limit":536870912,"stats":{"anon":510000000,"file":1000000,"pgmajfault":12}}}`

func TestStatsOfTheEngine(t *testing.T) {
	c := readFile(t, "api.json", engineJSON)
	wantWhole(t, c)
	g := c.Last().Cgroup("api")
	wantValue(t, "usage", g.Memory.Current, 529530880, Bytes, "api.json memory_stats.usage")
	wantValue(t, "limit", g.Memory.Max.Value, 512<<20, Bytes, "")
	wantValue(t, "anonymous", g.Memory.Anon, 510000000, Bytes, "")
	wantValue(t, "CPUs", g.CPU.Now, 0.5, NoUnit, "")
	wantValue(t, "periods", g.CPU.Periods, 1400, Events, "")
	wantValue(t, "throttled", g.CPU.Throttled, 700, Events, "")
	wantValue(t, "throttled time", g.CPU.ThrottledMicros, 35e6, Micros, "")
}

func FuzzDockerStats(f *testing.F) { fuzzFile(f, "stats.txt", statsText) }

func FuzzDockerStatsJSON(f *testing.F) {
	fuzzFile(f, "stats.json", statsJSON, podmanJSON, engineJSON, crictlJSON, summaryJSON)
}
