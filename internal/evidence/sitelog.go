package evidence

var (
	siteProbe   = expression(`(?i)^Site'?s? startup probe (failed|succeeded) after (\d+(?:\.\d+)?) seconds`)
	siteBegins  = expression(`^Starting container: ?(\S*?)\.?$`)
	siteStops   = expression(`^(?:Site: \S+ stopped|Stop(?:ping)? site|Container is terminating|Failed to start site)`)
	siteExit    = expression(`^Container has finished running with exit code: ?(-?\d+)`)
	siteEnded   = expression(`^Site container: \S+ terminated during site startup`)
	siteMention = expression(`^(?:Sites? |Site: |Site's |Container (?:is|start|has|pull|was|spec|stopped|deleted|created|image) |(?:Starting|Stopping|Stop|Deleting|Creating|Removing|Restarting) (?:and delete )?(?:container|watchers|metrics|site)\b|Start container|Pulling image|Image:? \S+ (?:is|was|has)|Establishing network)`)
)

// siteState is what the lines of one site have said of the present start.
type siteState struct {
	stopping bool // the platform ends it, so that its end is no failure
	ended    bool // its end was told
}

// siteMessage reads the platform's messages as App Service on Linux writes them
// since 2024: without a level, and without the port that is asked. ok is false
// for others.
//
// https://learn.microsoft.com/azure/app-service/configure-custom-container
func siteMessage(l *logLine, s *logState, message string) (e Event, ok bool) {
	site := s.site(l.app)
	s.nameSite(message)
	e = l.event("", FromPlatform)
	switch {
	case siteProbe().MatchString(message):
		m := siteProbe().FindStringSubmatch(message)
		e.Kind, e.Elapsed = ContainerReady, l.number(m[2], "startup probe", Seconds)
		if m[1] == "failed" {
			e.Kind = StartTimeout
		}
	case siteBegins().MatchString(message):
		*site = siteState{}
		e.Kind = ContainerStarted
	case siteStops().MatchString(message):
		site.stopping = true
		e.Kind = ContainerStopped
	case siteExit().MatchString(message):
		e.Code = l.number(siteExit().FindStringSubmatch(message)[1], "exit code", NoUnit)
		e.Kind = site.end()
	case siteEnded().MatchString(message):
		e.Kind = site.end()
	case siteMention().MatchString(message):
	default:
		return Event{}, false
	}
	return e, true
}

// end is what the end of a container means: it is told by its exit code and by
// the site, and counts once.
func (s *siteState) end() EventKind {
	switch {
	case s.stopping:
		return ContainerStopped
	case s.ended:
		return ""
	}
	s.ended = true
	return ContainerExited
}

// site returns the state of a site, by the name that a table's row gives it.
func (s *logState) site(name string) *siteState {
	if s.sites == nil {
		s.sites = map[string]*siteState{}
	}
	if s.sites[name] == nil {
		s.sites[name] = &siteState{}
	}
	return s.sites[name]
}
