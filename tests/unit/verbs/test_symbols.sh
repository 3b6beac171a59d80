#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
#
# symbols: our library exports what the system's exports, each with the same
# version and the same default. What it exports beside is tests/abi/lists.py's.
# usage: test_symbols.sh OUR_LIBRARY SYSTEM_LIBRARY SONAME

set -eu
export LC_ALL=C
ours=$1
theirs=$2
soname=$3

if [ ! -e "$theirs" ]; then
	echo "skipped: no $soname on this system"
	exit 77
fi

# name@version of every defined symbol; two @ mark the default version
symbols() {
	readelf -W --dyn-syms "$1" |
		awk '$7 != "UND" && $8 ~ /@/ { print $8 }' | sort
}

# each version and the one it builds on
versions() {
	readelf -W -V "$1" | awk '
		/Version definition section/ { on = 1; next }
		/Version needs section/ { on = 0 }
		on && / Name: / { name = $NF; print name }
		on && /Parent/ { print name " after " $NF }' | sort
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
for what in symbols versions; do
	$what "$ours" >"$tmp/ours"
	$what "$theirs" >"$tmp/theirs"
	if [ ! -s "$tmp/theirs" ]; then
		echo "skipped: $theirs has no $what"
		exit 77
	fi
	echo "$what: $(wc -l <"$tmp/ours") here, $(wc -l <"$tmp/theirs") there"
	comm -23 "$tmp/theirs" "$tmp/ours" >"$tmp/missing"
	diff -u /dev/null "$tmp/missing"
done
if ! readelf -d "$ours" | grep -qF "soname: [$soname]"; then
	echo "the soname is not $soname"
	exit 1
fi
