#!/bin/sh
# Judges every fixture of doctor and prints, per mode, how many are right, wrong
# and without a verdict. Fails when any is not right.
set -eu
cd "$(dirname "$0")/.."
out=$(mktemp)
trap 'rm -f "$out"' EXIT

status=0
go test -count=1 -run '^TestScore$' -v ./internal/doctor >"$out" 2>&1 || status=$?
if grep -q 'score_test.go' "$out"; then
	sed -n 's/^ *score_test.go:[0-9]*: //p; s/^	*	/    /p' "$out"
else
	cat "$out"
fi
exit "$status"
