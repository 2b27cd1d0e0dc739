package evidence

import (
	"strings"
	"time"
)

var (
	hexAndSite   = expression(`^[0-9a-f]{8,64}_(\S+)$`)
	startOrFails = expression(`(?i)^Starting container|State: Starting|docker run |did(?: not|n't) (?:start|respond)|has exited|startup probe failed|terminated during site startup|exit code`)
)

// sameStart is within how long lines about a container are of one start.
const sameStart = time.Minute

// containerApps tells which app a container's id belongs to, in a table that
// names no site. Each start makes another container, so an id that starts or
// fails twice is no container's but an app's; otherwise what changes from one
// start to the next (numbers, letters with digits) is taken off.
func (s *sheet) containerApps(column int) map[string]string {
	when, message := s.timeColumn(), s.column("Message")
	last, names := map[string]time.Time{}, map[string]string{}
	steady := false
	for _, row := range s.newestLast(when) {
		id := siteOf(row.cell(column))
		names[id] = ""
		at, ok := s.time(&row, when)
		if !ok || !startOrFails().MatchString(row.cell(message)) {
			continue
		}
		steady = steady || !last[id].IsZero() && at.Sub(last[id]) > sameStart && !wholeID().MatchString(id)
		last[id] = at
	}
	for id := range names {
		switch m := hexAndSite().FindStringSubmatch(id); {
		case wholeID().MatchString(id):
		case m != nil:
			names[id] = m[1]
		case steady:
			names[id] = id
		default:
			names[id] = withoutRun(id)
		}
	}
	return names
}

// withoutRun takes the parts with digits off the end of a name.
func withoutRun(id string) string {
	for {
		i := strings.LastIndexAny(id, "-_.")
		if i <= 0 || !strings.ContainsAny(id[i:], "0123456789") {
			return id
		}
		id = id[:i]
	}
}
