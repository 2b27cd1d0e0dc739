package kernel

import (
	"bytes"
	"path"
)

// Swaps is /proc/swaps: the areas that are in use. It keeps its memory from
// one reading to the next.
//
// https://man7.org/linux/man-pages/man5/proc_swaps.5.html
type Swaps struct {
	Areas []SwapArea
}

// SwapArea is one area. Name is the path of the device or file as the kernel
// saw it; Type is partition or file.
type SwapArea struct {
	Name, Type string
	Size, Used Num // bytes
}

// Swaps reads /proc/swaps once. The error is [ErrUnavailable] where the kernel
// was built without swap.
func (f *FS) Swaps() (Swaps, error) { return once(f.SwapsReader()) }

// SwapsReader opens /proc/swaps for repeated reading.
func (f *FS) SwapsReader() (*Reader[Swaps], error) {
	return newReader(f.at, "", part[Swaps]{name: "proc/swaps", parse: parseSwaps})
}

func (s *Swaps) reset() { s.Areas = s.Areas[:0] }

// Disk is the name in /proc/diskstats of the device that the area lies on, ""
// for a file. Device mapper's links (/dev/mapper/NAME) are not followed: the
// kernel shows dm-N itself.
func (a *SwapArea) Disk() string {
	if a.Type != "partition" {
		return ""
	}
	return path.Base(a.Name)
}

// parseSwaps reads a heading and lines of "NAME TYPE SIZE USED PRIORITY", sizes
// in KiB. Blanks in names are written in octal.
func parseSwaps(s *Swaps, b []byte) error {
	var bad faults
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = cutLine(b)
		name, rest := cutField(line)
		if len(name) == 0 || n == 1 && string(name) == "Filename" {
			continue
		}
		kind, rest := cutField(rest)
		size, rest := cutField(rest)
		used, _ := cutField(rest)
		a := s.next()
		if a.Name != string(name) && a.Name != unescapeMount(string(name)) {
			a.Name = unescapeMount(string(name))
		}
		if a.Type != string(kind) {
			a.Type = string(kind)
		}
		for _, f := range [...]struct {
			dst  *Num
			text []byte
		}{{&a.Size, size}, {&a.Used, used}} {
			if v, ok := parseNum(bytes.TrimSpace(f.text)); ok && v < 1<<54 {
				*f.dst = Num{v * 1024, true}
			} else {
				bad.add(n, "size", f.text, "a whole number of KiB")
			}
		}
	}
	return bad.err()
}

func (s *Swaps) next() *SwapArea {
	if len(s.Areas) < cap(s.Areas) {
		s.Areas = s.Areas[:len(s.Areas)+1]
	} else {
		s.Areas = append(s.Areas, SwapArea{})
	}
	a := &s.Areas[len(s.Areas)-1]
	*a = SwapArea{Name: a.Name, Type: a.Type}
	return a
}
