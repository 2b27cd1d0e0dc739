package evidence

import (
	"bytes"
	"slices"
	"strings"
)

// parsePSJSON reads the states of containers that "docker ps", "docker compose ps"
// and "podman ps" print with --format json: a list, or an object a line.
//
// https://docs.docker.com/reference/cli/docker/container/ls/#format
// https://docs.docker.com/reference/cli/docker/compose/ps/#format
// https://docs.podman.io/en/latest/markdown/podman-ps.1.html
func (b *builder) parsePSJSON(f *file) bool {
	head := f.data[:min(len(f.data), 64<<10)]
	if len(f.data) > mostJSON || !bytes.Contains(head, []byte(`"Status"`)) || !bytes.Contains(head, []byte(`"State"`)) || !bytes.Contains(head, []byte(`"Name`)) {
		return false
	}
	var list []Container
	strange := false
	found, _ := eachObject(f, f.data, func(from Source, place string, o object) {
		name, state, status := firstText(o, "Names", "Name"), textOf(o["State"]), textOf(o["Status"])
		if names := listAt(o, "Names"); len(names) > 0 { // podman
			name = textOf(names[0])
		}
		if name == "" || state == "" {
			strange = true
			return
		}
		from.Field = place + "Status"
		c := dockerContainer(name, strings.ToLower(state), status, from)
		if at(o, "ExitCode") != nil && !c.ExitCode.Known && c.State == "exited" {
			from.Field = place + "ExitCode"
			c.ExitCode = parsedNumber(textOf(o["ExitCode"]), NoUnit, from)
		}
		if health := textOf(o["Health"]); health != "" {
			c.Health = shorten(health)
		}
		if at(o, "Restarts") != nil {
			from.Field = place + "Restarts"
			c.Restarts = parsedNumber(textOf(o["Restarts"]), Events, from)
		}
		list = append(list, c)
	})
	if !found || strange {
		return false
	}
	b.c.Containers = append(b.c.Containers, list...)
	b.input(f, "docker ps", "")
	return true
}

// dockerStatus is how docker tells a state: "Exited (137) 8 seconds ago".
var dockerStatus = expression(`^(?:Exited|Restarting) \((\d+)\)`)

// dockerContainer is a container of which docker tells a state and a status.
func dockerContainer(name, state, status string, from Source) Container {
	none := Missing(Absent, "the list does not tell", Source{File: from.File, Line: from.Line})
	c := Container{
		Name: shorten(name), Platform: FromDocker, From: Source{File: from.File, Line: from.Line}, OOMKilled: Unsure, State: shorten(state),
		Restarts: none, ExitCode: none, LastExitCode: none, LastSignal: none, MemoryLimit: none, CPULimit: none,
	}
	if m := dockerStatus().FindStringSubmatch(status); m != nil {
		c.ExitCode = parsedNumber(m[1], NoUnit, from)
	}
	if h := dockerHealth().FindStringSubmatch(status); h != nil {
		c.Health = h[1]
	}
	return c
}

// parseCrictlPS reads what "crictl ps -a" prints: a row for each start of a container
// in its pod, counted from 0, of which the last one counts. Where that has ended as
// well, the kubelet waits to start it again.
//
// https://github.com/kubernetes-sigs/cri-tools/blob/master/docs/crictl.md
func (b *builder) parseCrictlPS(f *file) bool {
	first, _, _ := bytes.Cut(bytes.TrimSpace(f.data), []byte{'\n'})
	columns := statsColumns().Split(strings.TrimSpace(string(first[:min(len(first), mostLine)])), -1)
	if len(columns) < 7 || strings.Join(columns[:6], " ") != "CONTAINER IMAGE CREATED STATE NAME ATTEMPT" {
		return false
	}
	var list []Container
	n := 0
	for line := range bytes.Lines(f.data) {
		n++
		cells := statsColumns().Split(strings.TrimSpace(string(line[:min(len(line), mostLine)])), -1)
		if len(cells) < 7 || cells[0] == columns[0] {
			continue
		}
		const state, name, attempt, pod = 3, 4, 5, 7
		from := Source{File: f.name, Line: n}
		none := Missing(Absent, "the table does not tell", from)
		c := Container{
			Name: shorten(cells[name]), Platform: FromKubernetes, From: from, OOMKilled: Unsure,
			ExitCode: none, LastExitCode: none, LastSignal: none, MemoryLimit: none, CPULimit: none,
		}
		from.Field = "ATTEMPT"
		c.Restarts = parsedNumber(cells[attempt], Events, from)
		if len(cells) > pod {
			c.Name = shorten(cells[pod]) + "/" + c.Name
		}
		switch c.State = strings.ToLower(cells[state]); {
		case c.State == "exited" && c.Restarts.Above(0):
			c.State = "restarting"
		case c.State == "exited":
			c.State = "terminated"
		}
		i := slices.IndexFunc(list, func(d Container) bool { return d.Name == c.Name })
		switch {
		case i < 0 && len(list) < mostListed:
			list = append(list, c)
		case i >= 0 && c.Restarts.Above(list[i].Restarts.Number):
			list[i] = c
		}
	}
	b.c.Containers = append(b.c.Containers, list...)
	b.input(f, "crictl ps", "")
	return true
}

// crictlInspectJSON reads "crictl inspect" of a container.
//
// https://github.com/kubernetes/cri-api/blob/master/pkg/apis/runtime/v1/api.proto (ContainerStatus)
func crictlInspectJSON(b *builder, f *file, v any) (string, bool) {
	status := objectAt(v, "status")
	state, ok := strings.CutPrefix(textOf(status["state"]), "CONTAINER_")
	if !ok {
		return "", false
	}
	spec := objectAt(v, "info", "runtimeSpec", "linux", "resources")
	c := Container{
		Name: shorten(textOf(at(status, "metadata", "name"))), Platform: FromKubernetes, From: Source{File: f.name, Field: "status"}, OOMKilled: Unsure,
		State: strings.ToLower(state), Reason: shorten(textOf(status["reason"])), Message: redactText(shorten(textOf(status["message"]))),
		Restarts: jsonNumber(f, status, Events, "status", "metadata", "attempt"),
		Started:  kubeTime(textOf(status["startedAt"])), Finished: kubeTime(textOf(status["finishedAt"])),
		MemoryLimit: jsonNumber(f, spec, Bytes, "info.runtimeSpec.linux.resources", "memory", "limit"),
		CPULimit: jsonNumber(f, spec, Micros, "info.runtimeSpec.linux.resources", "cpu", "quota").
			Over(jsonNumber(f, spec, Micros, "info.runtimeSpec.linux.resources", "cpu", "period")),
	}
	if pod := textOf(objectAt(status, "labels")["io.kubernetes.pod.name"]); pod != "" {
		c.Name = shorten(pod) + "/" + c.Name
	}
	if c.State == "exited" {
		c.State, c.ExitCode = "terminated", jsonNumber(f, status, NoUnit, "status", "exitCode")
	}
	if c.Reason == "OOMKilled" {
		c.OOMKilled = Yes
	}
	b.c.Containers = append(b.c.Containers, c)
	return "crictl inspect", true
}
