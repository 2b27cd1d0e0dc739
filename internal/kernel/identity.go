package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Cmdline reads /proc/PID/cmdline: the arguments, or the one title that a
// program has written over them. Unlike all other readings it takes the
// process's mmap lock: it is for meeting a process, not for sampling. A kernel
// thread and a process that has ended but is not reaped have no arguments.
//
// https://man7.org/linux/man-pages/man5/proc_pid_cmdline.5.html
func (p *Process) Cmdline() ([]string, error) {
	b, err := p.text("cmdline")
	if err != nil || len(b) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimRight(string(b), "\x00"), "\x00"), nil
}

// ThreadNames reads the names of all threads, sorted, each at most 15 bytes
// long.
func (p *Process) ThreadNames() ([]string, error) {
	tids, err := numericNames(p.dir, "task")
	if err != nil {
		return nil, p.absent(err)
	}
	var names []string
	for _, tid := range tids {
		name, err := p.text("task/" + strconv.Itoa(tid) + "/comm")
		if errors.Is(err, ErrGone) || errors.Is(err, ErrUnavailable) {
			continue
		}
		if err != nil {
			return nil, err
		}
		names = append(names, string(bytes.TrimSuffix(name, []byte("\n"))))
	}
	slices.Sort(names)
	return names, nil
}

// Exe returns the path of the program that the process runs, in its own mount
// namespace. It needs the process's user, or CAP_SYS_PTRACE.
func (p *Process) Exe() (string, error) {
	path, err := p.dir.readlink("exe")
	if err != nil {
		return "", p.absent(explain(p.prefix+"exe", err))
	}
	return path, nil
}

// OpenExe opens the program that the process runs, even if its file has been
// replaced since. The error is [ErrUnavailable] in a captured tree.
func (p *Process) OpenExe() (*os.File, error) {
	if !p.fs.live {
		return nil, fmt.Errorf("%sexe: %w: not in a captured tree", p.prefix, ErrUnavailable)
	}
	f, err := os.Open("/" + p.prefix + "exe") // a link that leads out of the root
	if err != nil {
		return nil, p.absent(explain(p.prefix+"exe", err))
	}
	return f, nil
}

// text reads a file of the process once.
func (p *Process) text(name string) ([]byte, error) {
	f, err := openFile(p.dir, p.prefix, name)
	if err != nil {
		return nil, p.absent(err)
	}
	defer f.close()
	return f.read()
}
