#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
#
# test_unit_file.sh UNIT ROOSTD: systemd understands every line of the unit, and
# the bounding set is what it gives to the daemon.
unit=$1
roostd=$(realpath "$2")

command -v systemd-analyze >/dev/null || {
	echo "skipped: no systemd-analyze"
	exit 77
}
folder=$(mktemp -d) || exit 1
trap 'rm -r "$folder"' EXIT
sed "s#^ExecStart=[^ ]*#ExecStart=$roostd#" "$unit" >"$folder/roostd.service"
said=$(systemd-analyze verify --man=no "$folder/roostd.service" 2>&1 |
	grep roostd.service)
[ -z "$said" ] || {
	echo "$said"
	exit 1
}
ambient=$(sed -n 's/^AmbientCapabilities=//p' "$unit")
bounding=$(sed -n 's/^CapabilityBoundingSet=//p' "$unit")
if [ -z "$ambient" ] || [ "$ambient" != "$bounding" ]; then
	echo "other capabilities in the bounding set than the daemon has"
	exit 1
fi
