package evidence

import (
	"bytes"
	"slices"
	"strings"
)

// kubeTool is a tool that prints what containers use, in columns.
type kubeTool struct {
	as, cpu, memory string
	name            []string // the columns that name a row, those that are there
	cpuUnit         float64  // what makes CPUs of a number without a unit
}

var kubeTools = []kubeTool{
	{"kubectl top", "CPU(cores)", "MEMORY(bytes)", []string{"POD", "NAME"}, 1},
	{"crictl stats", "CPU %", "MEM", []string{"NAME"}, 0.01},
}

// parseKubeStats reads what "kubectl top pod" and "crictl stats" print. Their memory
// is without the cache that was not used lately, and they have no limits: those are
// of the container where another file tells them.
//
// https://kubernetes.io/docs/reference/kubectl/generated/kubectl_top/kubectl_top_pod/
// https://github.com/kubernetes-sigs/cri-tools/blob/master/docs/crictl.md
func (b *builder) parseKubeStats(f *file) bool {
	first, _, _ := bytes.Cut(bytes.TrimSpace(f.data), []byte{'\n'})
	heading := strings.TrimSpace(string(first[:min(len(first), mostLine)]))
	columns := statsColumns().Split(heading, -1)
	i := slices.IndexFunc(kubeTools, func(t kubeTool) bool {
		return slices.Contains(columns, t.cpu) && slices.Contains(columns, t.memory)
	})
	switch {
	case i < 0:
		return false
	case slices.Contains(columns, "MEMORY%"), slices.Contains(columns, "MEMORY(%)"):
		b.input(f, "kubectl top node", "what nodes use is not judged: kubectl describe node says whether one is short of memory")
		return true
	}
	tool := kubeTools[i]
	s := statsOf(f, tool.as, tool.cpu, tool.memory)
	n := 0
	for line := range bytes.Lines(f.data) {
		n++
		text := strings.TrimSpace(string(line[:min(len(line), mostLine)]))
		if cells := statsColumns().Split(text, -1); len(cells) == len(columns) && text != heading {
			s.take(Source{File: f.name, Line: n}, tool.cgroup(Source{File: f.name, Line: n}, columns, cells))
		}
	}
	return s.done(b, f)
}

func (t *kubeTool) cgroup(from Source, columns, cells []string) Cgroup {
	var name []string
	for _, part := range t.name {
		if i := slices.Index(columns, part); i >= 0 {
			name = append(name, cells[i])
		}
	}
	g := Cgroup{Path: strings.Join(name, "/")}
	cell := func(column string) string {
		from.Field = column
		return cells[slices.Index(columns, column)]
	}
	text := cell(t.memory)
	if g.Memory.Current = statsSize(text, from); !g.Memory.Current.Known { // with B, or as Kubernetes writes it
		g.Memory.Current = parsedSize(text, from)
	}
	text = cell(t.cpu)
	if g.CPU.Now = parsedCPUs(text, from); !strings.HasSuffix(text, "m") {
		g.CPU.Now = g.CPU.Now.Times(t.cpuUnit, NoUnit)
	}
	return g
}

// kubeletObject takes in what a kubelet tells of its containers: in the form of
// "crictl stats -o json", or of its summary.
//
// https://github.com/kubernetes/cri-api/blob/master/pkg/apis/runtime/v1/api.proto
// https://kubernetes.io/docs/reference/instrumentation/node-metrics/
func (s *stats) kubeletObject(from Source, place string, o object) {
	for _, one := range listAt(o, "stats") {
		name := textOf(at(one, "attributes", "metadata", "name"))
		if pod := textOf(objectAt(one, "attributes", "labels")["io.kubernetes.pod.name"]); pod != "" {
			name = pod + "/" + name
		}
		s.kubelet(from, place, name, one)
	}
	for _, pod := range listAt(o, "pods") {
		for _, one := range listAt(pod, "containers") {
			s.kubelet(from, place, textOf(at(pod, "podRef", "name"))+"/"+textOf(at(one, "name")), one)
		}
	}
	if node := objectAt(o, "node"); node != nil {
		free := kubeletNumber(from, place+"node.", node, Bytes, "memory", "availableBytes")
		s.r.Meminfo.MemAvailable = free
		s.r.Meminfo.MemTotal = free.Plus(kubeletNumber(from, place+"node.", node, Bytes, "memory", "workingSetBytes"))
	}
}

// kubelet takes in one container. What is available is what is left of its limit,
// and 0 where there is none.
func (s *stats) kubelet(from Source, place, name string, one any) {
	if name == "" {
		return
	}
	place += name + " "
	g := Cgroup{Path: name}
	g.Memory.Current = kubeletNumber(from, place, one, Bytes, "memory", "workingSetBytes")
	if left := kubeletNumber(from, place, one, Bytes, "memory", "availableBytes"); left.Above(0) {
		g.Memory.Max = Limit{Value: left.Plus(g.Memory.Current)}
	}
	g.Memory.PgMajFault = kubeletNumber(from, place, one, Events, "memory", "majorPageFaults").
		Else(kubeletNumber(from, place, one, Events, "memory", "pgmajfault"))
	g.CPU.Now = kubeletNumber(from, place, one, NoUnit, "cpu", "usageNanoCores").Times(1e-9, NoUnit)
	g.CPU.UsageMicros = kubeletNumber(from, place, one, Micros, "cpu", "usageCoreNanoSeconds").Times(1e-3, Micros)
	s.take(from, g)
}

// kubeletNumber is a number of the summary; crictl wraps it in an object.
func kubeletNumber(from Source, place string, v any, unit Unit, keys ...string) Value {
	found := at(v, keys...)
	if o, ok := found.(object); ok {
		found = o["value"]
	}
	from.Field = place + strings.Join(keys, ".")
	if found == nil {
		return Missing(Absent, "the file has no such field", from)
	}
	return parsedNumber(textOf(found), unit, from)
}
