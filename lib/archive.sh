#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
#
# Make libroost.a: one object of all rooms, in which the symbols of ROOST_0.1
# alone are global. So no name of ours collides with one of the program; one
# object means that its constructors come with any of its functions; and the
# calls that uncancelled.c wraps are resolved inside of it, not in the program.
#
# usage: archive.sh OUT MAP CC... -- LINKER-ARGUMENTS... LIBRARIES...
set -eu

out=$1
map=$2
shift 2
object=${out%.a}.o
symbols=${out%.a}.symbols
cc=
while [ "$1" != -- ]; do
	cc="$cc $1"
	shift
done
shift

sed -n '/^ROOST_0\.1/,/^local:/s/^\t\(roost_.*\);$/\1/p' "$map" > "$symbols"
# shellcheck disable=SC2086 # a compiler, maybe behind ccache
$cc -r -nostdlib -o "$object" -Wl,--whole-archive "$@" -Wl,--no-whole-archive
objcopy --keep-global-symbols="$symbols" "$object"
rm -f "$out"
ar -rcs "$out" "$object"
rm -f "$object" "$symbols"
