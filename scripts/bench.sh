#!/bin/sh
# Runs every benchmark of the tree once, one package after the other, and then
# prints what each measured. Fails when a benchmark misses what it claims.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

{
	status=0
	go test -run '^$' -bench . -benchtime 1x -timeout 30m ./... 2>&1 || status=$?
	echo "$status" >"$dir/status"
} | tee "$dir/output" | grep -v -e 'no test files' -e '^PASS$' -e '^goos:' -e '^goarch:' || true

printf '\nWhat was measured\n\n'
awk '
	/^pkg: /      { pkg = $2; sub(/^brink\//, "", pkg) }
	/^Benchmark/ && NF > 3 {
		name = $1; sub(/^Benchmark/, "", name); sub(/-[0-9]+$/, "", name)
		line = ""
		for (i = 3; i < NF; i += 2)
			if ($(i + 1) != "ns/op" || NF == 4)
				line = line (line == "" ? "" : ", ") $i " " $(i + 1)
		printf "%-24s %-30s %s\n", pkg, name, line
	}
	/^--- FAIL/ { failed = failed "\n" $0 }
	END { if (failed != "") print "\nMissed:" failed }
' "$dir/output"
exit "$(cat "$dir/status")"
