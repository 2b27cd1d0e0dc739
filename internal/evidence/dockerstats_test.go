package evidence

import "testing"

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

func FuzzDockerStats(f *testing.F) { fuzzFile(f, "stats.txt", statsText) }

func FuzzDockerStatsJSON(f *testing.F) { fuzzFile(f, "stats.json", statsJSON) }
