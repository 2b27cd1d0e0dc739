package image

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// moduleOrder returns the paths, below dir, of the wanted kernel modules and of
// those that they need, each after what it needs itself.
func moduleOrder(dir string, wanted []string) ([]string, error) {
	paths := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(p, ".ko") {
			paths[moduleName(strings.TrimSuffix(path.Base(p), ".ko"))] = p
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("kernel modules: %w", err)
	}
	var order []string
	done := map[string]bool{}
	var add func(name string) error
	add = func(name string) error {
		if done[name] {
			return nil
		}
		done[name] = true
		p, ok := paths[name]
		if !ok {
			return fmt.Errorf("the kernel has no module %s", name)
		}
		needs, err := dependencies(p)
		if err != nil {
			return fmt.Errorf("kernel module %s: %w", name, err)
		}
		for _, n := range needs {
			if err := add(n); err != nil {
				return err
			}
		}
		order = append(order, p)
		return nil
	}
	for _, name := range wanted {
		if err := add(moduleName(name)); err != nil {
			return nil, err
		}
	}
	return order, nil
}

// moduleName is a module's name as the kernel writes it.
func moduleName(name string) string { return strings.ReplaceAll(name, "-", "_") }

// dependencies reads "depends=A,B" of a module's section .modinfo, a list of
// strings with a NUL after each.
func dependencies(path string) ([]string, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	section := f.Section(".modinfo")
	if section == nil {
		return nil, errors.New("it has no .modinfo")
	}
	info, err := section.Data()
	if err != nil {
		return nil, err
	}
	for entry := range bytes.SplitSeq(info, []byte{0}) {
		list, ok := bytes.CutPrefix(entry, []byte("depends="))
		if !ok || len(list) == 0 {
			continue
		}
		return strings.Split(moduleName(string(list)), ","), nil
	}
	return nil, nil
}
