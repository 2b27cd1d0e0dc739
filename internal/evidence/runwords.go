package evidence

import (
	"strings"
	"time"
)

// startTook is how long a start took, by what a run's event says of an app that
// became healthy.
func startTook(detail string, from Source) Value {
	took, ok := strings.CutPrefix(detail, "after ")
	d, err := time.ParseDuration(took)
	if !ok || err != nil {
		return Missing(NotSeen, "the run does not tell how long the start took", from)
	}
	return Known(d.Seconds(), Seconds, from)
}

// oomOfMachine tells by what a run's event says of an OOM kill whose memory was
// out.
func oomOfMachine(detail string) Tri {
	switch {
	case strings.HasPrefix(detail, "the machine was out of memory"):
		return Yes
	case strings.HasPrefix(detail, "its cgroup was out of memory"):
		return No
	}
	return Unsure
}
