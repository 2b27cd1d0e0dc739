package evidence

import (
	"bytes"
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
	if len(first) > mostLine || !bytes.Contains(first, []byte("MEM USAGE / LIMIT")) {
		return false
	}
	var columns []string
	s := statsOf(f, "docker stats", "CPU %", "MEM USAGE / LIMIT")
	s.ofStart = bytes.Contains(first, []byte("CPU TIME"))
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
		s.row(Source{File: f.name, Line: n}, name, row["CPU %"], row["MEM USAGE / LIMIT"])
	}
	return s.done(b, f)
}

// stats is what a tool told of each container, the last row of it.
type stats struct {
	as    string
	file  string
	r     Reading
	place map[string]int
	// cpu and memory are the names of the columns.
	cpu, memory string
	// ofStart says that the first look at a container has the mean since it started,
	// as podman's has, whose looks are of the time since the one before.
	ofStart bool
	left    int // rows that were not read
	refused refusals
}

func statsOf(f *file, as, cpu, memory string) *stats {
	return &stats{as: as, file: f.name, cpu: cpu, memory: memory, r: emptyReading(listenersOnly + readingOf(f.name)), place: map[string]int{}}
}

// row takes in a row with a share of one CPU, and an amount of a limit.
func (s *stats) row(at Source, name, cpu, memory string) {
	if name == "" || memory == "" {
		return
	}
	used, limit, _ := strings.Cut(memory, " / ")
	if used == "--" { // it does not run
		return
	}
	ofMemory, ofCPU := at, at
	ofMemory.Field, ofCPU.Field = s.memory, s.cpu
	g := Cgroup{Path: name}
	g.Memory.Current = statsSize(used, ofMemory)
	if max := statsSize(limit, ofMemory); max.Above(0) {
		g.Memory.Max = Limit{Value: max}
	}
	g.CPU.Now = parsedNumber(strings.TrimSuffix(cpu, "%"), NoUnit, ofCPU).Times(0.01, NoUnit)
	s.take(at, g)
}

// aboveLimit is the share of its limit, in percent, that nothing uses: figures are
// rounded, and the kernel lets a little more in before it reclaims.
//
// https://docs.kernel.org/admin-guide/cgroup-v2.html (memory.max)
const aboveLimit = 105

// take takes in what a tool told of a container, in place of what it told before.
func (s *stats) take(at Source, g Cgroup) {
	switch share := g.Memory.Current.PercentOf(g.Memory.Max.Value); {
	case share.Above(aboveLimit):
		s.refused.add(at, fmt.Sprintf("%s of %s is %.0f of %.0f MiB, and a container cannot use more than its limit",
			s.memory, shorten(g.Path), g.Memory.Current.Number/(1<<20), g.Memory.Max.Number/(1<<20)))
		return
	case g.CPU.Now.Below(0):
		s.refused.add(at, fmt.Sprintf("%s of %s is %g %%, and it is 0 or more", s.cpu, shorten(g.Path), 100*g.CPU.Now.Number))
		return
	case !g.Memory.Current.Known && !g.CPU.Now.Known:
		s.left++
		return
	}
	g.Path = shorten(g.Path)
	g.Server = g.Path
	i, again := s.place[g.Path]
	if s.ofStart && !again {
		g.CPU.Now = Missing(CannotTell, "the first look is since the container started", g.CPU.Now.From...)
	}
	switch {
	case again:
		s.r.Cgroups[i] = g
	case len(s.r.Cgroups) == mostCgroups:
		s.left++
	default:
		s.place[g.Path] = len(s.r.Cgroups)
		s.r.Cgroups = append(s.r.Cgroups, g)
	}
}

// limitsOfContainers gives what a tool said that a container uses the limit that
// another file tells of it: of the same name, or the only one of the pod.
func (b *builder) limitsOfContainers() {
	for i := range b.c.Readings {
		for j := range b.c.Readings[i].Cgroups {
			g := &b.c.Readings[i].Cgroups[j]
			if g.Server == "" || g.Server != g.Path || g.Memory.Max.Known || g.Memory.Max.Unlimited {
				continue
			}
			if limit := b.limitOf(g.Path); limit.AtLeast(g.Memory.Current.Number * 100 / aboveLimit) {
				g.Memory.Max = Limit{Value: limit}
			}
		}
	}
}

func (b *builder) limitOf(name string) Value {
	var limit Value
	inPod := 0
	for i := range b.c.Containers {
		c := &b.c.Containers[i]
		if c.Name == name {
			return c.MemoryLimit
		}
		if strings.HasPrefix(c.Name, name+"/") {
			limit = c.MemoryLimit
			inPod++
		}
	}
	if inPod != 1 {
		return Missing(NotSeen, "no input tells the limit of "+name)
	}
	return limit
}

func (s *stats) done(b *builder, f *file) bool {
	s.refused.tell(b, f.name)
	note := ""
	switch {
	case len(s.r.Cgroups) == 0 && s.refused.n > 0:
		return true
	case s.left > 0:
		note = fmt.Sprintf("%d of its rows were not read", s.left)
	case len(s.r.Cgroups) == 0:
		note = "it shows no container that runs"
	}
	b.c.Readings = append(b.c.Readings, s.r)
	b.input(f, s.as, note)
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
