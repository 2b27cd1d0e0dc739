package report

import (
	"encoding/json"
	"fmt"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/metric"
)

// deployMetrics are what is set side by side for zips and containers, with the
// heads of their columns.
var deployMetrics = []struct{ name, head string }{
	{"memory_pct", "Plan's memory, %"}, {"cgroup_memory_mb", "Charged, MB"}, {"cgroup_anon_mb", "Anonymous, MB"},
	{"cgroup_file_mb", "File, MB"}, {"cgroup_swap_mb", "Swap, MB"}, {"cold_start_median_s", "Start, s"},
}

// deployPairs finds the executed steps that differ in how their apps are deployed
// and in nothing else.
func (b *builder) deployPairs() error {
	zips := map[string]measure.StepInfo{}
	steps := b.executed()
	for _, s := range steps {
		if like, container := deployedLike(s.Step); !container {
			zips[like] = s
		}
	}
	for _, s := range steps {
		like, container := deployedLike(s.Step)
		zip, ok := zips[like]
		if !container || !ok {
			continue
		}
		p := DeployPair{Zip: zip.Name, Container: s.Name}
		for _, x := range deployMetrics {
			m, _ := metric.Lookup(x.name)
			p.Values = append(p.Values, PairedValue{Metric: m, Head: x.head, Zip: b.median(zip.Name, x.name), Container: b.median(s.Name, x.name)})
		}
		b.m.DeployPairs = append(b.m.DeployPairs, p)
	}
	return nil
}

// deployedLike is all that a step does but how its apps are deployed, and whether
// that is as containers.
func deployedLike(s experiment.Step) (like string, container bool) {
	var apps []experiment.App
	for _, a := range s.Apps {
		container = container || a.Deploy == "container"
		a.Name, a.Deploy, a.MemoryLimitMB = "", "", 0
		apps = append(apps, a)
	}
	var traffic []experiment.Traffic
	for _, t := range s.Traffic {
		t.App = ""
		traffic = append(traffic, t)
	}
	text, _ := json.Marshal([]any{apps, traffic, s.Plan, s.Pressure, s.Start, s.Stagger}) // plain structs
	return string(text), container
}

// deployBlocks set zips and containers side by side.
func deployBlocks(pairs []DeployPair) []block {
	if len(pairs) == 0 {
		return nil
	}
	g := &grid{Caption: "Medians, zip → container: memory of the plan, of the apps' cgroups, and the median app's cold start", Columns: columns("Zip", "Container")}
	for _, v := range pairs[0].Values {
		g.Columns = append(g.Columns, columns("#"+clean(v.Head))...)
	}
	show := func(n Number, m metric.Metric) string {
		if n.None != "" {
			return "–"
		}
		return boundMark(n.AtLeast) + formatMetric(n.X, m)
	}
	for _, p := range pairs {
		row := []cell{{code(p.Zip)}, {code(p.Container)}}
		for _, v := range p.Values {
			row = append(row, words(fmt.Sprintf("%s → %s", show(v.Zip, v.Metric), show(v.Container, v.Metric))))
		}
		g.Rows = append(g.Rows, row)
	}
	return []block{heading("Zip and container"), para(text(
		"Steps that differ in how their apps are deployed and in nothing else. Memory is charged to the cgroup that touched it first: what apps share, such as the page cache of the same files, is in one of them, and the rest of the plan's memory is the platform's and the kernel's.")),
		gridBlock(g)}
}
