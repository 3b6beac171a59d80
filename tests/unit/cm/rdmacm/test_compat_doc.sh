#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
#
# compat_doc: doc/compat.md has a row for every symbol that librdmacm's version
# map exports and for nothing else, and a row says "EOPNOTSUPP" exactly where
# cm/rdmacm/rsocket_unsupported.c answers.
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

sed -n 's/^UNSUPPORTED(\(.*\));$/\1/p' cm/rdmacm/rsocket_unsupported.c |
	sort >"$tmp/unsupported"
awk '$3 != "works" { print $1 }' "$tmp/rows" >"$tmp/refused"
echo "not supported: $(wc -l <"$tmp/unsupported")"
diff -u "$tmp/unsupported" "$tmp/refused"
