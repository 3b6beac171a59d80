# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
# shellcheck shell=sh disable=SC2154 # top: see below
#
# What apps/demo and tests/run need before they can start: Debian packages and
# a build. Sourced by both, which have set $top, the folder of the tree; sets
# nothing but functions and the lists below.
# Every step says in a line what it does, and costs nothing when there is
# nothing to do.

# To build Roost.
# shellcheck disable=SC2034 # for those who source this
packages_build="gcc clang meson ninja-build pkg-config libdpdk-dev libisal-dev
libbpf-dev libmicrohttpd-dev libmnl-dev libibverbs-dev librdmacm-dev
libjson-c-dev libncurses-dev libcmocka-dev systemtap-sdt-dev"
# To see two programs talk.
packages_demo="$packages_build ibverbs-utils"
# To run every test: the programs and libraries that Roost must carry, a second
# compiler, independent eyes on the wire.
packages_test="$packages_demo clang-format libclang-rt-dev python3
python3-prometheus-client python3-pyverbs python3-scapy tcpdump tshark iproute2
iputils-ping ibverbs-providers rdmacm-utils perftest infiniband-diags strace
valgrind man-db codespell shellcheck abigail-tools build-essential debhelper
lintian mmdebstrap rpm rpmlint"
# And the programs of the suite apps, with what compiles their tests.
packages_apps="libfabric-bin libucx0 ucx-utils openmpi-bin libopenmpi-dev mpich
libmpich-dev qperf fio iperf3 curl gdb dapl2-utils libdapl2 rdma-core"
# And large ones, for all cases of it.
packages_runtimes="golang-go default-jdk-headless tgt qemu-system-x86 qemu-utils
qemu-block-extra ceph-mon ceph-common hpcc python3-mpi4py netpipe-openmpi
librpma-dev libgloo-dev"
# And those of the suite interop, which runs when it is asked for.
packages_interop="qemu-system-x86 busybox-static pciutils fio"
# For all rows of tests/bench/run.
packages_bench="$packages_build python3 perftest iperf3 iproute2 ethtool
dpdk-dev valgrind ucx-utils libfabric-bin liburing-dev"

# say WHO TEXT...: one line of progress.
say() {
	who=$1
	shift
	printf '%s: %s\n' "$who" "$*"
}

# packages_missing PACKAGE...: those that are not installed.
packages_missing() {
	for package; do
		printf '%s\n' "$package"
	done | sort >"$setup_tmp/wanted"
	# Without their status, dpkg-query also names removed packages.
	dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
		sed -n 's/^installed //p' | sort -u |
		comm -23 "$setup_tmp/wanted" -
}

# packages_install WHO PACKAGE...: install what is missing, without questions.
packages_install() {
	who=$1
	shift
	setup_tmp=$(mktemp -d) || return 1
	missing=$(packages_missing "$@")
	if [ -z "$missing" ]; then
		rm -rf "$setup_tmp"
		say "$who" "packages: all $# are installed"
		return 0
	fi
	missing=$(echo "$missing" | tr '\n' ' ') # one line
	# Root needs no sudo, and a fresh image has none.
	as_root=
	if [ "$(id -u)" -ne 0 ]; then
		if ! sudo -n true 2>/dev/null; then
			rm -rf "$setup_tmp"
			say "$who" "packages missing: $missing" \
				"- run it as root or with sudo, or install" \
				"them" >&2
			return 1
		fi
		as_root="sudo -n"
	fi
	say "$who" "packages: installing $missing"
	# shellcheck disable=SC2086
	if ! { apt_get update && apt_get install $missing; } \
		>"$setup_tmp/log" 2>&1; then
		cat "$setup_tmp/log" >&2
		rm -rf "$setup_tmp"
		say "$who" "apt-get failed; see above" >&2
		return 1
	fi
	rm -rf "$setup_tmp"
}

apt_get() {
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
		-o Dpkg::Use-Pty=0 -o Acquire::Retries=3 \
		--no-install-recommends "$@" </dev/null
}

# set_up WHO DIR MESON-OPTION...: meson setup, once. CC says the compiler.
set_up() {
	who=$1
	dir=$2
	shift 2
	[ ! -f "$dir/build.ninja" ] || return 0
	say "$who" "$(basename "$dir"): meson setup $*"
	if ! meson setup "$dir" "$top" "$@" >"$dir.log" 2>&1; then
		cat "$dir.log" >&2
		rm -f "$dir.log"
		return 1
	fi
	rm -f "$dir.log"
	own_build "$dir"
}

# build WHO DIR TARGET...: what was set up; quiet unless it fails.
build() {
	who=$1
	dir=$2
	shift 2
	if ninja -C "$dir" -n "$@" 2>/dev/null | grep -q 'no work to do'; then
		say "$who" "$(basename "$dir"): up to date"
		return 0
	fi
	say "$who" "$(basename "$dir"): building"
	if ! ninja -C "$dir" "$@" >"$dir/ninja.out" 2>&1; then
		grep -v '^\[[0-9]*/[0-9]*\]' "$dir/ninja.out" >&2
		say "$who" "$(basename "$dir"): the build failed; see above" >&2
		return 1
	fi
	own_build "$dir"
}

# own_build DIR: under sudo, what was built belongs to whom the tree belongs
# to, so that ninja works without sudo afterwards.
own_build() {
	[ "$(id -u)" -eq 0 ] || return 0
	owner=$(stat -c %u:%g "$top")
	[ "$owner" = 0:0 ] || chown -R "$owner" "$1"
}
