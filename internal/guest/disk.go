package guest

import (
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"
)

// diskLeft is how little space, in bytes, counts as none.
const diskLeft = 1 << 20

// watchDisk says once that the file system at path is full. What fails for it
// does not always say so.
func watchDisk(path string, console io.Writer) {
	for {
		var s unix.Statfs_t
		if unix.Statfs(path, &s) == nil && s.Bavail*uint64(s.Bsize) < diskLeft {
			fmt.Fprintln(console, DiskFull)
			return
		}
		time.Sleep(time.Second)
	}
}
