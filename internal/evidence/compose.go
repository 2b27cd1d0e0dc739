package evidence

import (
	"strings"
	"time"
)

var (
	composeExit  = expression(`^([A-Za-z][\w.-]{0,80}) exited with code (-?\d+)(?: \(restarting\))?$`)
	composeStops = expression(`^(?:[Gg]racefully [Ss]topping|Aborting on container exit)`)
)

// composeReason marks the ends that docker compose tells of.
const composeReason = "docker compose"

// composeEnds is how many ends of a container without a reason to end make it one
// that is started again and again: fewer may be jobs that failed.
const composeEnds = 3

// composeState is what the output of docker compose has said so far.
type composeState struct {
	speaker  string // whose line was the last
	stopping bool   // all are told to end
	lives    map[string]*composeLife
}

// composeLife is the present life of a container by its own lines.
type composeLife struct{ first, last time.Time }

func (s *composeState) speaks(l *logLine) {
	if l.app == "" {
		return
	}
	s.speaker = l.app
	if l.at.IsZero() {
		return
	}
	if s.lives == nil {
		s.lives = map[string]*composeLife{}
	}
	life := s.lives[l.app]
	if life == nil {
		life = &composeLife{first: l.at}
		s.lives[l.app] = life
	}
	life.last = l.at
}

// composeLine reads what docker compose itself prints between the lines of its
// containers, which carries no time: that of the container's last line stands in.
// An end with code 0 or by SIGTERM (143), and one after it was told to end all, is
// none of a failure. Its first version puts the project before the name here and not
// before lines.
//
// https://docs.docker.com/reference/cli/docker/compose/up/
func composeLine(l *logLine, s *logState) (Event, bool) {
	text := strings.TrimSpace(l.rest)
	if composeStops().MatchString(text) {
		s.compose.stopping = true
		return Event{}, true
	}
	m := composeExit().FindStringSubmatch(text)
	if m == nil || l.app != "" && l.program == "" {
		return Event{}, false
	}
	e := l.event(ContainerExited, FromDocker)
	e.App, e.Code, e.Reason = m[1], l.number(m[2], "exit code", NoUnit), composeReason
	if strings.HasSuffix(e.App, "_"+s.compose.speaker) && s.compose.speaker != "" {
		e.App = s.compose.speaker
	}
	if s.compose.stopping || m[2] == "0" || m[2] == "143" {
		e.Kind = ContainerStopped
	}
	if life := s.compose.lives[e.App]; life != nil {
		if e.At.IsZero() {
			e.At = life.last
		}
		e.Elapsed = Known(life.last.Sub(life.first).Seconds(), Seconds, l.from())
		delete(s.compose.lives, e.App)
	}
	return e, true
}

// endOnce makes of the ends of a container that are too few for a loop the state
// in which it was left.
func (s *logState) endOnce(began int, file string) {
	ends := map[string]int{}
	mine := func(e *Event) bool {
		return e.Kind == ContainerExited && e.Reason == composeReason && e.From.File == file
	}
	events := s.b.c.Events[began:]
	for i := range events {
		if e := &events[i]; mine(e) {
			ends[e.App]++
		}
	}
	for i := range events {
		e := &events[i]
		if !mine(e) || ends[e.App] >= composeEnds {
			continue
		}
		e.Kind = ContainerStopped
		s.b.c.Containers = append(s.b.c.Containers, Container{Name: e.App, Platform: FromDocker, From: e.From, State: "exited", OOMKilled: Unsure,
			ExitCode: e.Code, Finished: e.At})
	}
}
