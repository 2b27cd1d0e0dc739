package evidence

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// parseStatsJSON reads what container runtimes tell of memory and CPU in JSON: a
// list, one object, or an object a line.
func (b *builder) parseStatsJSON(f *file) bool {
	data := f.data
	if bytes.Contains(data[:min(len(data), mostLine)], []byte("\x1b[")) { // a stream clears the screen before each look
		data = colours().ReplaceAll(data, nil)
	}
	head := data[:min(len(data), 64<<10)]
	switch {
	case len(data) > mostJSON:
		return false
	case bytes.Contains(head, []byte(`"MemUsage"`)) && bytes.Contains(head, []byte(`"CPUPerc"`)):
		return b.statsObjects(f, data, statsOf(f, "docker stats", "CPUPerc", "MemUsage"), (*stats).dockerObject)
	case bytes.Contains(head, []byte(`"mem_usage"`)) && bytes.Contains(head, []byte(`"cpu_percent"`)):
		s := statsOf(f, "podman stats", "cpu_percent", "mem_usage")
		s.ofStart = true
		return b.statsObjects(f, data, s, (*stats).podmanObject)
	case bytes.Contains(head, []byte(`"memory_stats"`)) && bytes.Contains(head, []byte(`"cpu_stats"`)):
		return b.statsObjects(f, data, statsOf(f, "docker stats (Engine API)", "cpu_stats", "memory_stats"), (*stats).engineObject)
	case bytes.Contains(head, []byte(`"workingSetBytes"`)):
		return b.statsObjects(f, data, statsOf(f, "stats of a kubelet", "cpu", "memory"), (*stats).kubeletObject)
	}
	return false
}

// statsObjects takes in each object of a file.
func (b *builder) statsObjects(f *file, data []byte, s *stats, take func(s *stats, from Source, place string, o object)) bool {
	found, torn := eachObject(f, data, func(from Source, place string, o object) { take(s, from, place, o) })
	if torn {
		s.left++
	}
	return found && s.done(b, f)
}

// eachObject hands on the objects of a file: those of a list, or each of a stream of
// values; line and place say where one stands. torn says that what follows is none.
func eachObject(f *file, data []byte, take func(from Source, place string, o object)) (found, torn bool) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	line, counted := 1, int64(0)
	for d.More() {
		before := d.InputOffset()
		var v any
		if err := d.Decode(&v); err != nil {
			return found, true
		}
		end := d.InputOffset()
		line += bytes.Count(data[counted:end], []byte{'\n'})
		counted = end
		if list, ok := v.([]any); ok {
			for i, one := range list {
				if o, ok := one.(object); ok {
					found = true
					take(Source{File: f.name}, fmt.Sprintf("[%d].", i), o)
				}
			}
		} else if o, ok := v.(object); ok {
			found = true
			from := Source{File: f.name}
			if value := bytes.TrimSpace(data[before:end]); !bytes.Contains(value, []byte{'\n'}) {
				from.Line = line
			}
			take(from, "", o)
		}
	}
	return found, false
}

// dockerObject takes in what "docker stats --format json" prints for a container.
//
// https://docs.docker.com/reference/cli/docker/container/stats/#format
func (s *stats) dockerObject(from Source, place string, o object) {
	s.cpu, s.memory = place+"CPUPerc", place+"MemUsage"
	s.row(from, firstText(o, "Name", "Container", "ID"), textOf(o["CPUPerc"]), textOf(o["MemUsage"]))
}

// podmanObject takes in what "podman stats --format json" prints for a container.
//
// https://docs.podman.io/en/latest/markdown/podman-stats.1.html
func (s *stats) podmanObject(from Source, place string, o object) {
	s.cpu, s.memory = place+"cpu_percent", place+"mem_usage"
	s.row(from, firstText(o, "name", "id"), textOf(o["cpu_percent"]), textOf(o["mem_usage"]))
}

// engineObject takes in what the API of docker's engine answers to
// /containers/…/stats: the counters of the cgroup, and those of a second before.
//
// https://docs.docker.com/reference/api/engine/version/v1.47/#tag/Container/operation/ContainerStats
func (s *stats) engineObject(from Source, place string, o object) {
	number := func(unit Unit, keys ...string) Value {
		v := jsonNumber(&file{name: from.File}, o, unit, "", keys...)
		for i := range v.From {
			v.From[i].Line, v.From[i].Field = from.Line, place+v.From[i].Field
		}
		return v
	}
	micros := func(keys ...string) Value { return number(Micros, keys...).Times(1e-3, Micros) }
	g := Cgroup{Path: trimName(firstText(o, "name", "id"))}
	m, c := &g.Memory, &g.CPU
	m.Current, m.Max = number(Bytes, "memory_stats", "usage"), Limit{Value: number(Bytes, "memory_stats", "limit")}
	m.Anon = number(Bytes, "memory_stats", "stats", "anon").Else(number(Bytes, "memory_stats", "stats", "total_rss"))
	m.File = number(Bytes, "memory_stats", "stats", "file").Else(number(Bytes, "memory_stats", "stats", "total_cache"))
	m.Shmem = number(Bytes, "memory_stats", "stats", "shmem")
	m.PgMajFault = number(Events, "memory_stats", "stats", "pgmajfault")
	m.EventMax = number(Events, "memory_stats", "failcnt")
	c.UsageMicros = micros("cpu_stats", "cpu_usage", "total_usage")
	c.Periods = number(Events, "cpu_stats", "throttling_data", "periods")
	c.Throttled = number(Events, "cpu_stats", "throttling_data", "throttled_periods")
	c.ThrottledMicros = micros("cpu_stats", "throttling_data", "throttled_time")
	used := c.UsageMicros.Minus(micros("precpu_stats", "cpu_usage", "total_usage"))
	all := micros("cpu_stats", "system_cpu_usage").Minus(micros("precpu_stats", "system_cpu_usage"))
	if share := used.Over(all); share.AtLeast(0) {
		c.Now = share.Times(number(NoUnit, "cpu_stats", "online_cpus").Number, NoUnit)
	}
	s.memory, s.cpu = place+"memory_stats.usage", place+"cpu_stats"
	if g.Path != "" {
		s.take(from, g)
	}
}

// trimName takes off the slash that docker puts before the name of a container.
func trimName(name string) string {
	if len(name) > 1 && name[0] == '/' {
		return name[1:]
	}
	return name
}
