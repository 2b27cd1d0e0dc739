package servertest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// WSGI is an app that waits for the upstream, or sleeps for ?SECONDS. Each
// worker, process or thread, has a byte of the file "busy" that is 1 while it
// serves.
const WSGI = `
import itertools, mmap, os, threading, time, urllib.request

fd = os.open("busy", os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, 4096)
busy = mmap.mmap(fd, 4096)
mine = threading.local()

def slot():
    if not hasattr(mine, "slot"):
        for i in itertools.count():
            try:
                os.close(os.open("slot%d" % i, os.O_CREAT | os.O_EXCL))
                mine.slot = i
                break
            except FileExistsError:
                pass
    return mine.slot

def app(env, start):
    i = slot()
    busy[i] = 1
    try:
        query = env.get("QUERY_STRING", "")
        if query:
            time.sleep(float(query))
        else:
            with urllib.request.urlopen(os.environ["UPSTREAM"], timeout=30) as r:
                r.read()
    finally:
        busy[i] = 0
    start("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "3")])
    return [b"ok\n"]
`

// BusyInApp is how many workers of [WSGI] say that they serve; none does before
// it has been imported.
func BusyInApp(t testing.TB, p *Process) int64 {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(p.Dir, "busy"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return int64(bytes.Count(b, []byte{1}))
}
