package evidence

import (
	"slices"
	"strings"
)

var (
	siteOfLine      = expression(`^(?:Site: ?(\S+?) (?:stopp|start)|Stopping site (\S+?) because)`)
	containerOfLine = expression(`^(?:(?:Starting|Stopping|Deleting) container: ?(\S+?)\.?(?: Retry count.*)?$|Site container: (\S+) terminated)`)
)

// siteNaming is a line of the platform that says whose it is.
type siteNaming struct {
	// at is how many events stand before it.
	at   int
	name string
	// site says that the line names the site itself; others name one of its
	// containers, which with side cars is "main" on every site.
	site bool
}

// nameSite notes whose a message of the platform is. The lines that tell of the
// failure itself ("Site startup probe failed") name nobody.
func (s *logState) nameSite(message string) {
	at := len(s.b.c.Events)
	if m := siteOfLine().FindStringSubmatch(message); m != nil {
		s.namings = append(s.namings, siteNaming{at: at, name: m[1] + m[2], site: true})
		return
	}
	m := containerOfLine().FindStringSubmatch(message)
	if m == nil {
		return
	}
	name := m[1] + m[2]
	if h := hexAndSite().FindStringSubmatch(name); h != nil {
		name = h[1] // each start has another number
	}
	name, _, _ = strings.Cut(name, "_") // which no site's name has
	if name != "" && !wholeID().MatchString(name) {
		s.namings = append(s.namings, siteNaming{at: at, name: name})
	}
}

// nameEvents gives the platform's events that name no app the one that lines
// near them name: they stand between the start of a container and the line that
// its site has stopped. from is the first event of the log.
func (s *logState) nameEvents(from int) {
	sites := slices.DeleteFunc(slices.Clone(s.namings), func(n siteNaming) bool { return !n.site })
	for i := from; i < len(s.b.c.Events); i++ {
		e := &s.b.c.Events[i]
		switch {
		case e.Origin != FromPlatform || e.App != "":
		case len(sites) > 0:
			e.App = namedAfter(sites, i)
		default:
			e.App = namedBefore(s.namings, i)
		}
	}
}

// namedAfter is the first name at or below an event's line, or the last of all.
func namedAfter(namings []siteNaming, event int) string {
	for _, n := range namings {
		if n.at >= event {
			return n.name
		}
	}
	return namings[len(namings)-1].name
}

// namedBefore is the last name at or above an event's line, or the first of all.
func namedBefore(namings []siteNaming, event int) string {
	name := ""
	for i, n := range namings {
		if i == 0 || n.at <= event {
			name = n.name
		}
	}
	return name
}
