package evidence

import (
	"bytes"
	"strings"
	"time"
)

var (
	probeLine = expression(`(?i)^\s*(liveness|readiness|startup):\s+(http-get|tcp-socket|exec|grpc)\s+(.*)$`)
	probeWord = expression(`([a-z#]+)=(\S+)`)
)

// parseProbeText reads the line that "kubectl describe pod" has for a probe:
// "Liveness: http-get /health delay=0s timeout=1s period=10s #failure=3".
func (b *builder) parseProbeText(f *file) bool {
	if len(f.data) > 1<<20 {
		return false
	}
	found := b.probeLines(f)
	if found {
		b.input(f, "probe settings", "")
	}
	return found
}

// probeLines takes in the lines of a text that are about a probe.
func (b *builder) probeLines(f *file) bool {
	found := false
	n := 0
	for line := range bytes.Lines(f.data) {
		n++
		m := probeLine().FindStringSubmatch(strings.TrimSpace(string(line[:min(len(line), 4096)])))
		if m == nil {
			continue
		}
		p := Probe{Kind: strings.ToLower(m[1]), From: Source{File: f.name, Line: n}}
		target, _, _ := strings.Cut(m[3], " ")
		p.Path = shorten(pathOf(target))
		_, p.Port = hostPort(target)
		for _, w := range probeWord().FindAllStringSubmatch(m[3], -1) {
			at := Source{File: f.name, Line: n, Field: w[1]}
			switch w[1] {
			case "delay":
				p.Delay = duration(w[2], at)
			case "timeout":
				p.Timeout = duration(w[2], at)
			case "period":
				p.Period = duration(w[2], at)
			case "#failure":
				p.Failure = parsedNumber(w[2], Events, at)
			}
		}
		b.c.Config.Probes = append(b.c.Config.Probes, p)
		found = true
	}
	return found
}

// duration makes a value of a Go duration, as Kubernetes prints it.
func duration(text string, from Source) Value {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return Missing(Unreadable, "it is no duration", from)
	}
	return Known(d.Seconds(), Seconds, from)
}
