package evidence

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"brink/internal/record"
)

// ErrNothing says that an input holds nothing that was understood.
var ErrNothing = errors.New("nothing in it was understood")

// Read makes a case of what paths name: files, folders, a captured tree, a
// bundle of [Collect], the directory of a run. All of them together are one
// case. Files are recognised by their contents; what is not understood is
// listed in the case. The error is [ErrNothing] if nothing was understood, and
// otherwise about a path that cannot be read.
func Read(ctx context.Context, paths ...string) (*Case, error) {
	var g gathered
	var runs []string
	var failed error // the first path that cannot be read
	for _, p := range paths {
		if record.IsRun(p) {
			if g.again(p, p) {
				continue
			}
			runs = append(runs, p)
			continue
		}
		if err := g.gather(ctx, p); err != nil {
			err = fmt.Errorf("reading evidence: %w", err)
			if ctx.Err() != nil || len(paths) == 1 {
				return nil, err
			}
			failed = cmp.Or(failed, err)
			g.strange(p, "it cannot be read: "+reasonOf(err))
		}
	}
	c, err := g.assemble(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range runs {
		if err := c.addRun(ctx, p, Window{}); err != nil {
			return nil, err
		}
	}
	if len(c.Inputs) == 0 && failed != nil {
		return c, failed
	}
	if len(c.Inputs) == 0 {
		return c, fmt.Errorf("%s: %w%s", strings.Join(paths, ", "), ErrNothing, firstReason(c.Strangers))
	}
	return c, nil
}

func firstReason(strangers []Stranger) string {
	if len(strangers) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s: %s)", strangers[0].File, strangers[0].Why)
}

// ReadArchive makes a case of an archive that is read from r, such as a bundle
// on standard input.
func ReadArchive(ctx context.Context, name string, r io.Reader) (*Case, error) {
	var g gathered
	if err := g.stream(r, name); err != nil {
		return nil, fmt.Errorf("reading evidence: %w", err)
	}
	c, err := g.assemble(ctx)
	if err == nil && len(c.Inputs) == 0 {
		err = fmt.Errorf("%s: %w%s", name, ErrNothing, firstReason(c.Strangers))
	}
	return c, err
}

// FromFiles makes a case of files in memory, by name.
func FromFiles(files map[string][]byte) (*Case, error) {
	var list []*file
	for _, name := range sortedKeys(files) {
		list = append(list, &file{name: name, data: files[name]})
	}
	return (&gathered{files: list}).assemble(context.Background())
}

// assemble recognises each file and puts the case together.
func (g *gathered) assemble(ctx context.Context) (*Case, error) {
	b := newBuilder()
	b.c.Strangers, b.cut = g.strangers, g.cut
	slices.SortStableFunc(g.files, func(a, b *file) int { return strings.Compare(a.name, b.name) })
	for _, f := range g.files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if b.take(f); b.bad != nil {
			return nil, fmt.Errorf("reading evidence: %w", b.bad)
		}
	}
	return b.finish()
}

// format is one kind of file. parse is false if the file is not of that kind
// after all, in which case it has not touched the builder.
type format struct {
	as    string
	parse func(b *builder, f *file) bool
}

// formats are tried in this order.
var formats = []format{
	{"container stats, JSON", (*builder).parseStatsJSON},
	{"docker ps, JSON", (*builder).parsePSJSON},
	{"JSON", (*builder).parseJSON},
	{"journal, as fields", (*builder).parseJournal},
	{"kubectl, YAML", (*builder).parseKubeYAML},
	{"docker stats", (*builder).parseDockerStats},
	{"kubectl top, crictl stats", (*builder).parseKubeStats},
	{"listening sockets (ss)", (*builder).parseSS},
	{"listening sockets (netstat)", (*builder).parseNetstatSockets},
	{"nstat", (*builder).parseNstat},
	{"netstat -s", (*builder).parseNetstat},
	{"kubectl get pods", (*builder).parsePods},
	{"docker ps", (*builder).parseDockerPS},
	{"crictl ps", (*builder).parseCrictlPS},
	{"systemctl show", (*builder).parseUnitShow},
	{"systemctl status", (*builder).parseUnitStatus},
	{"status page", (*builder).parsePoolStatus},
	{"vmstat", (*builder).parseVmstatTool},
	{"vmstat -s", (*builder).parseVmstatSums},
	{"sar", (*builder).parseSar},
	{"iostat", (*builder).parseIostat},
	{"pidstat", (*builder).parsePidstat},
	{"free", (*builder).parseFree},
	{"uptime", (*builder).parseUptime},
	{"top", (*builder).parseTop},
	{"processes (ps)", (*builder).parsePS},
	{"status of processes", (*builder).parseProcStatus},
	{"sysctl", (*builder).parseSysctl},
	{"php-fpm pool", (*builder).parsePoolConf},
	{"kubectl describe", (*builder).parseDescribe},
	{"probe settings", (*builder).parseProbeText},
	{"W3C log", (*builder).parseW3C},
	{"table", (*builder).parseTable},
	{"start command", (*builder).parseStartCommand},
	{"log", (*builder).parseLog},
}

// take recognises a file and takes in what it says.
func (b *builder) take(f *file) {
	f.data = bytes.TrimPrefix(f.data, []byte("\xef\xbb\xbf"))
	if decoded, ok := fromUTF16(f.data); ok {
		f.data = decoded
	}
	// A log that was cut while its writer went on at the old place begins with a
	// hole (logrotate(8), copytruncate).
	size := len(f.data)
	f.data = bytes.TrimLeft(f.data, "\x00")
	if size > 0 && len(f.data) == 0 {
		if f.cut > 0 {
			b.strange(f, fmt.Sprintf("its last %d MiB hold only zero bytes, and no more was read", size>>20))
			return
		}
		b.strange(f, "it holds only zero bytes")
		return
	}
	if p, ok := placeOf(f.name); ok {
		b.takeKernel(p, f)
		return
	}
	if ok := b.parseMeta(f); ok {
		return
	}
	if len(bytes.TrimSpace(f.data)) == 0 {
		b.empty(f)
		return
	}
	if !textual(f.data) {
		b.strange(f, cmp.Or(otherKind(f.data), "it is not text"))
		return
	}
	if b.parsePasted(f) {
		return
	}
	if ofOneProcess(f.name) {
		b.strange(f, "it is of one process and its namespaces, not of the machine")
		return
	}
	if rel, ok := looseKernelFile(f); ok {
		dir := strings.TrimSuffix(f.name, f.base())
		b.takeKernel(place{group: strings.Trim(dir, "/"), rel: rel}, f)
		return
	}
	for i := range formats {
		if formats[i].parse(b, f) {
			return
		}
	}
	if first := bytes.TrimSpace(f.data); bytes.HasPrefix(first, []byte("some avg10=")) || bytes.HasPrefix(first, []byte("full avg10=")) {
		b.strange(f, "it has lines of pressure files and not of which: give what grep . /proc/pressure/* prints")
		return
	}
	b.strange(f, "no format that is known: "+b.firstWords(f))
}

func (b *builder) takeKernel(p place, f *file) {
	if had := b.kernel.add(p, f); had != nil {
		if had.of != f.of && inTree(had.name) && inTree(f.name) {
			b.two("captured trees", had, f)
			return
		}
		b.second(had, f, p.rel)
		return
	}
	b.input(f, "kernel file", "")
}

// empty takes in a file without contents: of a log, that it says nothing is
// evidence too.
func (b *builder) empty(f *file) {
	if !namedLog(f.base()) {
		b.strange(f, "it is empty")
		return
	}
	b.input(f, "empty log", "an export can be empty although there was something to log")
	b.c.Logs = append(b.c.Logs, Log{File: f.name, As: "empty", Origin: logOriginOf(f.base()),
		Uptime:  Missing(NotSeen, "the log is empty", Source{File: f.name}),
		Silence: Missing(NotSeen, "the log is empty", Source{File: f.name})})
}

// logOriginOf guesses whose a log is that has no lines to tell.
func logOriginOf(base string) Origin {
	base = strings.ToLower(base)
	for _, word := range []string{"system", "platform", "docker"} {
		if strings.Contains(base, word) {
			return FromPlatform
		}
	}
	if strings.Contains(base, "dmesg") || strings.Contains(base, "kern") {
		return FromKernel
	}
	return FromServer
}

func (b *builder) firstWords(f *file) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(f.data), []byte{'\n'})
	const most = 60
	text := strings.ToValidUTF8(string(line[:min(len(line), most)]), "")
	return fmt.Sprintf("it begins with %q", text)
}

// textual reports whether data looks like text: no zero bytes and mostly valid.
func textual(data []byte) bool {
	head := data[:min(len(data), 8<<10)]
	if bytes.IndexByte(head, 0) >= 0 {
		return false
	}
	bad := 0
	for i := 0; i < len(head); {
		r, size := utf8.DecodeRune(head[i:])
		if r == utf8.RuneError && size == 1 {
			bad++
		}
		i += size
	}
	return bad*10 <= len(head)
}
