package evidence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

var (
	// statsColumns are cut where two blanks or more stand between them, as the
	// headings have one inside.
	statsColumns = expression(`\s{2,}`)
	statsAmount  = expression(`^(\d+(?:\.\d+)?)([kKMGTP]?i?)B$`)
)

// parseDockerStats reads the table of "docker stats", with or without --no-stream,
// and podman's. What it calls usage is without the cache that could be freed, and
// its limit is the machine's memory where a container has none.
//
// https://docs.docker.com/reference/cli/docker/container/stats/
// https://docs.podman.io/en/latest/markdown/podman-stats.1.html
func (b *builder) parseDockerStats(f *file) bool {
	data := f.data
	if bytes.Contains(data, []byte("\x1b[")) { // a stream paints over what it has printed
		data = colours().ReplaceAll(data, nil)
	}
	first, _, _ := bytes.Cut(bytes.TrimSpace(data), []byte{'\n'})
	if len(first) > mostLine || !bytes.Contains(first, []byte("CPU %")) || !bytes.Contains(first, []byte("MEM USAGE / LIMIT")) {
		return false
	}
	var columns []string
	s := statsOf(f, "CPU %", "MEM USAGE / LIMIT")
	n := 0
	for line := range bytes.Lines(data) {
		n++
		text := strings.TrimSpace(string(line[:min(len(line), mostLine)]))
		cells := statsColumns().Split(text, -1)
		if strings.Contains(text, "MEM USAGE / LIMIT") {
			columns = cells
			continue
		}
		row := map[string]string{}
		for i, c := range cells[:min(len(cells), len(columns))] {
			row[columns[i]] = c
		}
		name := row["NAME"]
		for _, other := range []string{"NAMES", "CONTAINER", "CONTAINER ID", "ID"} {
			if name == "" || name == "--" {
				name = row[other]
			}
		}
		s.row(n, name, row["CPU %"], row["MEM USAGE / LIMIT"])
	}
	return s.done(b, f)
}

// dockerStatsLines reads "docker stats --format json", an object a line.
func (b *builder) dockerStatsLines(f *file) bool {
	first, _, _ := bytes.Cut(bytes.TrimSpace(f.data), []byte{'\n'})
	if len(first) > mostLine || !bytes.Contains(first, []byte(`"MemUsage"`)) || !bytes.Contains(first, []byte(`"CPUPerc"`)) || !json.Valid(first) {
		return false
	}
	s := statsOf(f, "CPUPerc", "MemUsage")
	n := 0
	for line := range bytes.Lines(f.data) {
		n++
		text := bytes.TrimSpace(line[:min(len(line), mostLine)])
		v, _, err := decodeJSON(text)
		if o, ok := v.(object); ok && err == nil {
			s.row(n, firstText(o, "Name", "Container", "ID"), textOf(o["CPUPerc"]), textOf(o["MemUsage"]))
		} else if len(text) > 0 {
			s.left++
		}
	}
	return s.done(b, f)
}

// stats is what docker stats told of each container, the last row of it.
type stats struct {
	file  string
	r     Reading
	place map[string]int
	// cpu and memory are the names of the columns.
	cpu, memory string
	left        int // rows that were not read
}

func statsOf(f *file, cpu, memory string) *stats {
	return &stats{file: f.name, cpu: cpu, memory: memory, r: Reading{Name: listenersOnly + readingOf(f.name)}, place: map[string]int{}}
}

// row takes in a row; one without amounts is of a container that does not run.
func (s *stats) row(n int, name, cpu, memory string) {
	used, limit, _ := strings.Cut(memory, " / ")
	at := Source{File: s.file, Line: n, Field: s.memory}
	name = shorten(name)
	if name == "" || memory == "" {
		return
	}
	g := Cgroup{Path: name, Server: name}
	g.Memory.Current = statsSize(used, at)
	if max := statsSize(limit, at); max.Above(0) {
		g.Memory.Max = Limit{Value: max}
	}
	at.Field = s.cpu
	g.CPU.Now = parsedNumber(strings.TrimSuffix(cpu, "%"), NoUnit, at).Times(0.01, NoUnit)
	if !g.Memory.Current.Known && !g.CPU.Now.Known {
		return
	}
	if i, ok := s.place[name]; ok {
		s.r.Cgroups[i] = g
		return
	}
	if len(s.r.Cgroups) == mostCgroups {
		s.left++
		return
	}
	s.place[name] = len(s.r.Cgroups)
	s.r.Cgroups = append(s.r.Cgroups, g)
}

func (s *stats) done(b *builder, f *file) bool {
	note := ""
	switch {
	case len(s.r.Cgroups) == 0:
		note = "it shows no container that runs"
	case s.left > 0:
		note = fmt.Sprintf("%d of its rows were not read", s.left)
	}
	b.c.Readings = append(b.c.Readings, s.r)
	b.input(f, "docker stats", note)
	return true
}

// statsSize reads "1.727MiB" of docker and "1.8MB" of podman, which counts in
// thousands.
func statsSize(text string, from Source) Value {
	m := statsAmount().FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return Missing(Unreadable, "it is no amount of memory", from)
	}
	factor, thousand := 1.0, 1000.0
	prefix, binary := strings.CutSuffix(m[2], "i")
	if binary {
		thousand = 1024
	}
	for range 1 + strings.Index("kmgtp", strings.ToLower(prefix)) {
		if prefix != "" {
			factor *= thousand
		}
	}
	return parsedNumber(m[1], Bytes, from).Times(factor, Bytes)
}
