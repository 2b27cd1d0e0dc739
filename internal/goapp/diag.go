package goapp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// selfFields are the lines of /proc/self/status that are answered.
var selfFields = map[string]string{
	"VmSize":                     "vm_size_kb",
	"VmHWM":                      "vm_hwm_kb",
	"VmRSS":                      "rss_kb",
	"RssAnon":                    "rss_anon_kb",
	"RssFile":                    "rss_file_kb",
	"RssShmem":                   "rss_shmem_kb",
	"VmSwap":                     "vm_swap_kb",
	"Threads":                    "threads",
	"voluntary_ctxt_switches":    "voluntary_ctxt_switches",
	"nonvoluntary_ctxt_switches": "nonvoluntary_ctxt_switches",
}

// procSnapshot is what the kernel says, with root in the place of /proc. A
// file that cannot be read is null, its reason (an errno's name) stands under
// "unavailable". Formats: proc(5), Documentation/accounting/psi.rst.
func procSnapshot(root string) object {
	unavailable := object{}
	read := func(path string, parse func(string) (object, error)) object {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err == nil {
			var parsed object
			if parsed, err = parse(string(text)); err == nil {
				return parsed
			}
		}
		unavailable[path] = reason(err)
		return nil
	}
	return object{
		"meminfo": read("meminfo", parseNumbers),
		"vmstat":  read("vmstat", parseNumbers),
		"pressure": object{
			"memory": read("pressure/memory", parsePressure),
			"cpu":    read("pressure/cpu", parsePressure),
			"io":     read("pressure/io", parsePressure),
		},
		"self":        read("self/status", parseSelf),
		"unavailable": unavailable,
	}
}

func reason(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return unix.ErrnoName(errno)
	}
	return "cannot be parsed"
}

// parseNumbers reads lines such as "MemTotal:  1899652 kB" and "pgfault 77".
func parseNumbers(text string) (object, error) {
	out := object{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			return nil, fmt.Errorf("no number in %q", line)
		}
		n, err := strconv.ParseUint(fields[1], 10, 64)
		if err != nil {
			return nil, err
		}
		out[strings.TrimSuffix(fields[0], ":")] = n
	}
	return out, nil
}

// parsePressure reads lines such as
// "some avg10=0.00 avg60=0.00 avg300=0.00 total=0".
func parsePressure(text string) (object, error) {
	out := object{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			return nil, errors.New("an empty line")
		}
		values := object{}
		for _, pair := range fields[1:] {
			name, value, _ := strings.Cut(pair, "=")
			n, err := pressureNumber(name, value)
			if err != nil {
				return nil, err
			}
			values[name] = n
		}
		out[fields[0]] = values
	}
	return out, nil
}

func pressureNumber(name, value string) (any, error) {
	if name == "total" {
		return strconv.ParseUint(value, 10, 64)
	}
	if !decimal().MatchString(value) {
		return nil, fmt.Errorf("%s is no number: %q", name, value)
	}
	return strconv.ParseFloat(value, 64)
}

func parseSelf(text string) (object, error) {
	out := object{"pid": os.Getpid()}
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(line, ":")
		key, wanted := selfFields[name]
		if !wanted {
			continue
		}
		number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			return nil, err
		}
		out[key] = n
	}
	return out, nil
}
