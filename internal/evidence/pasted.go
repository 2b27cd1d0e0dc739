package evidence

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
)

var (
	pastedHead = expression(`^==> (\S+) <==$`)
	pastedGrep = expression(`^/?((?:proc|sys)/[\w./,-]+):(.*)$`)
	// pastedShell is a shell's prompt with a command. Behind a bare $ or # it is
	// one only if pastedTools knows the command: files of settings have comments.
	pastedShell = expression(`^((?:[\w.-]+@[\w.-]+|\[[^\]]{1,40}\]|[\w.-]*[:~][\w./~-]*)?[\w.:~/ -]{0,60})?[$#] (?:sudo )?(\S.*)$`)
	pastedTools = expression(`^(?:cat|free|vmstat|ss|dmesg|journalctl|kubectl|docker|top|ps|nstat|netstat)\b`)
	pastedCat   = expression(`^cat /((?:proc|sys)/[\w./,-]+)$`)
)

const mostPasted = 500

// parsePasted takes apart what people paste into one file: several files as head
// and tail print them ("==> /proc/meminfo <=="), files of the kernel as grep does
// (a path before each line), and what a shell showed ("$ cat /proc/meminfo").
func (b *builder) parsePasted(f *file) bool {
	first, _, _ := bytes.Cut(bytes.TrimLeft(f.data, " \t\r\n"), []byte{'\n'})
	head := string(bytes.TrimSpace(first[:min(len(first), 512)]))
	var parts []*file
	switch {
	case pastedHead().MatchString(head):
		parts = f.sections(func(line string) (string, bool) {
			m := pastedHead().FindStringSubmatch(line)
			if m == nil {
				return "", false
			}
			return strings.TrimPrefix(m[1], "/"), true
		})
	case pastedGrep().MatchString(head):
		parts = f.grepped()
	default:
		if _, ok := shellSection(head); !ok {
			return false
		}
		parts = f.sections(shellSection)
	}
	parts = slices.DeleteFunc(parts, func(p *file) bool { return p.name == "" || len(bytes.TrimSpace(p.data)) == 0 })
	for _, part := range parts {
		b.take(part)
	}
	return len(parts) > 0
}

// shellSection is the name of the file that a command at a prompt begins; empty
// for a command whose output is of no use.
func shellSection(line string) (string, bool) {
	m := pastedShell().FindStringSubmatch(line)
	if m == nil {
		return "", false
	}
	command := strings.TrimSpace(m[2])
	known := pastedTools().MatchString(command)
	switch cat := pastedCat().FindStringSubmatch(command); {
	case !known && m[1] == "":
		return "", false
	case !known:
		return "", true
	case cat != nil:
		return cat[1], true
	}
	return strings.ReplaceAll(shorten(command), "/", "_"), true
}

// sections cuts a file at the lines that begin a part, and names the parts
// beside the file: those of the kernel belong to the reading that it lies in.
func (f *file) sections(begin func(line string) (name string, ok bool)) []*file {
	var parts []*file
	for line := range bytes.Lines(f.data) {
		text := string(bytes.TrimSpace(line[:min(len(line), 512)]))
		if name, ok := begin(text); ok {
			if len(parts) >= mostPasted {
				break
			}
			part := &file{}
			if name != "" {
				part.name = f.beside(name, len(parts))
			}
			parts = append(parts, part)
		} else if len(parts) > 0 {
			parts[len(parts)-1].data = append(parts[len(parts)-1].data, line...)
		}
	}
	return parts
}

// beside is the name of a part of the file: a file of the kernel in the same
// folder, or something within it.
func (f *file) beside(name string, n int) string {
	if strings.HasPrefix(name, "proc/") || strings.HasPrefix(name, "sys/") {
		return path.Join(path.Dir(f.name), path.Clean("/" + name)[1:])
	}
	return fmt.Sprintf("%s part %d (%s)", f.name, n+1, path.Base(name))
}

// grepped puts lines with a path before them back into their files.
func (f *file) grepped() []*file {
	var parts []*file
	of := map[string]*file{}
	for line := range bytes.Lines(f.data) {
		m := pastedGrep().FindStringSubmatch(string(bytes.TrimRight(line[:min(len(line), mostLine)], "\r\n")))
		if m == nil {
			continue
		}
		name := f.beside(m[1], 0)
		part := of[name]
		if part == nil {
			if len(parts) >= mostPasted {
				break
			}
			part = &file{name: name}
			of[name] = part
			parts = append(parts, part)
		}
		part.data = append(append(part.data, m[2]...), '\n')
	}
	return parts
}
