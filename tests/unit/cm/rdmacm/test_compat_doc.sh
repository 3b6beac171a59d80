#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
#
# compat_doc: doc/compat.md has a row for every symbol that librdmacm's version
# map exports and for nothing else, and each row says "works".
# usage: test_compat_doc.sh SOURCE_ROOT

set -eu
export LC_ALL=C
cd "$1"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# | `name` | version | state | ...
awk -F'|' '/^\| `/ && $3 ~ /RDMACM_/ {
	gsub(/[ `]/, "", $2); gsub(/ /, "", $3); gsub(/ /, "", $4)
	print $2, $3, $4 }' doc/compat.md | sort >"$tmp/rows"

awk '/^RDMACM_/ { version = $1 } /;$/ && !/[*}]/ {
	gsub(/[;\t ]/, ""); print $0, version }' \
	cm/rdmacm/librdmacm.map | sort >"$tmp/map"
awk '{ print $1, $2 }' "$tmp/rows" >"$tmp/documented"
echo "symbols: $(wc -l <"$tmp/map") in the map"
diff -u "$tmp/map" "$tmp/documented"

awk '$3 != "works"' "$tmp/rows" >"$tmp/refused"
diff -u /dev/null "$tmp/refused"
