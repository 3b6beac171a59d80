#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
#
# The demo's command line. What it does is the suite "demo".
# Usage: test_demo.sh DEMO
set -u

dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
failed=0

# try STATUS OUT ERR ARG...: the demo exits so, and says nothing elsewhere.
# OUT, ERR: a line that has to be there, or "" for silence.
try() {
	status=$1 out=$2 err=$3
	shift 3
	timeout 10 "$demo" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	rc=$?
	if [ "$rc" -ne "$status" ] || ! holds "$dir/out" "$out" ||
		! holds "$dir/err" "$err"; then
		failed=$((failed + 1))
		echo "FAILED: demo $* (exit $rc)"
		cat "$dir/out" "$dir/err"
	fi
}

holds() {
	if [ -z "$2" ]; then
		[ ! -s "$1" ]
	else
		grep -qxF -e "$2" "$1"
	fi
}

demo=$1
for ask in --help -h "--help more"; do
	# shellcheck disable=SC2086
	try 0 "Usage: apps/demo [--help]" "" $ask
done
try 2 "" "demo: --hepl: unknown option; see apps/demo --help" --hepl
try 2 "" "demo: fast: unknown argument; see apps/demo --help" fast
try 2 "" "demo: : unknown argument; see apps/demo --help" ""
[ "$failed" -eq 0 ]
