package kernel

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// children is a /proc/PID/task/TID/children file: the children that the thread
// forked and those it inherited.
//
// https://www.kernel.org/doc/html/latest/filesystems/proc.html#proc-pid-task-tid-children-information-about-task-children
type children struct{ pids []int }

func (c *children) reset() { c.pids = c.pids[:0] }

func parseChildren(c *children, b []byte) error {
	for {
		var field []byte
		field, b = cutField(b)
		if len(field) == 0 {
			return nil
		}
		var pid int
		if !parseSmall(&pid, field) {
			return &FieldError{Line: 1, Field: "children", Text: shorten(field), Want: "a pid"}
		}
		c.pids = append(c.pids, pid)
	}
}

// Children appends the pids of the process's children to dst. It allocates
// nothing for a process with a single thread; otherwise it reads a file per
// thread. Where the kernel lacks these files it looks at the parent of every
// process. A child that is forked or reaped meanwhile may be missed or listed:
// opening it tells.
func (p *Process) Children(dst []int) ([]int, error) {
	if err := p.Stat(&p.last); err != nil {
		return dst, err
	}
	if p.last.Threads == 1 {
		return p.childrenOfMain(dst)
	}
	return p.childrenOfAll(dst)
}

// Inherited appends the pids of the children that the process has forked from
// its main thread or inherited to dst: orphans go to the first thread of the
// reaper that lives, which is the main one. It allocates nothing. Where the
// kernel lacks the file the result is that of Children.
//
// https://man7.org/linux/man-pages/man2/PR_SET_CHILD_SUBREAPER.2const.html
func (p *Process) Inherited(dst []int) ([]int, error) { return p.childrenOfMain(dst) }

func (p *Process) childrenOfMain(dst []int) ([]int, error) {
	if p.kids == nil {
		kids, err := p.childrenReader(p.pid)
		if errors.Is(err, ErrUnavailable) {
			return p.childrenByParent(dst)
		}
		if err != nil {
			return dst, err
		}
		p.kids = kids
	}
	if err := p.kids.Read(&p.forked); err != nil {
		return dst, err
	}
	return append(dst, p.forked.pids...), nil
}

func (p *Process) childrenOfAll(dst []int) ([]int, error) {
	tids, err := numericNames(p.dir, "task")
	if errors.Is(err, ErrUnavailable) {
		return p.childrenByParent(dst)
	}
	if err != nil {
		return dst, err
	}
	found := len(dst)
	none := true
	for _, tid := range tids {
		kids, err := once(p.childrenReader(tid))
		if errors.Is(err, ErrUnavailable) || errors.Is(err, ErrGone) {
			continue
		}
		if err != nil {
			return dst[:found], err
		}
		none = false
		dst = append(dst, kids.pids...)
	}
	if none {
		return p.childrenByParent(dst)
	}
	return dst, nil
}

func (p *Process) childrenReader(tid int) (*Reader[children], error) {
	name := "task/" + strconv.Itoa(tid) + "/children"
	return newReader(p.dir, p.prefix, part[children]{name: name, parse: parseChildren})
}

// childrenByParent looks through all processes.
func (p *Process) childrenByParent(dst []int) ([]int, error) {
	pids, err := p.fs.PIDs()
	if err != nil {
		return dst, fmt.Errorf("children of %d: %w", p.pid, err)
	}
	slices.Sort(pids)
	for _, pid := range pids {
		child, err := p.fs.OpenProcess(pid)
		if errors.Is(err, ErrGone) {
			continue
		}
		if err != nil {
			return dst, err
		}
		if child.last.PPID == p.pid {
			dst = append(dst, pid)
		}
		child.Close()
	}
	return dst, nil
}
