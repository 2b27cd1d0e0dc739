package doctor

import (
	"slices"
	"strings"

	"brink/internal/evidence"
)

// Reasons of the kubelet for a container that waits or could not be run.
//
// https://github.com/kubernetes/kubernetes/blob/master/pkg/kubelet/images/types.go
// https://github.com/kubernetes/kubernetes/blob/master/pkg/kubelet/kuberuntime/kuberuntime_container.go
var (
	imageReasons  = []string{"ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable", "ImageInspectError"}
	createReasons = []string{"CreateContainerConfigError", "CreateContainerError", "RunContainerError", "StartError", "ContainerCannotRun", "PreStartHookError"}
)

// dockerRefused are exit codes of docker itself: it could not run the container
// (125), the command cannot be invoked (126) or does not exist (127), or the
// container could not be set up (128).
//
// https://docs.docker.com/engine/containers/run/#exit-status
func dockerRefused(c *evidence.Container) bool {
	return c.Platform == evidence.FromDocker && c.Message != "" && (c.State == "created" || c.ExitCode.AtLeast(125) && c.ExitCode.AtMost(128))
}

// neverRan judges containers that the platform could not even start, by what it
// says of them.
func neverRan(l *look, a *answer) {
	for i := range l.Containers {
		c := &l.Containers[i]
		switch {
		case slices.Contains(imageReasons, c.Reason):
			if len(l.EventsOf(evidence.PullFailed)) == 0 { // else the events tell
				a.found(imageMissing(c))
			}
		case slices.Contains(createReasons, c.Reason), slices.Contains(createReasons, c.LastReason), dockerRefused(c):
			a.found(notCreated(l, *c))
		}
	}
	missing := slices.DeleteFunc(l.EventsOf(evidence.ScheduleFailed), func(e *evidence.Event) bool { return l.ran(e.App) })
	if len(missing) > 0 {
		l.noNode(a, missing)
	}
}

// ran reports whether something of a pod was started, by its events or its
// containers.
func (l *look) ran(pod string) bool {
	return slices.ContainsFunc(l.EventsOf(evidence.ContainerStarted, evidence.ContainerCreated), func(e *evidence.Event) bool { return e.App == pod }) ||
		slices.ContainsFunc(l.Containers, func(c evidence.Container) bool {
			return strings.HasPrefix(c.Name, pod+"/") && (c.State == "running" || c.Restarts.Above(0))
		})
}

func imageMissing(c *evidence.Container) *Finding {
	f := noImageFinding(c.Name)
	f.What = "The image of container " + c.Name + " cannot be pulled (" + c.Reason + ")" + said(*c) + "."
	f.see("restarts", c.Restarts)
	f.level(Observed, "the platform's own account of the container says so")
	return f
}

func notCreated(l *look, c evidence.Container) *Finding {
	f := &Finding{Subject: c.Name, ownCause: true}
	reason := c.Reason
	if !slices.Contains(createReasons, reason) {
		reason = c.LastReason
	}
	f.What = strings.TrimSpace("The container "+c.Name) + " cannot be started"
	if reason != "" {
		f.What += " (" + reason + ")"
	}
	if c.Message == "" {
		c.Message = l.complaint(c.Name)
	}
	f.What += said(c) + "."
	f.see("restarts", c.Restarts)
	f.see("exit code", c.ExitCode)
	f.level(Observed, "the platform's own account of the container says so")
	f.Cause = "What the container is to be made of is wrong or missing: a secret, a volume, a port that is in use, or a command that is not in the image. Its program never ran."
	f.not("a crash of the program", "it was never started")
	f.not("too little memory", "nothing ran that could have used it")
	f.Now = []string{"Provide what the message names, or correct the name."}
	f.Properly = []string{"Deploy the configuration before what needs it, and start the same image with the same command elsewhere first."}
	f.Settle = []string{"One start after what the message names was put right."}
	return f
}

// complaint is what an event says of a pod's container that could not be started.
func (l *look) complaint(name string) string {
	for _, e := range l.EventsOf(evidence.PlatformNote) {
		if _, text, ok := strings.Cut(e.Text, "Error: "); ok && e.App != "" && strings.HasPrefix(name, e.App) {
			return text
		}
	}
	return ""
}

// said adds the platform's own words.
func said(c evidence.Container) string {
	if c.Message == "" {
		return ""
	}
	return ": " + strings.TrimRight(c.Message, ".")
}

// noNode tells about pods that no node takes.
func (l *look) noNode(a *answer, events []*evidence.Event) {
	last := events[len(events)-1]
	f := &Finding{Subject: last.App}
	f.What = "No node takes the pod (" + strings.TrimRight(last.Reason, ".") + "), as the scheduler says " + f.count("refusals", countOf(events), "time") + "."
	f.between(stretch(events))
	f.level(Observed, "the scheduler's own words")
	f.Cause = "What the pod requests or demands is free on no node. Requests count, not use: a node may be idle and full."
	f.not("a fault of the app", "it was never started")
	f.Now = []string{"Compare its requests with what the nodes have left (kubectl describe node, Allocated resources)."}
	f.Properly = []string{"Set requests by measured use, or add a node."}
	f.Settle = []string{"Allocatable and requested of each node."}
	a.found(f)
}
