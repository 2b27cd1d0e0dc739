package evidence

import (
	"bytes"
	"strings"
)

var (
	getPods = expression(`^(?:\S+\s+)?(\S+)\s+(\d+)/(\d+)\s+(\S+)\s+(\d+)(?:\s+\((\S+) ago\))?\s+(\S+)`)
	podRow  = expression(`^(?:\S+\s+)?[a-z0-9][a-z0-9.-]*\s+\d+/\d+\s+[A-Z][\w:/]+\s+\d+(?:\s+\(\S+ ago\))?\s+(?:\d+[smhdy])+(?:\s|$)`)
	// dockerPS finds the state in a row of docker ps; the name is the last word.
	dockerPS     = expression(`\s(Up|Exited|Restarting|Created|Dead|Paused|Removal)\b(?: \((\d+)\))?.*\s(\S+)$`)
	dockerHealth = expression(`\((healthy|unhealthy|health: starting)\)`)
	ageParts     = expression(`(\d+)([smhdy])`)
)

// parsePods reads what "kubectl get pods" prints, with and without namespaces.
//
// https://kubernetes.io/docs/reference/kubectl/generated/kubectl_get/
func (b *builder) parsePods(f *file) bool {
	head, _, _ := bytes.Cut(bytes.TrimSpace(f.data), []byte{'\n'})
	heading := strings.Fields(string(head[:min(len(head), mostLine)]))
	if len(heading) > 0 && heading[0] == "NAMESPACE" {
		heading = heading[1:]
	}
	if (len(heading) < 5 || strings.Join(heading[:4], " ") != "NAME READY STATUS RESTARTS") && !onlyPods(f.data) {
		return false
	}
	n := 0
	for line := range bytes.Lines(f.data) {
		n++
		m := getPods().FindStringSubmatch(string(bytes.TrimSpace(line[:min(len(line), mostLine)])))
		if m == nil {
			continue
		}
		from := Source{File: f.name, Line: n, Field: "RESTARTS"}
		none := Missing(Absent, "the table does not tell", Source{File: f.name, Line: n})
		c := Container{
			Name: shorten(m[1]), Platform: FromKubernetes, From: Source{File: f.name, Line: n}, OOMKilled: Unsure, Ready: triOf(m[2] == m[3]),
			Restarts: parsedNumber(m[5], Events, from), SinceRestart: ageOf(m[6], from), Age: ageOf(m[7], Source{File: f.name, Line: n, Field: "AGE"}),
			ExitCode: none, LastExitCode: none, LastSignal: none, MemoryLimit: none, CPULimit: none,
		}
		switch status := strings.TrimPrefix(m[4], "Init:"); status {
		case "Running":
			c.State = "running"
		case "Completed", "Succeeded", "Terminating":
			c.State = "terminated"
		default:
			c.State, c.Reason = "waiting", shorten(status)
			if status == "OOMKilled" {
				c.OOMKilled = Yes
			}
		}
		b.c.Containers = append(b.c.Containers, c)
	}
	b.input(f, "kubectl get pods", "")
	return true
}

// onlyPods reports whether all lines are rows of kubectl get pods, which prints
// no heading with --no-headers and to who picks a row.
func onlyPods(data []byte) bool {
	n := 0
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line[:min(len(line), mostLine)]); len(line) == 0 {
			continue
		}
		if !podRow().Match(line) {
			return false
		}
		n++
	}
	return n > 0
}

// ageOf reads an age of kubectl: 2m11s, 30d.
func ageOf(text string, from Source) Value {
	unit := map[string]float64{"s": 1, "m": 60, "h": 3600, "d": 86400, "y": 365 * 86400}
	total, known := 0.0, false
	for _, m := range ageParts().FindAllStringSubmatch(text, 4) {
		total += unit[m[2]] * float64(atoi(m[1]))
		known = true
	}
	if !known {
		return Missing(Absent, "the table does not tell", from)
	}
	return Known(total, Seconds, from)
}

// parseDockerPS reads what "docker ps -a" prints, and "docker compose ps", where
// the name comes first.
//
// https://docs.docker.com/reference/cli/docker/container/ls/
func (b *builder) parseDockerPS(f *file) bool {
	head, _, _ := bytes.Cut(bytes.TrimSpace(f.data), []byte{'\n'})
	compose := bytes.HasPrefix(head, []byte("NAME ")) && bytes.Contains(head, []byte(" SERVICE "))
	if !compose && !bytes.HasPrefix(head, []byte("CONTAINER ID")) || !bytes.Contains(f.data, []byte(" STATUS ")) {
		return false
	}
	n := 0
	for line := range bytes.Lines(f.data) {
		n++
		m := dockerPS().FindStringSubmatch(string(bytes.TrimSpace(line[:min(len(line), mostLine)])))
		if n == 1 || m == nil {
			continue
		}
		from := Source{File: f.name, Line: n, Field: "STATUS"}
		none := Missing(Absent, "the table does not tell", Source{File: f.name, Line: n})
		name := m[3]
		if compose {
			name = strings.Fields(string(line))[0]
		}
		c := Container{
			Name: shorten(name), Platform: FromDocker, From: Source{File: f.name, Line: n}, OOMKilled: Unsure, State: strings.ToLower(m[1]),
			Restarts: none, ExitCode: none, LastExitCode: none, LastSignal: none, MemoryLimit: none, CPULimit: none,
		}
		if m[1] == "Up" {
			c.State = "running"
		}
		if h := dockerHealth().FindStringSubmatch(m[0]); h != nil {
			c.Health = h[1]
		}
		if m[2] != "" {
			c.ExitCode = parsedNumber(m[2], NoUnit, from)
		}
		b.c.Containers = append(b.c.Containers, c)
	}
	b.input(f, "docker ps", "")
	return true
}
