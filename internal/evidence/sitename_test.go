package evidence

import "testing"

const twoSites = `2026-02-21T12:20:18.488Z Starting container: c741855b391f_main.
2026-02-21T12:24:10.069Z Site startup probe failed after 230.12 seconds.
2026-02-21T12:24:11.058Z Deleting container: c741855b391f_main. Retry count = 0
2026-02-21T12:24:21.512Z Site: blue stopped.
2026-02-21T12:25:18.488Z Starting container: c79aa55b3a1c_main.
2026-02-21T12:29:10.069Z Site startup probe failed after 230.15 seconds.
2026-02-21T12:29:21.512Z Site: green stopped.
`

// With side cars a container is called "main" on every site; the line that the
// site has stopped names it, and stands below what went before.
func TestTheSiteIsNamedByTheLineThatItStopped(t *testing.T) {
	wantEvents(t, readFile(t, "docker.log", twoSites),
		"2026-02-21T12:20:18 container started app=blue",
		"2026-02-21T12:24:10 start timeout app=blue elapsed=230.12",
		"2026-02-21T12:24:21 container stopped app=blue",
		"2026-02-21T12:25:18 container started app=green",
		"2026-02-21T12:29:10 start timeout app=green elapsed=230.15",
		"2026-02-21T12:29:21 container stopped app=green")
}

// Without such a line the container's own name stands in, without the number
// that changes from start to start.
func TestTheContainerNamesTheSiteOtherwise(t *testing.T) {
	wantEvents(t, readFile(t, "docker.log", `2026-02-21T12:20:18.488Z Container spec TerminationMessagePolicy  path
2026-02-21T12:20:18.588Z Starting container: c741855b391f_blue.
2026-02-21T12:24:10.069Z Site startup probe failed after 230.12 seconds.
2026-02-21T12:24:11.057Z Stopping container: c741855b391f_blue.
`),
		"2026-02-21T12:20:18 container started app=blue",
		"2026-02-21T12:24:10 start timeout app=blue elapsed=230.12")
}

func FuzzSiteNames(f *testing.F) { fuzzFile(f, "docker.log", twoSites) }
