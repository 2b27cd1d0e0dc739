package goapp

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestInvalidAllocMBEndsWithCode2AndOneSentence(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		for _, value := range []string{"many", "-1", "4097", "1.5"} {
			t.Run(kind+" "+value, func(t *testing.T) {
				t.Parallel()
				cmd := command(t, kind, launch{env: []string{"ALLOC_MB=" + value}})
				out, _ := cmd.CombinedOutput()
				want := `ALLOC_MB must be a whole number of megabytes from 0 to 4096, not "` + value + "\"\n"
				if code := cmd.ProcessState.ExitCode(); code != 2 || string(out) != want {
					t.Errorf("got code %d and %q, want 2 and %q", code, out, want)
				}
			})
		}
	}
}

// Started elsewhere, gunicorn does not read the app's gunicorn.conf.py; a
// worker's exit code 3 ends it instead of a loop of restarts.
func TestInvalidAllocMBDoesNotLoopWithoutTheConfigFile(t *testing.T) {
	cmd := command(t, "flask", launch{
		env:   []string{"ALLOC_MB=many"},
		flags: []string{"--config=" + os.DevNull},
	})
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 3 || !strings.Contains(string(out), "ALLOC_MB must be") {
		t.Errorf("got code %d and %s", code, out)
	}
}

// The memory that was reached counts, not the megabytes that were asked for:
// the block is anonymous memory, resident in each worker before it serves.
func TestAllocMBIsResidentInEachWorker(t *testing.T) {
	t.Parallel()
	const mb = 192
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := start(t, kind, launch{env: []string{"ALLOC_MB=" + strconv.Itoa(mb)}})
			status, err := os.ReadFile("/proc/" + strconv.Itoa(s.get(t, "/ping").pid) + "/status")
			if err != nil {
				t.Fatal(err)
			}
			for _, field := range []string{"VmRSS", "RssAnon"} {
				found := regexp.MustCompile(field + `:\s+(\d+) kB`).FindSubmatch(status)
				kb, err := strconv.Atoi(string(found[1]))
				if err != nil || kb < mb<<10 || kb > 2*mb<<10 {
					t.Errorf("%s is %d kB with ALLOC_MB=%d", field, kb, mb)
				}
			}
		})
	}
}
