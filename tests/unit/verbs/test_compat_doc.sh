#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
#
# compat_doc: doc/compat.md has a row for every symbol that the version map
# exports and for every call that verbs.h makes through a context, it has no
# row for anything else, and a row says "works" exactly where
# lib/verbs/unsupported.def has none.
# usage: test_compat_doc.sh SOURCE_ROOT

set -eu
export LC_ALL=C
cd "$1"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# | `name` | version | state | ... : rows of exported symbols; the tables of
# runs, of ports and of librdmacm are others
awk -F'|' '/^<!-- (perftest_matrix|ports): begin/ { other = 1 }
/^<!-- (perftest_matrix|ports): end/ { other = 0 }
!other && /^\| `/ && NF >= 5 {
	gsub(/[ `]/, "", $2); gsub(/ /, "", $3)
	state = $4; sub(/^ */, "", state); sub(/ *$/, "", state)
	if ($3 !~ /^RDMACM_/) print $2, $3, state }' doc/compat.md |
	sort >"$tmp/rows"

# the version map
awk '/^IBVERBS_/ { version = $1 } /;$/ && !/[*}]/ {
	gsub(/[;\t ]/, ""); print $0, version }' \
	lib/verbs/libibverbs.map | sort >"$tmp/map"

# what is not supported: symbols by version, operations as "inline". The calls
# of struct ibv_qp_ex ("wr") are no table; test_qp_ex.c has them.
sed -n '/^[A-Z]*(/,/)$/p' lib/verbs/unsupported.def | tr '\n' ' ' |
	grep -oE '(SYMBOL|PRIVATE|CONTEXT|OPS)\([^)]*\)' | tr -d ' "@\t' |
	tr '(,)' '   ' |
	awk '$1 == "SYMBOL" { print $2, $3 }
	     $1 == "PRIVATE" { print $2, "IBVERBS_PRIVATE_" $3 }
	     $1 ~ /^(CONTEXT|OPS)$/ && $2 !~ /^(_compat_|ABI_)/ {
		sub(/^ibv_/, "", $2); print "ibv_" $2, "inline" }' |
	sort >"$tmp/unsupported"

awk '$2 !~ /^(inline|wr|dm|wq)$/ { print $1, $2 }' "$tmp/rows" \
	>"$tmp/documented"
echo "symbols: $(wc -l <"$tmp/map") in the map"
diff -u "$tmp/map" "$tmp/documented"

awk '$2 != "wr" && $3 == "EOPNOTSUPP" { print $1, $2 }' \
	"$tmp/rows" >"$tmp/refused"
echo "not supported: $(wc -l <"$tmp/unsupported")"
diff -u "$tmp/unsupported" "$tmp/refused"

if awk '$3 != "works" && $3 != "EOPNOTSUPP"' "$tmp/rows" | grep .; then
	echo "the state of these rows is neither works nor EOPNOTSUPP"
	exit 1
fi
