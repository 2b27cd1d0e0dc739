package evidence

import (
	"fmt"
	"slices"
	"strings"
)

// dockerInspectJSON reads "docker inspect" of containers, a list or one of it.
// OOMKilled false is no proof: it is about the init process, and of the present
// start.
//
// https://docs.docker.com/reference/cli/docker/inspect/
func dockerInspectJSON(b *builder, f *file, v any) (string, bool) {
	found := false
	for i, c := range listOrOne(v) {
		state := objectAt(c, "State")
		if state == nil || at(c, "kind") != nil || state["OOMKilled"] == nil && state["Running"] == nil && state["ExitCode"] == nil {
			continue
		}
		found = true
		place := ""
		if i > 0 {
			place = fmt.Sprintf("[%d]", i)
		}
		one := Container{
			Name: strings.TrimPrefix(shorten(textOf(at(c, "Name"))), "/"), Platform: FromDocker,
			From: Source{File: f.name, Field: place}, State: textOf(state["Status"]), Health: textOf(at(state, "Health", "Status")),
			Message:   redactText(shorten(textOf(state["Error"]))),
			OOMKilled: jsonTri(state, "OOMKilled"), ExitCode: jsonNumber(f, c, NoUnit, place, "State", "ExitCode"),
			Restarts: jsonNumber(f, c, Events, place, "RestartCount"),
			Started:  kubeTime(textOf(state["StartedAt"])), Finished: kubeTime(textOf(state["FinishedAt"])),
			LastExitCode: Missing(Absent, "docker does not keep it"), LastSignal: Missing(Absent, "docker does not keep it"),
		}
		one.MemoryLimit = positive(jsonNumber(f, c, Bytes, place, "HostConfig", "Memory"))
		one.CPULimit = positive(jsonNumber(f, c, NoUnit, place, "HostConfig", "NanoCpus")).Times(1e-9, NoUnit)
		b.c.Containers = append(b.c.Containers, one)
		if args := strings.Join(append([]string{textOf(at(c, "Path"))}, texts(listAt(c, "Args"))...), " "); strings.TrimSpace(args) != "" {
			b.startCommand(args, Source{File: f.name, Field: place + "Args"})
		}
	}
	return "docker inspect", found
}

func listOrOne(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

func texts(list []any) []string {
	var out []string
	for _, v := range list {
		out = append(out, textOf(v))
	}
	return out
}

// positive takes 0 for "no limit", as docker writes it.
func positive(v Value) Value {
	if v.Known && v.Number <= 0 {
		return Missing(Absent, "there is no limit", v.From...)
	}
	return v
}

// podJSON reads "kubectl get pod -o json", of one pod or a list, and the
// container statuses alone.
//
// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/
func podJSON(b *builder, f *file, v any) (string, bool) {
	items := []any{v}
	if list := listAt(v, "items"); list != nil {
		items = list
	}
	found := false
	for i, p := range items {
		place := ""
		if len(items) > 1 {
			place = fmt.Sprintf("items[%d].", i)
		}
		if kind := textOf(at(p, "kind")); kind != "" && kind != "Pod" {
			continue
		}
		found = b.onePod(f, p, place) || found
	}
	return "Kubernetes pods", found
}

// onePod takes in a pod, or a status of a container without its pod.
func (b *builder) onePod(f *file, pod any, place string) bool {
	b.podState(f, pod, place+"status")
	found := textOf(at(pod, "kind")) == "Pod" && objectAt(pod, "status") != nil
	take := func(list []any, at string) {
		for j, s := range list {
			found = true
			b.c.Containers = append(b.c.Containers, kubeContainer(f, pod, s, fmt.Sprintf("%s%s[%d]", place, at, j)))
		}
	}
	statuses := listAt(pod, "status", "containerStatuses")
	switch {
	case statuses != nil:
		take(statuses, "status.containerStatuses")
	case listAt(pod, "containerStatuses") != nil:
		take(listAt(pod, "containerStatuses"), "containerStatuses")
	case objectAt(pod, "lastState") != nil, at(pod, "restartCount") != nil && objectAt(pod, "state") != nil:
		found = true
		b.c.Containers = append(b.c.Containers, kubeContainer(f, pod, pod, strings.TrimSuffix(place, ".")))
	}
	// One that is done tells nothing of the present.
	take(slices.DeleteFunc(slices.Clone(listAt(pod, "status", "initContainerStatuses")), func(s any) bool {
		return objectAt(s, "state", "terminated") != nil && !jsonNumber(f, s, Events, "", "restartCount").Above(0)
	}), "status.initContainerStatuses")
	b.podSpec(f, pod, place)
	return found
}

// podState makes events of what a pod as a whole says: it was evicted, or no
// node takes it.
//
// https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/
func (b *builder) podState(f *file, pod any, place string) {
	status := objectAt(pod, "status")
	e := Event{Origin: FromKubernetes, App: shorten(textOf(at(pod, "metadata", "name"))), From: Source{File: f.name, Field: place}}
	if textOf(status["reason"]) == "Evicted" {
		e.Kind, e.Reason = Evicted, shorten(textOf(status["message"]))
		e.Text = e.Reason
		b.event(e)
		b.c.Containers = append(b.c.Containers, Container{Name: e.App, From: e.From, Platform: FromKubernetes, State: "terminated", Reason: "Evicted", Message: e.Reason})
	}
	for _, c := range listAt(status, "conditions") {
		if textOf(at(c, "type")) == "PodScheduled" && textOf(at(c, "reason")) == "Unschedulable" {
			e.Kind, e.Reason = ScheduleFailed, shorten(textOf(at(c, "message")))
			e.Text, e.At = e.Reason, kubeTime(textOf(at(c, "lastTransitionTime")))
			b.event(e)
			b.c.Containers = append(b.c.Containers, Container{Name: e.App, From: e.From, Platform: FromKubernetes, State: "waiting", Reason: "Unschedulable", Message: e.Reason})
		}
	}
}

func kubeContainer(f *file, pod, s any, place string) Container {
	c := Container{
		Name: shorten(textOf(at(s, "name"))), Platform: FromKubernetes, From: Source{File: f.name, Field: place},
		Ready: jsonTri(s, "ready"), Restarts: jsonNumber(f, s, Events, place, "restartCount"),
		QOS: textOf(at(pod, "status", "qosClass")), OOMKilled: Unsure,
	}
	if pod := textOf(at(pod, "metadata", "name")); pod != "" {
		c.Name = shorten(pod) + "/" + c.Name
	}
	for _, state := range []string{"running", "waiting", "terminated"} {
		if o := objectAt(s, "state", state); o != nil {
			c.State, c.Reason = state, shorten(textOf(o["reason"]))
			if state == "waiting" {
				c.Message = redactText(shorten(textOf(o["message"])))
			}
			c.Started, c.Finished = kubeTime(textOf(o["startedAt"])), kubeTime(textOf(o["finishedAt"]))
		}
	}
	c.ExitCode = jsonNumber(f, s, NoUnit, place, "state", "terminated", "exitCode")
	c.LastExitCode = jsonNumber(f, s, NoUnit, place, "lastState", "terminated", "exitCode")
	c.LastSignal = jsonNumber(f, s, NoUnit, place, "lastState", "terminated", "signal")
	c.LastReason = shorten(textOf(at(s, "lastState", "terminated", "reason")))
	if c.Finished.IsZero() {
		c.Finished = kubeTime(textOf(at(s, "lastState", "terminated", "finishedAt")))
	}
	if c.LastReason == "OOMKilled" || c.Reason == "OOMKilled" {
		c.OOMKilled = Yes
	}
	for _, spec := range listAt(pod, "spec", "containers") {
		if textOf(at(spec, "name")) == textOf(at(s, "name")) {
			limits := Source{File: f.name, Field: "spec.containers.resources.limits"}
			c.MemoryLimit = sizeOrMissing(textOf(at(spec, "resources", "limits", "memory")), limits)
			c.CPULimit = cpusOrMissing(textOf(at(spec, "resources", "limits", "cpu")), limits)
			c.Probes = kubeProbes(f, spec)
			for _, p := range listAt(spec, "ports") {
				c.Ports = append(c.Ports, atoi(textOf(at(p, "containerPort"))))
			}
		}
	}
	return c
}

func sizeOrMissing(text string, from Source) Value {
	if text == "" {
		return Missing(Absent, "there is no limit", from)
	}
	return parsedSize(text, from)
}

func cpusOrMissing(text string, from Source) Value {
	if text == "" {
		return Missing(Absent, "there is no limit", from)
	}
	return parsedCPUs(text, from)
}

// podSpec takes probes and commands that stand in a pod's specification.
func (b *builder) podSpec(f *file, pod any, place string) {
	for _, spec := range listAt(pod, "spec", "containers") {
		b.c.Config.Probes = append(b.c.Config.Probes, kubeProbes(f, spec)...)
		words := append(texts(listAt(spec, "command")), texts(listAt(spec, "args"))...)
		if len(words) > 0 {
			b.startCommand(strings.Join(words, " "), Source{File: f.name, Field: place + "spec.containers.command"})
		}
	}
}

func kubeProbes(f *file, spec any) []Probe {
	var probes []Probe
	for _, kind := range []string{"liveness", "readiness", "startup"} {
		o := objectAt(spec, kind+"Probe")
		if o == nil {
			continue
		}
		field := "spec.containers." + kind + "Probe"
		number := func(key string, usual float64) Value {
			if v := jsonNumber(f, o, Seconds, field, key); v.Known {
				return v
			}
			return Known(usual, Seconds, Source{File: "Kubernetes' default", Field: key})
		}
		probes = append(probes, Probe{
			Kind: kind, Path: shorten(textOf(at(o, "httpGet", "path"))), Port: atoi(textOf(at(o, "httpGet", "port"))),
			Delay: number("initialDelaySeconds", 0), Timeout: number("timeoutSeconds", 1), Period: number("periodSeconds", 10),
			Failure: number("failureThreshold", 3), From: Source{File: f.name, Field: field},
		})
	}
	return probes
}

// kubeEventsJSON reads "kubectl get events -o json".
func kubeEventsJSON(b *builder, f *file, v any) (string, bool) {
	items := listOrOne(v)
	if list := listAt(v, "items"); list != nil {
		items = list
	}
	log := b.newLog(f.name)
	log.log.As, log.log.Origin = "Kubernetes events", FromKubernetes
	for i, item := range items {
		if at(item, "reason") == nil || at(item, "message") == nil || at(item, "involvedObject") == nil && textOf(at(item, "kind")) != "Event" {
			continue
		}
		message := textOf(at(item, "message"))
		l := &logLine{n: i + 1, file: f.name, text: message, rest: message, bootSeconds: -1, app: shorten(textOf(at(item, "involvedObject", "name")))}
		for _, key := range []string{"lastTimestamp", "eventTime", "firstTimestamp"} {
			if l.at = kubeTime(textOf(at(item, key))); !l.at.IsZero() {
				break
			}
		}
		log.log.Lines++
		log.covers(l)
		e := kubeEventOf(l, textOf(at(item, "type")), textOf(at(item, "reason")), message)
		if n := jsonNumber(f, item, Events, fmt.Sprintf("items[%d]", i), "count"); n.Known {
			e.Times = n
		}
		if e.Kind != "" {
			log.take(e, l)
		}
	}
	if log.log.Lines == 0 {
		return "", false
	}
	b.c.Logs = append(b.c.Logs, log.log)
	return "Kubernetes events", true
}

// replicaJSON reads "az containerapp replica show", or its state alone.
//
// https://learn.microsoft.com/rest/api/containerapps/container-apps-revision-replicas
func replicaJSON(b *builder, f *file, v any) (string, bool) {
	found := false
	for i, r := range listOrOne(v) {
		place := ""
		if i > 0 {
			place = fmt.Sprintf("[%d]", i)
		}
		containers := listAt(r, "properties", "containers")
		if containers == nil {
			containers = listAt(r, "containers")
		}
		if containers == nil && (at(r, "runningState") != nil || at(r, "restartCount") != nil) {
			containers = []any{r}
		}
		for _, c := range containers {
			if at(c, "restartCount") == nil && at(c, "runningState") == nil {
				continue
			}
			found = true
			b.c.Containers = append(b.c.Containers, Container{
				Name: shorten(textOf(at(c, "name"))), Platform: FromPlatform, From: Source{File: f.name, Field: place},
				State: textOf(at(c, "runningState")), Reason: shorten(textOf(at(c, "runningStateDetails"))), Ready: jsonTri(c, "ready"),
				Restarts: jsonNumber(f, c, Events, place, "restartCount"), Started: kubeTime(firstText(asObject(c), "startedAt", "createdTime")),
				ExitCode: Missing(Absent, "a replica does not tell"), LastExitCode: Missing(Absent, "a replica does not tell"),
				LastSignal: Missing(Absent, "a replica does not tell"),
			})
		}
	}
	return "Container Apps replica", found
}

func asObject(v any) object {
	o, _ := v.(object)
	return o
}
