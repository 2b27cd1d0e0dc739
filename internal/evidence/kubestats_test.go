package evidence

import "testing"

// The columns of kubectl top pod, with --containers, and of crictl stats
// (cri-tools's docs/crictl.md). The figures are made up.
const (
	topPodText = `NAME                   CPU(cores)   MEMORY(bytes)
api-7c9d8b6f5d-abcde   998m         505Mi
db-0                   12m          210Mi
`
	topContainersText = `POD                    NAME    CPU(cores)   MEMORY(bytes)
api-7c9d8b6f5d-abcde   api     998m         505Mi
api-7c9d8b6f5d-abcde   proxy   3m           22Mi
`
	crictlText = `CONTAINER           NAME                CPU %               MEM                 DISK                INODES
4f1c2d3e4b5a6       api                 99.80               505.2MB             36.86kB             11
`
)

func TestKubectlTop(t *testing.T) {
	c := readFile(t, "top.txt", topPodText)
	wantWhole(t, c)
	g := c.Last().Cgroup("api-7c9d8b6f5d-abcde")
	wantValue(t, "memory", g.Memory.Current, 505<<20, Bytes, "top.txt:2 MEMORY(bytes)")
	wantValue(t, "CPUs", g.CPU.Now, 0.998, NoUnit, "top.txt:2 CPU(cores)")
	wantMissing(t, "a limit that nothing tells", g.Memory.Max.Value, NotSeen)
	c = readFile(t, "top.txt", topContainersText)
	wantValue(t, "memory of a container", c.Last().Cgroup("api-7c9d8b6f5d-abcde/proxy").Memory.Current, 22<<20, Bytes, "")
}

// The pod's own description tells the limit, of its only container or of the one of
// that name.
func TestKubectlTopHasTheLimitThatThePodTells(t *testing.T) {
	const pod = "Name: api-7c9d8b6f5d-abcde\nContainers:\n  api:\n    State:          Running\n    Restart Count:  0\n    Limits:\n      memory:  512Mi\n"
	for name, top := range map[string]string{"api-7c9d8b6f5d-abcde": topPodText, "api-7c9d8b6f5d-abcde/api": topContainersText} {
		c := readFiles(t, map[string]string{"top.txt": top, "pod.txt": pod})
		wantValue(t, name, c.Last().Cgroup(name).Memory.Max.Value, 512<<20, Bytes, "pod.txt:7 Limits memory")
	}
	c := readFiles(t, map[string]string{"top.txt": topContainersText, "pod.txt": pod})
	wantMissing(t, "of another container", c.Last().Cgroup("api-7c9d8b6f5d-abcde/proxy").Memory.Max.Value, NotSeen)
}

func TestCrictlStats(t *testing.T) {
	c := readFile(t, "crictl.txt", crictlText)
	wantWhole(t, c)
	wantValue(t, "memory", c.Last().Cgroup("api").Memory.Current, 505.2e6, Bytes, "crictl.txt:2 MEM")
	wantValue(t, "CPUs", c.Last().Cgroup("api").CPU.Now, 0.998, NoUnit, "crictl.txt:2 CPU %")
}

// ContainerStats of the CRI (cri-api's api.proto), and the kubelet's summary: what is
// available is the limit without the working set.
const (
	crictlJSON = `{"stats":[{"attributes":{"id":"4f1c","metadata":{"attempt":0,"name":"api"},"labels":{"io.kubernetes.pod.name":"api-0"}},
"cpu":{"usageCoreNanoSeconds":{"value":"192345678000"},"usageNanoCores":{"value":"998000000"}},
"memory":{"workingSetBytes":{"value":"529530880"},"availableBytes":{"value":"7340032"},"majorPageFaults":{"value":"12"}}}]}`
	summaryJSON = `{"node":{"nodeName":"pool-a-1","memory":{"availableBytes":150000000,"workingSetBytes":3850000000}},
"pods":[{"podRef":{"name":"api-0","namespace":"shop"},"containers":[{"name":"api","cpu":{"usageNanoCores":998000000},"memory":{"workingSetBytes":529530880,"availableBytes":7340032}}]}]}`
)

func TestStatsOfAKubelet(t *testing.T) {
	for name, text := range map[string]string{"crictl.json": crictlJSON, "summary.json": summaryJSON} {
		c := readFile(t, name, text)
		wantWhole(t, c)
		g := c.Last().Cgroup("api-0/api")
		wantValue(t, name+" memory", g.Memory.Current, 529530880, Bytes, "")
		wantValue(t, name+" limit", g.Memory.Max.Value, 512<<20, Bytes, "")
		wantValue(t, name+" CPUs", g.CPU.Now, 0.998, NoUnit, "")
	}
	c := readFile(t, "summary.json", summaryJSON)
	wantValue(t, "the node's memory", c.Last().Meminfo.MemTotal, 4e9, Bytes, "")
	wantValue(t, "the node's available memory", c.Last().Meminfo.MemAvailable, 150e6, Bytes, "summary.json node.memory.availableBytes")
}

func FuzzKubeStats(f *testing.F) {
	fuzzFile(f, "top.txt", topPodText, topContainersText, crictlText)
}
