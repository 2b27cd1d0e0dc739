package evidence

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func namedPipe(t *testing.T) string {
	t.Helper()
	at := filepath.Join(t.TempDir(), "dmesg")
	if err := unix.Mkfifo(at, 0o600); err != nil {
		t.Fatal(err)
	}
	return at
}

func TestANamedPipeIsRead(t *testing.T) {
	at := namedPipe(t)
	wrote := make(chan error, 1)
	go func() { wrote <- os.WriteFile(at, []byte(oneKill), 0o600) }()
	c, err := Read(t.Context(), at)
	if err := errors.Join(err, <-wrote); err != nil {
		t.Fatal(err)
	}
	wantEvents(t, c, "oom kill pid=4411 comm=ingest anon=5.31664896e+08 global=yes")
}

func TestAPipeThatNobodyWritesCanBeGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	at := namedPipe(t)
	if _, err := Read(ctx, at); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	// Whoever waits in open(2) goes on when a writer comes.
	f, err := os.OpenFile(at, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
}

func TestAnEmptyObjectIsNamed(t *testing.T) {
	_, err := ReadArchive(t.Context(), "standard input", strings.NewReader("{}"))
	if !errors.Is(err, ErrNothing) || !strings.HasSuffix(err.Error(), "it is JSON of a kind that is not known: an empty object)") {
		t.Errorf("got %v", err)
	}
}

func TestListeningSocketsInWords(t *testing.T) {
	for n, want := range map[int]string{1: "1 listening socket", 2: "2 listening sockets"} {
		if got := listeningSockets(n); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}
