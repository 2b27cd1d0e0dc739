package gauge

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"brink/internal/goapp"
)

// masterMain serves the built-in Go app with four workers.
func masterMain(port string) int {
	c, err := goapp.FromEnv(func(string) string { return "" })
	if err == nil {
		c.Workers = 4
		c.Bind = "127.0.0.1:" + port
		err = c.Validate()
	}
	if _, bad := strconv.Atoi(port); err == nil && bad == nil {
		err = goapp.Main(context.Background(), c, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// serverEnv makes the test binary a Go server of the ordinary kind.
const serverEnv = "WATCH_TEST_SERVER_PORT"

func serverMain(port string) int {
	err := http.ListenAndServe("127.0.0.1:"+port, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { select {} }))
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func testBinary(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

func writeFile(t testing.TB, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
