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
	pastedGrep = expression(`^/?((?:proc|sys)/[\w./,@\\+-]+):(.*)$`)
	// pastedNear is what grep prints within /proc/pressure, or the directory of a cgroup.
	pastedNear = expression(`^(?:\./)?((?:cpu|memory|io|irq)\b[\w.]*):((?:some|full) avg10=.*|[a-z_]* ?(?:\d+|max)(?: \d+)?)$`)
	// pastedShell is a shell's prompt with a command. Behind a bare $ or # it is
	// one only if pastedTools knows the command: files of settings have comments.
	pastedShell = expression(`^((?:[\w.-]+@[\w.-]+|\[[^\]]{1,40}\]|[\w.-]*[:~][\w./~-]*)?[\w.:~/ -]{0,60})?[$#] (?:sudo )?(\S.*)$`)
	pastedTools = expression(`^(?:cat|free|vmstat|ss|dmesg|journalctl|kubectl|docker|podman|top|uptime|w|sar|ps|nstat|netstat|head|tail|e?grep|sysctl)\b`)
	// pastedOther is a bare prompt with any command, in a file that is known to be
	// of a shell. Behind # it may be a comment of what a command printed.
	pastedOther = expression(`^\$ \S`)
	// pastedPrints are commands that print lines of files as they stand there.
	pastedPrints = expression(`\b(?:cat|head|tail|e?grep)\b`)
	pastedPath   = expression(`^/((?:proc|sys)/[\w./,-]+)$`)
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
		parts = f.sections(func(line string) ([]string, bool) {
			m := pastedHead().FindStringSubmatch(line)
			if m == nil {
				return nil, false
			}
			return []string{nearName(strings.TrimPrefix(m[1], "/"))}, true
		})
	case pastedGrep().MatchString(head), pastedNear().MatchString(head):
		parts = f.grepped()
	default:
		if !f.ofShell(head) {
			return false
		}
		parts = f.sections(func(line string) ([]string, bool) {
			names, ok := shellSection(line)
			return names, ok || pastedOther().MatchString(line)
		})
	}
	parts = slices.DeleteFunc(parts, func(p *file) bool { return len(bytes.TrimSpace(p.data)) == 0 })
	for _, part := range joined(parts) {
		b.take(part)
	}
	return len(parts) > 0
}

// joined puts parts of one file together that several commands printed, as two
// greps of /proc/meminfo do, where no line of theirs tells the same.
func joined(parts []*file) []*file {
	of := map[string]*file{}
	return slices.DeleteFunc(parts, func(p *file) bool {
		first := of[p.name]
		if first == nil {
			of[p.name] = p
			return false
		}
		had, has := firstWordsOf(first.data), firstWordsOf(p.data)
		for word := range has {
			if had[word] || word[0] >= '0' && word[0] <= '9' {
				return false
			}
		}
		first.data = slices.Concat(bytes.TrimRight(first.data, "\n"), []byte{'\n'}, p.data)
		return true
	})
}

// firstWordsOf are the first words of the lines.
func firstWordsOf(data []byte) map[string]bool {
	words := map[string]bool{}
	for line := range bytes.Lines(data) {
		if fields := bytes.Fields(line[:min(len(line), 512)]); len(fields) > 0 {
			words[string(fields[0])] = true
		}
	}
	return words
}

// ofShell reports whether a file that begins with a line is what a shell showed:
// the line is a prompt with a command that is known, or with any other, and one
// that is known follows.
func (f *file) ofShell(head string) bool {
	if _, ok := shellSection(head); ok {
		return true
	}
	if !pastedOther().MatchString(head) {
		return false
	}
	for line := range bytes.Lines(f.data) {
		if names, _ := shellSection(string(bytes.TrimSpace(line[:min(len(line), 512)]))); len(names) > 0 {
			return true
		}
	}
	return false
}

// shellSection names what a command at a prompt prints: files of the kernel, or
// its output as a whole; nothing for a command whose output is of no use.
func shellSection(line string) (names []string, ok bool) {
	m := pastedShell().FindStringSubmatch(line)
	if m == nil {
		return nil, false
	}
	command := strings.TrimSpace(m[2])
	switch {
	case !pastedTools().MatchString(command):
		return nil, m[1] != ""
	case pastedPrints().MatchString(command):
		names = printedFiles(command)
	}
	if len(names) == 0 {
		names = []string{strings.ReplaceAll(shorten(command), "/", "_")}
	}
	return names, true
}

// printedFiles are the kernel's files that a command names, each once.
func printedFiles(command string) []string {
	var paths []string
	for _, word := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t'\";|&()", r) }) {
		if m := pastedPath().FindStringSubmatch(word); m != nil && !slices.Contains(paths, m[1]) {
			paths = append(paths, m[1])
		}
	}
	return paths
}

// sections cuts a file at the lines that begin a part, and names the parts
// beside the file: those of the kernel belong to the reading that it lies in.
func (f *file) sections(begin func(line string) (names []string, ok bool)) []*file {
	var parts []*file
	var names []string
	var data []byte
	n := 0
	end := func() {
		parts = append(parts, f.apart(names, data, n)...)
		names, data = nil, nil
	}
	for line := range bytes.Lines(f.data) {
		text := string(bytes.TrimSpace(line[:min(len(line), 512)]))
		if next, ok := begin(text); ok {
			end()
			if n++; n > mostPasted {
				break
			}
			names = next
		} else if len(names) > 0 {
			data = append(data, line...)
		}
	}
	end()
	return parts
}

// apart makes files of what one command printed, the n-th. Of several it is a
// line of each, or where each file has as many, that many: a "some" and a "full"
// of each of /proc/pressure. Where it does not come out even, nothing tells which
// lines are of which, and it is one part under the names of all.
func (f *file) apart(names []string, data []byte, n int) []*file {
	if len(names) == 0 {
		return nil
	}
	each := 1
	if !slices.ContainsFunc(names, func(name string) bool { return !strings.HasPrefix(name, "proc/pressure/") }) {
		each = 2
	}
	lines := slices.Collect(bytes.Lines(data))
	switch {
	case len(names) == 1:
		return []*file{{name: f.beside(names[0], n-1), data: data}}
	case len(lines) != each*len(names):
		return []*file{{name: f.beside(strings.ReplaceAll(strings.Join(names, " "), "/", "_"), n-1), data: data}}
	}
	var parts []*file
	for i, name := range names {
		parts = append(parts, &file{name: f.beside(name, n-1), data: bytes.Join(lines[i*each:(i+1)*each], nil)})
	}
	return parts
}

// nearName is where a file of the kernel belongs that was named without its folder:
// what has the name of a cgroup's file is of the cgroup that somebody looked at.
func nearName(name string) string {
	switch name {
	case "cpu", "memory", "io", "irq":
		return "proc/pressure/" + name
	}
	if cgroupName(name) {
		return "cgroup/" + name
	}
	return name
}

// beside is the name of a part of the file: a file of the kernel in the same
// folder, or something within it.
func (f *file) beside(name string, n int) string {
	if strings.HasPrefix(name, "proc/") || strings.HasPrefix(name, "sys/") || strings.HasPrefix(name, "cgroup/") {
		return path.Join(path.Dir(f.name), path.Clean("/" + name)[1:])
	}
	return fmt.Sprintf("%s part %d (%s)", f.name, n+1, path.Base(name))
}

// grepped puts lines with a path before them back into their files.
func (f *file) grepped() []*file {
	var parts []*file
	of := map[string]*file{}
	for line := range bytes.Lines(f.data) {
		text := string(bytes.TrimRight(line[:min(len(line), mostLine)], "\r\n"))
		m := pastedGrep().FindStringSubmatch(text)
		if m == nil {
			if m = pastedNear().FindStringSubmatch(text); m == nil {
				continue
			}
			m[1] = nearName(m[1])
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
