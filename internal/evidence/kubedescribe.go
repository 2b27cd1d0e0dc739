package evidence

import (
	"bytes"
	"strings"
)

// nodeMemory is the condition of a node, in its own words.
var nodeMemory = expression(`^\s+MemoryPressure\s+(True|False)\s`)

// parseDescribe reads "kubectl describe pod": two spaces stand before the name
// of a container, four before its fields, six before what belongs to them. Of
// "kubectl describe node" it reads whether memory is short, and the events.
//
// https://kubernetes.io/docs/reference/kubectl/generated/kubectl_describe/
func (b *builder) parseDescribe(f *file) bool {
	if !bytes.HasPrefix(f.data, []byte("Name:")) || !bytes.Contains(f.data, []byte("\nContainers:")) && !nodeMemory().Match(conditions(f.data)) {
		return false
	}
	d := describe{f: f, log: b.newLog(f.name)}
	d.log.log.As, d.log.log.Origin = "kubectl describe", FromKubernetes
	n := 0
	for line := range bytes.Lines(f.data) {
		if n++; n > mostLines {
			break
		}
		d.line(b, n, string(bytes.TrimRight(line[:min(len(line), mostLine)], "\r\n")))
	}
	d.close(b)
	b.c.Logs = append(b.c.Logs, d.log.log)
	b.probeLines(f)
	b.input(f, "kubectl describe", "")
	return true
}

// conditions is what stands from a node's condition of memory on.
func conditions(data []byte) []byte {
	_, after, ok := bytes.Cut(data, []byte("\nConditions:"))
	if !ok {
		return nil
	}
	at := bytes.Index(after, []byte("MemoryPressure"))
	if at < 0 {
		return nil
	}
	return after[bytes.LastIndexByte(after[:at], '\n')+1:]
}

// describe is where in the text the reader is.
type describe struct {
	f       *file
	log     *logReader
	pod     string
	inside  bool // below "Containers:"
	events  bool // below "Events:"
	section string
	one     *Container
}

func (d *describe) line(b *builder, n int, line string) {
	d.log.log.Lines++
	if d.events {
		l := unwrap(n, d.f.name, line)
		if e, ok := kubeEventLine(l, &d.log.state); ok && e.Kind != "" {
			if e.App == "" {
				e.App = d.pod
			}
			d.log.take(e, l)
			return
		}
	}
	if m := nodeMemory().FindStringSubmatch(line); m != nil && !d.inside {
		l := unwrap(n, d.f.name, line)
		e := l.event(NodeEnough, FromKubernetes)
		if e.App = d.pod; m[1] == "True" {
			e.Kind = NodeShort
		}
		d.log.take(e, l)
		return
	}
	key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
	if !ok {
		return
	}
	value = strings.TrimSpace(value)
	switch depth := len(line) - len(strings.TrimLeft(line, " ")); {
	case depth == 0:
		d.close(b)
		d.inside, d.events = key == "Containers", key == "Events"
		if key == "Name" {
			d.pod = shorten(value)
		}
	case !d.inside:
	case depth <= 2:
		d.close(b)
		from := Source{File: d.f.name, Line: n}
		none := Missing(Absent, "the text does not tell", from)
		name := shorten(key)
		if d.pod != "" {
			name = d.pod + "/" + name
		}
		d.one = &Container{Name: name, Platform: FromKubernetes, From: from, OOMKilled: Unsure,
			Restarts: none, ExitCode: none, LastExitCode: none, LastSignal: none, MemoryLimit: none, CPULimit: none}
	case d.one == nil:
	case depth <= 4:
		d.section = key
		d.field(key, value, Source{File: d.f.name, Line: n, Field: key})
	default:
		d.detail(key, value, Source{File: d.f.name, Line: n, Field: d.section + " " + key})
	}
}

func (d *describe) field(key, value string, from Source) {
	switch key {
	case "State":
		d.one.State = strings.ToLower(value)
	case "Ready":
		d.one.Ready = No
		if value == "True" {
			d.one.Ready = Yes
		}
	case "Restart Count":
		d.one.Restarts = parsedNumber(value, Events, from)
	}
}

func (d *describe) detail(key, value string, from Source) {
	c := d.one
	switch d.section + " " + key {
	case "State Reason":
		c.Reason = shorten(value)
	case "State Exit Code":
		c.ExitCode = parsedNumber(value, NoUnit, from)
	case "Last State Reason":
		c.LastReason = shorten(value)
	case "Last State Exit Code":
		c.LastExitCode = parsedNumber(value, NoUnit, from)
	case "Last State Signal":
		c.LastSignal = parsedNumber(value, NoUnit, from)
	case "Limits memory":
		c.MemoryLimit = parsedSize(value, from)
	case "Limits cpu":
		c.CPULimit = parsedCPUs(value, from)
	}
}

func (d *describe) close(b *builder) {
	if c := d.one; c != nil && c.Restarts.Known {
		if c.Reason == "OOMKilled" || c.LastReason == "OOMKilled" {
			c.OOMKilled = Yes
		}
		b.c.Containers = append(b.c.Containers, *c)
	}
	d.one, d.section = nil, ""
}
