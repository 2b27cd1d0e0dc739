package cli

import (
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite"

	"brink/internal/goapp"
)

// TestMain makes the test binary brink and the misbehaving app badapp when it
// is called by those names, as it is through PATH in scripts and by brink
// itself when it starts an agent or the built-in workload.
func TestMain(m *testing.M) {
	goapp.RunIfWorker()
	// The race detector would let every process sleep for a second at its end.
	if os.Getenv("GORACE") == "" {
		os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	testscript.Main(m, map[string]func(){
		"brink":  func() { os.Exit(Main(os.Args[1:])) },
		"badapp": func() { badApp(os.Args[1:]) },
	})
}

// TestScript runs the scripts of testdata/script, each a session at a terminal.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", os.Getenv("GORACE"))
			env.Setenv("XDG_RUNTIME_DIR", env.Getenv("WORK")+"/.runtime")
			return os.Mkdir(env.Getenv("XDG_RUNTIME_DIR"), 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"bare":   bare,
			"listen": listen,
			"sqlite": sqlite,
			"lines":  lineCount,
			"widest": widestLine,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// noise is what no message for people may hold: traces and the inner life of a
// Go program, and what could control a terminal.
var noise = regexp.MustCompile(`goroutine |panic|\.go:\d|strconv\.|%!|runtime error|0x[0-9a-f]{6}|<nil>|context canceled|[\x00-\x08\x0b-\x1f]`)

// exits CODE PROGRAM ARG... runs a program and compares its exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
	for _, stream := range []string{"stdout", "stderr"} {
		if found := noise.FindString(ts.ReadFile(stream)); found != "" {
			ts.Fatalf("%s holds %q", stream, found)
		}
	}
}

// bare CODE ARG... is exits CODE brink ARG... on a machine without python3 and
// node: a mount namespace in which they are not executable.
func bare(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: bare CODE ARG...")
	}
	brink, err := exec.LookPath("brink")
	ts.Check(err)
	namespace := []string{"unshare", "--mount"}
	if os.Getuid() != 0 {
		namespace = append(namespace, "--map-root-user")
	}
	const hide = `for program in /usr/bin/python3 /usr/bin/node /usr/bin/nodejs; do
		test ! -e $program || mount --bind /dev/null "$(readlink -f $program)" || exit 99
	done
	PATH=/usr/bin:/bin exec "$@"`
	exits(ts, false, append(append([]string{args[0]}, append(namespace, "sh", "-c", hide, "sh", brink)...), args[1:]...))
}

// listen NAME takes a free port for the rest of the script, as $NAME.
func listen(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: listen NAME")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { l.Close() })
	ts.Setenv(args[0], strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
}

// sqlite FILE SQL changes a database.
func sqlite(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sqlite FILE SQL")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec(args[1])
	ts.Check(err)
}

// lines N FILE compares the number of lines.
func lineCount(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines N FILE")
	}
	text := ts.ReadFile(args[1])
	if got := fmt.Sprint(strings.Count(text, "\n")); got != args[0] {
		ts.Fatalf("%s has %s lines, want %s:\n%s", args[1], got, args[0], text)
	}
}

// widest N FILE checks that no line has more than N characters.
func widestLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: widest N FILE")
	}
	limit, err := strconv.Atoi(args[0])
	ts.Check(err)
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > limit {
			ts.Fatalf("%d characters, want at most %d: %s", n, limit, line)
		}
	}
}
