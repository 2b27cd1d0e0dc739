package gauge

import (
	"debug/buildinfo"
	"debug/elf"
	"os"
	"runtime/debug"
	"syscall"
)

// programs are the main packages of the Go programs that were met, by file;
// empty for other programs. Many processes run the same file, and it may have to
// come from a busy disk.
type programs map[fileID]string

type fileID struct{ dev, inode uint64 }

// lookInside adds what is only in the program's file and in its threads. Rights
// that are missing leave them unknown.
func (q *proc) lookInside(known programs, id *Identity) {
	if id.GoPath = known.goPath(q); id.GoPath == "" && id.Threads > 1 {
		id.ThreadNames, _ = q.p.ThreadNames()
	}
}

func (known programs) goPath(q *proc) string {
	exe, err := q.p.OpenExe()
	if err != nil {
		return ""
	}
	defer exe.Close()
	id, ok := fileOf(exe.Stat())
	if !ok {
		return ""
	}
	path, met := known[id]
	if !met {
		path = goPathOf(exe, id)
		known[id] = path
	}
	return path
}

func goPathOf(exe *os.File, id fileID) string {
	if self, ok := fileOf(os.Stat("/proc/self/exe")); ok && self == id {
		if info, ok := debug.ReadBuildInfo(); ok {
			return info.Path
		}
		return ""
	}
	if !maybeGo(exe) {
		return ""
	}
	info, err := buildinfo.Read(exe)
	if err != nil {
		return ""
	}
	return info.Path
}

// maybeGo saves searching a program's data for what a Go program has a section
// for. One that was stripped of its sections may be any.
func maybeGo(exe *os.File) bool {
	f, err := elf.NewFile(exe)
	return err != nil || len(f.Sections) == 0 || f.Section(".go.buildinfo") != nil
}

func fileOf(info os.FileInfo, err error) (fileID, bool) {
	if err != nil {
		return fileID{}, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, false
	}
	return fileID{uint64(st.Dev), st.Ino}, true
}
