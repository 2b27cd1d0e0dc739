package evidence

import (
	"bytes"
	"strings"
)

// parsePoolConf reads a pool of php-fpm: "pm.max_children = 5".
//
// https://www.php.net/manual/en/install.fpm.configuration.php
func (b *builder) parsePoolConf(f *file) bool {
	if !bytes.Contains(f.data[:min(len(f.data), 256<<10)], []byte("pm.max_children")) && !bytes.Contains(f.data, []byte("\npm =")) {
		return false
	}
	if bytes.Contains(f.data[:min(len(f.data), 64<<10)], []byte("WARNING:")) {
		return false // a log that speaks of the setting
	}
	var pools []PoolConfig
	current := PoolConfig{Name: "www", From: Source{File: f.name, Line: 1}}
	seen := false
	n := 0
	for line := range bytes.Lines(f.data) {
		n++
		text := strings.TrimSpace(string(line[:min(len(line), 4096)]))
		text, _, _ = strings.Cut(text, ";")
		if strings.HasPrefix(text, "[") && strings.HasSuffix(strings.TrimSpace(text), "]") {
			if seen {
				pools = append(pools, current)
			}
			current, seen = PoolConfig{Name: shorten(strings.Trim(strings.TrimSpace(text), "[]")), From: Source{File: f.name, Line: n}}, false
			continue
		}
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			continue
		}
		at := Source{File: f.name, Line: n, Field: strings.TrimSpace(key)}
		switch value = strings.TrimSpace(value); at.Field {
		case "pm":
			current.Mode, seen = shorten(value), true
		case "pm.max_children":
			current.MaxChildren, seen = parsedNumber(value, Events, at), true
		case "listen.backlog":
			current.Backlog = parsedNumber(value, Events, at)
		case "listen":
			current.Listen = shorten(value)
		}
	}
	if seen {
		pools = append(pools, current)
	}
	if len(pools) == 0 {
		return false
	}
	b.c.Config.Pools = append(b.c.Config.Pools, pools...)
	b.input(f, "php-fpm pool", "")
	return true
}
