package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"brink/internal/doctor"
)

// examine runs brink doctor in this process.
func examine(t *testing.T, asJSON bool, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, fault bytes.Buffer
	a := &app{stdout: &out, stderr: &fault, json: asJSON}
	cmd := a.doctorCommand()
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&fault)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(context.Background())
	if err != nil {
		fault.WriteString(err.Error())
	}
	var coded *exitError
	switch {
	case err == nil:
		return exitDone, out.String(), fault.String()
	case errors.As(err, &coded):
		return coded.code, out.String(), fault.String()
	}
	return -1, out.String(), fault.String()
}

// capture writes files into a folder of their own.
func capture(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const roomyMeminfo = "MemTotal: 8000000 kB\nMemFree: 200000 kB\nMemAvailable: 6000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n"

func TestDoctorsExitCodes(t *testing.T) {
	killed := "[1.000001] Memory cgroup out of memory: Killed process 7 (python) total-vm:900000kB, anon-rss:600000kB, file-rss:0kB\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int
		say   string
	}{
		{"healthy", map[string]string{"proc/meminfo": roomyMeminfo}, 0, "HEALTHY"},
		{"findings", map[string]string{"proc/meminfo": roomyMeminfo, "dmesg.txt": killed}, 1, "oom-kill"},
		{"too little", map[string]string{"cgroup/cpu.stat": "nr_periods 7\nnr_throttled 2\nthrottled_time 127918677\n"}, 3, "too few"},
		{"nothing understood", map[string]string{"holiday.txt": "we went to the sea\n"}, exitInput, "nothing in it was understood"},
	} {
		code, out, said := examine(t, false, capture(t, c.files))
		if code != c.want || !strings.Contains(out+said, c.say) {
			t.Errorf("%s: exit code %d, want %d; it says %q, want %q in it", c.name, code, c.want, out+said, c.say)
		}
	}
}

func TestDoctorRefusesWhatMakesNoSense(t *testing.T) {
	dir := capture(t, map[string]string{"proc/meminfo": roomyMeminfo})
	for want, args := range map[string][]string{
		"--format xml: it is text or markdown":           {"--format", "xml", dir},
		"--for 1ms: it must be 200ms to 1h":              {"--for", "1ms"},
		"look at a machine, not at files":                {"--watch", dir},
		`--from "noon": it must be a time`:               {"--from", "noon", dir},
		"need the directory of one run":                  {"--repetition", "2", dir},
		"--repetition -1: it must be 1 or more":          {"--repetition", "-1", dir},
		`no failure mode is named "gremlins"; there are`: {"--explain", "gremlins"},
		"no such file or directory":                      {filepath.Join(dir, "missing")},
		"goes with nothing else":                         {"-", dir},
		"exclude each other":                             {"--watch", "--root", dir},
		"--explain: it must not be empty":                {"--explain", ""},
		"--root: it must not be empty":                   {"--root", ""},
		"--from: it must not be empty":                   {"--from", "", dir},
		"--repetition 0: it must be 1 or more":           {"--repetition", "0", dir},
		"leave the arguments out":                        {"--explain", "oom-kill", dir},
		"looks at nothing: leave --for out":              {"--explain", "oom-kill", "--for", "5s"},
		"looks at nothing: leave --watch out":            {"--explain", "oom-kill", "--watch"},
		"--format html: it is text or markdown":          {"--explain", "oom-kill", "--format", "html"},
		"--format and --json exclude each other":         {"--format", "markdown", dir},
	} {
		code, _, said := examine(t, strings.Contains(want, "--json exclude"), args...)
		if code != exitInput || !strings.Contains(said, want) {
			t.Errorf("%q: exit code %d, %q; want 2 and %q", args, code, said, want)
		}
	}
}

func TestDoctorsDocument(t *testing.T) {
	code, out, said := examine(t, true, capture(t, map[string]string{"proc/meminfo": roomyMeminfo}))
	var r doctor.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v: %s%s", code, err, out, said)
	}
	if r.Format != doctor.Format || r.Verdict != doctor.Healthy || len(r.Unseen) == 0 {
		t.Errorf("the document is %+v", r)
	}
}

func TestDoctorOfACapturedTreeAndOfAFolderAgree(t *testing.T) {
	dir := capture(t, map[string]string{"proc/meminfo": roomyMeminfo})
	code, out, said := examine(t, false, "--root", dir)
	if code != 0 || !strings.Contains(out, "75 % of memory is available") {
		t.Errorf("--root: exit code %d: %s%s", code, out, said)
	}
	code, out, said = examine(t, false, "--format", "markdown", dir)
	if code != 0 || !strings.Contains(out, "## brink doctor: healthy") {
		t.Errorf("markdown: exit code %d: %s%s", code, out, said)
	}
}

func TestDoctorExplains(t *testing.T) {
	code, out, _ := examine(t, false, "--explain", "swap-thrash")
	if code != exitDone || !strings.HasPrefix(out, "# swap-thrash: ") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// Every line of a page fits the width, where no word is longer than it, and no word
// is lost; commands stay on their lines, to be copied.
func TestExplanationsAreWrapped(t *testing.T) {
	for _, mode := range doctor.Modes() {
		page, err := doctor.Explain(mode)
		if err != nil {
			t.Fatal(err)
		}
		for _, width := range []int{60, 80, plainWidth} {
			text := wrapped(page, width)
			if a, b := strings.Fields(text), strings.Fields(page); !slices.Equal(a, b) {
				t.Errorf("%s at %d: the words are not the page's", mode, width)
			}
			for line := range strings.Lines(text) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width && len(strings.Fields(line)) > 2 && !strings.HasPrefix(line, "    ") {
					t.Errorf("%s at %d: a line of %d: %s", mode, width, n, line)
				}
				if strings.HasPrefix(line, "    ") && !strings.Contains(page, line) {
					t.Errorf("%s at %d: %q is no line of the page", mode, width, line)
				}
			}
		}
		if _, out, _ := examine(t, false, "--explain", string(mode)); out != wrapped(page, plainWidth) {
			t.Errorf("%s is not printed wrapped", mode)
		}
	}
}

// A line of --watch tells the day and the zone: logs are compared with it.
func TestALineOfTheWatchHasDayZoneAndVerdict(t *testing.T) {
	at := time.Date(2026, 4, 1, 4, 23, 46, 0, time.FixedZone("CEST", 7200))
	if got, want := watchLine(at, "findings swap-thrash"), "2026-04-01 04:23:46 CEST findings swap-thrash\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A ticket calls nobody and links nothing that an app wrote: GitHub and GitLab turn
// @name, #1 and bare addresses in the text into mentions and links.
func TestATicketCallsNobody(t *testing.T) {
	dir := capture(t, map[string]string{"console.log": "[2026-04-01 10:00:00 +0000] [7] [INFO] Starting gunicorn 23.0.0\n[2026-04-01 10:00:01 +0000] [9] [ERROR] Exception in worker process\nTraceback (most recent call last):\n  File \"app.py\", line 1, in <module>\nRuntimeError: ask @ops-team, see #123 and https://evil.example/x or www.evil.example\n[2026-04-01 10:00:01 +0000] [7] [ERROR] Worker (pid:9) exited with code 3\n[2026-04-01 10:00:02 +0000] [7] [ERROR] Reason: Worker failed to boot.\n"})
	_, out, said := examine(t, false, "--format", "markdown", dir)
	if !strings.Contains(out, "ops-team") {
		t.Fatalf("the ticket has no line of the log: %s%s", out, said)
	}
	for _, live := range []string{"@ops", "#123", "https://", "www.evil"} {
		if strings.Contains(out, live) {
			t.Errorf("the ticket has %q as it stands:\n%s", live, out)
		}
	}
}

// The page is Markdown as it stands; for programs it comes in its parts, of which
// every mode has the same.
func TestDoctorExplainsToPrograms(t *testing.T) {
	page, err := doctor.Explain(doctor.SwapThrash)
	if code, out, _ := examine(t, false, "--explain", "swap-thrash", "--format", "markdown"); code != exitDone || err != nil || out != page {
		t.Errorf("as markdown: exit code %d, %v: %s", code, err, out)
	}
	for _, mode := range doctor.Modes() {
		code, out, said := examine(t, true, "--explain", string(mode))
		var e doctor.Explanation
		if err := json.Unmarshal([]byte(out), &e); err != nil || code != exitDone {
			t.Fatalf("exit code %d, %v: %s%s", code, err, out, said)
		}
		var headings []string
		for _, s := range e.Sections {
			headings = append(headings, s.Heading)
			if s.Text == "" || strings.HasPrefix(s.Text, "#") {
				t.Errorf("%s: %q has the text %q", mode, s.Heading, s.Text)
			}
		}
		if e.Format != "brink-doctor-explain/1" || e.Mode != mode || e.Title == "" || strings.Contains(e.Title, "#") ||
			strings.Join(headings, "|") != "What it is|How it comes about|What misleads|See it happen|Sources" {
			t.Errorf("%s: %q, %q, %v", mode, e.Format, e.Title, headings)
		}
	}
}

// What an app called itself must not reach the terminal as it is.
func TestDoctorKeepsTheTerminalSafe(t *testing.T) {
	killed := "[1.000001] Out of memory: Killed process 7 (py\x1b[31mthon) total-vm:900000kB, anon-rss:600000kB, file-rss:0kB\n"
	_, out, _ := examine(t, false, capture(t, map[string]string{"dmesg.txt": killed}))
	if strings.ContainsRune(out, '\x1b') || !strings.Contains(out, "oom-kill") {
		t.Errorf("it prints %q", out)
	}
}
