#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
#
# bind_now: programs and provider libraries that were linked against the
# system's libibverbs load with ours in front, every symbol bound at once.
# usage: test_bind_now.sh OUR_LIBRARY

set -eu
export LC_ALL=C
dir=$(dirname "$1")
checked=0

libs=$(ldconfig -p 2>/dev/null | awk '
	$1 ~ /^(libmlx5|libmlx4|libefa|librdmacm)\.so/ { print $NF }')
for f in $(command -v ibv_devinfo ibv_devices ibv_rc_pingpong ib_send_bw \
		ib_write_lat rping ucmatose 2>/dev/null || true) $libs \
		/usr/lib/*/ucx/libuct_ib.so.0; do
	[ -e "$f" ] || continue
	out=$(LD_LIBRARY_PATH=$dir LD_BIND_NOW=1 ldd -r "$f" 2>&1)
	if ! echo "$out" | grep -q "libibverbs.so.1 => $dir/"; then
		echo "$f does not load our library:"
		echo "$out"
		exit 1
	fi
	if echo "$out" | grep -E 'undefined symbol|not found'; then
		echo "$f does not load with our library"
		exit 1
	fi
	echo "$f"
	checked=$((checked + 1))
done
if [ "$checked" -eq 0 ]; then
	echo "skipped: no program or library that uses libibverbs"
	exit 77
fi
