package evidence

import (
	"bufio"
	"strings"

	"brink/internal/kernel"
)

const arcstatsFile = "proc/spl/kstat/zfs/arcstats"

// arc reads the size of ZFS's cache: lines of "name type data" below a heading.
//
// https://openzfs.github.io/openzfs-docs/Performance%20and%20Tuning/Module%20Parameters.html
func (t *tree) arc() ARC {
	text, err := t.text(arcstatsFile)
	o := t.read(arcstatsFile, err)
	found := map[string]kernel.Num{}
	index := flat{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		if len(words) != 3 {
			continue
		}
		index[words[0]] = entry{line: n, text: words[2]}
		if v, ok := index.number(words[0]); ok {
			found[words[0]] = v
		}
	}
	o.flat = index
	return ARC{
		Size: o.value(found["size"], "size", Bytes),
		Min:  o.value(found["c_min"], "c_min", Bytes),
		Max:  o.value(found["c_max"], "c_max", Bytes),
	}
}
