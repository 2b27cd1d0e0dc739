package system

import (
	"bytes"
	"compress/flate"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"brink/internal/clock"
)

// What is held must not shrink on its way to swap.
func TestNoiseDoesNotCompress(t *testing.T) {
	b := make([]byte, 1<<20)
	noise(b, 1)
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write(b)
	_ = w.Close()
	if packed.Len() < len(b) {
		t.Errorf("%d bytes became %d", len(b), packed.Len())
	}
}

func TestWhatCannotBeHeld(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // what can be held all the same ends at once
	for _, args := range []string{"", "--mb 0", "--mb 5 --hot-mb 6", "--mb 5 --every -1s", "--mb x", "--empty-swap " + none, "--mb 5 --file-in " + none} {
		if err := Hold(ctx, strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%q is held", args)
		}
	}
}

func TestHoldingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	for _, args := range []string{"--mb 1", "--mb 1 --hot-mb 1 --every 1ms"} {
		said, out := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- Hold(ctx, strings.Fields(args), out) }()
		line := make([]byte, 6)
		if _, err := io.ReadFull(said, line); err != nil || string(line) != "ready\n" {
			t.Errorf("%q: it said %q, %v", args, line, err)
		}
		<-clock.Real.After(5e6)
		defer func() {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}()
	}
	cancel()
}
