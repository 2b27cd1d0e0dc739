package evidence

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
)

// mostPiped bounds what is read of a pipe, which nobody can seek in.
const mostPiped = 128 << 20

// stream takes in an archive or a file that is read from its beginning to its
// end, such as standard input.
func (g *gathered) stream(r io.Reader, name string) error {
	data, err := io.ReadAll(io.LimitReader(r, mostPiped+1))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > mostPiped {
		return fmt.Errorf("%s has more than %d MiB, the most that is read", name, mostPiped>>20)
	}
	if kind := archiveKind(data); kind != "" {
		return g.unpack(kind, bytes.NewReader(data), name)
	}
	if !g.room(name) {
		return nil
	}
	g.add(name, data, 0)
	return nil
}

// fromPipe reads a named pipe, such as a shell's <(dmesg) or /dev/stdin. Opening
// one waits for its writer, which may never come: ctx ends that.
func (g *gathered) fromPipe(ctx context.Context, name string) error {
	type opened struct {
		f   *os.File
		err error
	}
	done := make(chan opened)
	go func() {
		f, err := os.Open(name)
		select {
		case done <- opened{f, err}:
		case <-ctx.Done():
			_ = f.Close()
		}
	}()
	var pipe opened
	select {
	case pipe = <-done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if pipe.err != nil {
		return pipe.err
	}
	defer pipe.f.Close()
	defer context.AfterFunc(ctx, func() { _ = pipe.f.Close() })()
	if err := g.stream(pipe.f, name); err != nil {
		return err
	}
	return ctx.Err()
}
