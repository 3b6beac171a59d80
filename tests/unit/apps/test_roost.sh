#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
#
# The built launcher from outside: what it prints where, what it exits with,
# and what the program that it becomes finds in its environment.
# Usage: test_roost.sh ROOST PRELOADED-LIBRARY ROOSTD
# shellcheck disable=SC2016 # what is quoted is for the inner shell
set -u

# The system's programs only: a directory in PATH that may not be searched would
# turn "not found" into "not allowed".
PATH=/usr/bin:/bin

dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
failed=0
checks=0

# A copy in a layout of its own, so that no other target need be built.
mkdir -p "$dir/apps/roostd" "$dir/lib/verbs" "$dir/lib/preload" \
	"$dir/cm/rdmacm"
cp "$1" "$dir/apps/roost"
cp "$2" "$dir/lib/preload/libroost-sysfs.so"
ln -s "$(readlink -f "$3")" "$dir/apps/roostd/roostd"
: >"$dir/lib/verbs/libibverbs.so.1"
: >"$dir/cm/rdmacm/librdmacm.so.1"
roost=$(readlink -f "$dir")/apps/roost
verbs=$(readlink -f "$dir")/lib/verbs
shims=$verbs:$(readlink -f "$dir")/cm/rdmacm

# try NAME=VALUE... -- ARG...: run roost, keep $rc, $dir/out and $dir/err.
try() {
	vars=
	while [ "$1" != -- ]; do
		vars="$vars $1"
		shift
	done
	shift
	# shellcheck disable=SC2086
	env -i PATH="$PATH" $vars "$roost" "$@" >"$dir/out" 2>"$dir/err"
	rc=$?
}

# check WHAT CONDITION...
check() {
	what=$1
	shift
	checks=$((checks + 1))
	if ! "$@"; then
		failed=$((failed + 1))
		echo "FAILED: $what (exit $rc)"
		sed 's/^/  out: /' "$dir/out"
		sed 's/^/  err: /' "$dir/err"
	fi
}

exits() { [ "$rc" -eq "$1" ] && [ ! -s "$dir/$2" ] && [ -s "$dir/$3" ]; }
says() { [ "$(cat "$dir/err")" = "$1" ]; }
prints() { [ "$(cat "$dir/out")" = "$1" ]; }
has() { grep -qxF "$1" "$dir/out"; }
has_not() { ! grep -q "$1" "$dir/out"; }
# One line on stderr, nothing on stdout, this status.
fails() { [ "$rc" -eq "$1" ] && [ ! -s "$dir/out" ] && says "$2"; }

# ---- help and version

try --
check "roost alone is a usage error" exits 2 out err
for ask in --help -h help; do
	try -- $ask
	check "roost $ask" exits 0 err out
	check "roost $ask names run" grep -q '^  run ' "$dir/out"
done
for ask in "run --help" "run -h" "help run"; do
	# shellcheck disable=SC2086
	try -- $ask
	check "roost $ask" exits 0 err out
	check "roost $ask is run's" grep -q -e --print-env "$dir/out"
done
try -- --version
check "version" grep -qxE 'roost [0-9]+\.[0-9]+\.[0-9]+' "$dir/out"
check "version goes to stdout" exits 0 err out
if [ -c /dev/full ]; then
	env -i "$roost" --help >/dev/full 2>"$dir/err"
	rc=$?
	: >"$dir/out"
	check "help that cannot be written" [ "$rc" -eq 125 ]
fi

for ask in "ctl --help" "ctl -h" "ctl show -h" "help ctl" "ctl help" \
	"ctl help show"; do
	# shellcheck disable=SC2086
	try -- $ask
	check "roost $ask" exits 0 err out
	check "roost $ask is ctl's" grep -q -e --pid "$dir/out"
done

for ask in "ports --help" "ports -h" "help ports"; do
	# shellcheck disable=SC2086
	try -- $ask
	check "roost $ask" exits 0 err out
	check "roost $ask is ports'" grep -q -e --json "$dir/out"
done
try -- ports
check "ports" exits 0 err out
check "ports ends with the link" has \
	"Two processes of one user need none: --link NAME in each."
try -- ports --json
check "ports --json" exits 0 err out
check "ports --json is an array" [ "$(head -c 1 "$dir/out")" = "[" ]

# ---- usage errors

try -- ports eth0
check "ports: argument" fails 2 \
	"roost: ports eth0: unknown argument; see roost help ports"
try -- ports --jsno
check "ports: option" fails 2 \
	"roost: ports --jsno: unknown option; the nearest known one is --json"

try -- rnu
check "unknown command" fails 2 \
	"roost: rnu: unknown command; the nearest known one is run"
try -- --hepl
check "unknown option of roost" fails 2 \
	"roost: --hepl: unknown option; the nearest known one is --help"
try -- run --prot x -- env
check "unknown option of run" fails 2 \
	"roost: --prot: unknown option; the nearest known one is --port"
try -- run
check "no command" fails 2 \
	"roost: run: no command; write roost run [OPTION...] -- CMD [ARG...]"
try -- top --interval
check "top: no number" fails 2 \
	"roost: top: --interval: write a number behind it, from 0.1 to 3600"
try -- top --pid 1x
check "top: no pid" fails 2 \
	"roost: top: --pid: write a number behind it, from 1 to 2147483647"
try -- top --onec
check "top: unknown option" fails 2 \
	"roost: top: --onec: unknown option; the nearest known one is \
--once"
try -- top
check "top: no terminal" fails 2 \
	"roost: top: stdout is no terminal; use --once or --json"
try -- explain
check "explain: no object" fails 2 \
	"roost: explain: no object; name a QP number, a CM id, the port of a \
listener, or a device such as \
roost0"
try -- explain 1 2
check "explain: two objects" fails 2 \
	"roost: explain 2: one object at a time; leave one out"
try -- explain --pid
check "explain: no pid" fails 2 \
	"roost: explain --pid: write the number of a process behind it; see \
roost ctl list"
try -- explain --jsno 1
check "explain: unknown option" fails 2 \
	"roost: explain: --jsno: unknown option; the nearest known one is \
--json"
for ask in "top --help" "top -h" "help top"; do
	# shellcheck disable=SC2086
	try -- $ask
	check "roost $ask" exits 0 err out
	check "roost $ask is top's" grep -q -e --interval "$dir/out"
done

try -- ctl
check "ctl: no command" fails 2 \
	"roost: ctl: no command; write roost ctl list, show, or see roost help \
ctl"
try -- ctl --pdi 5 show
check "ctl: unknown option" fails 2 \
	"roost: --pdi: unknown option; the nearest known one is --pid"
try -- ctl --pid
check "ctl: no value" fails 2 \
	"roost: --pid: no value behind it; write --pid PID"
try -- ctl --pid 0 show
check "ctl: no pid" fails 2 \
	"roost: --pid 0: no process has such a number; see roost ctl list"
try -- ctl show "a b"
check "ctl: a word with a blank" fails 2 \
	"roost: ctl: a word is empty or has a blank in it; see roost help ctl"
try -- ctl frobnicate
check "ctl: unknown command" fails 2 \
	"roost: ctl frobnicate: unknown command; see roost help ctl"
try -- ctl lits
check "ctl: nearest command" fails 2 \
	"roost: ctl lits: unknown command; the nearest known one is list"
for ask in "list all:list" "list x y:list" "show port 1:show [TOPIC]" \
	"lid:lid VALUE" "lid 1 2:lid VALUE" "link:link up|down" \
	"link up now:link up|down" "pkey 1:pkey INDEX VALUE" \
	"address add:address add|del ADDR/LEN" "re-register 1:re-register" \
	"remove 1:remove" "sm-lid:sm-lid VALUE" "help a b:help"; do
	word=${ask%%:*}
	# shellcheck disable=SC2086
	try -- ctl $word
	check "ctl $word" fails 2 "roost: ctl ${word%% *}: wrong number of \
words; write roost ctl ${ask#*:}"
done
for ask in "--dev roost5" "--port 9"; do
	# shellcheck disable=SC2086
	try -- ctl $ask list
	check "ctl $ask list" fails 2 "roost: ctl list: it has all devices and \
ports; leave --dev and --port out"
done
try -- ctl --pid 1 lid 5
check "ctl: no socket" fails 1 \
	"roost: process 1: no control socket: it does not run, has no Roost \
device open, or is in another network namespace; see roost ctl list"
try -- run --link a --
check "no command behind --" fails 2 \
	"roost: run: no command; write roost run [OPTION...] -- CMD [ARG...]"
try ROOST_PROGRES=adaptive -- run -- env
check "unknown variable: one line" says "roost: ROOST_PROGRES: unknown \
variable, without effect; the nearest known one is ROOST_PROGRESS"
check "unknown variable: runs" [ "$rc" -eq 0 ]
check "unknown variable: told of" has ROOST_TOLD=ROOST_PROGRES
check "unknown variable: stays" has ROOST_PROGRES=adaptive
try ROOST_PROGRES=adaptive -- run -- "$roost" run -- env
check "unknown variable: told once" [ "$(wc -l <"$dir/err")" -eq 1 ]
try ROOST_LINK=lab -- run -- env
check "a port's key without port" says "roost: ROOST_LINK: unknown variable, \
without effect; the nearest known one is ROOST_PORT0_LINK"
try -- run --volume 7 -- env
check "no misleading guess: option" fails 2 "roost: --volume: unknown \
option; see roost run --help"
try -- colour
check "no misleading guess: command" fails 2 "roost: colour: unknown command; \
see roost --help"
printf '[port0]\nlnik = a\n' >"$dir/wrong.conf"
try -- run -c "$dir/wrong.conf" -- env
check "unknown key" fails 2 "roost: $dir/wrong.conf:2: unknown key 'lnik' in \
[port0]; the nearest known one is 'link'"

# ---- the environment of the program

try -- run -- env
check "default: runs" exits 0 err out
check "default: the shims" has "LD_LIBRARY_PATH=$shims"
check "default: the hub" has ROOST_PORT0_SERVICE=hub
check "default: a picture" [ "$(grep -c ROOST "$dir/out")" -eq 2 ]
check "default: what leads there" \
	has "LD_PRELOAD=${shims%%/lib/verbs*}/lib/preload/libroost-sysfs.so"
try LD_PRELOAD= ROOST_SYSFS=none -- run -- env
check "no picture: a variable" [ "$(grep -c PICTURE "$dir/out")" -eq 0 ]
check "no picture: nothing is preloaded" has LD_PRELOAD=
try ROOST_SYSFS=all -- run -- env
check "a wrong variable" fails 2 \
	"roost: ROOST_SYSFS: 'all': unknown; use preload, mount or none"
try ROOST_SYSFS=none -- run --sysfs preload -- env
check "an option wins" [ "$(grep -c PICTURE "$dir/out")" -eq 1 ]
try ASAN_OPTIONS=a=b -- run -- env
check "libasan need not be first" \
	has ASAN_OPTIONS=verify_asan_link_order=0:a=b
try -- run --sysfs=none -- env
check "no picture: an option" [ "$(grep -c ROOST "$dir/out")" -eq 1 ]

try LD_LIBRARY_PATH=/a:/b -- run -- env
check "LD_LIBRARY_PATH is kept" has "LD_LIBRARY_PATH=$shims:/a:/b"
try -- run "$roost" run env
check "shims stand there once" has "LD_LIBRARY_PATH=$shims"

cat >"$dir/roost.conf" <<EOF
[roost]
progress = dedicated
verbose = 1
[port0]
devargs = net_tap0,iface=t0
ip = 10.0.0.1/24
ip = fd00::1/64
gw = 10.0.0.254
mtu = 1500
[port1]
link = from-file
EOF
try ROOST_CONFIG="$dir/roost.conf" -- run env
check "file: progress" has ROOST_PROGRESS=dedicated
check "file: verbose" has ROOST_VERBOSE=1
check "file: devargs" has ROOST_PORT0_DEVARGS=net_tap0,iface=t0
check "file: ip" has ROOST_PORT0_IP=10.0.0.1/24,fd00::1/64
check "file: gw" has ROOST_PORT0_GW=10.0.0.254
check "file: mtu" has ROOST_PORT0_MTU=1500
check "file: second port" has ROOST_PORT1_LINK=from-file
check "file: is not read again" has_not '^ROOST_CONFIG='

try ROOST_PROGRESS=adaptive ROOST_PORT0_MTU=9000 -- \
	run -c "$dir/roost.conf" -- env
check "environment wins" has ROOST_PROGRESS=adaptive
check "environment wins in a port" has ROOST_PORT0_MTU=9000
check "environment leaves the rest" has ROOST_PORT1_LINK=from-file

try ROOST_PROGRESS=adaptive ROOST_PORT0_MTU=9000 -- \
	run -c "$dir/roost.conf" --link mine --progress dedicated -- env
check "options win" has ROOST_PROGRESS=dedicated
check "options bring the ports" has ROOST_PORT0_LINK=mine
check "other ports are gone" has_not 'PORT1\|DEVARGS\|_IP\|_MTU'

try -- run --link a sh -c 'echo "$1 $2"' x "two words" --link
check "arguments arrive as they are" prints "two words --link"
check "arguments arrive in silence" exits 0 err out

# ---- --print-env

try ROOST_CONFIG="$dir/roost.conf" -- run --print-env -- false
check "print-env runs nothing" exits 0 err out
check "print-env takes back the file" has ROOST_CONFIG=
try ROOST_PORT5_MTU= LD_LIBRARY_PATH=/a -- run --print-env --link a
check "print-env is exact" prints "LD_LIBRARY_PATH=$shims:/a
ROOST_PORT0_LINK=a"
try -- run --print-env --port "net_x0,a=[0-3],b='\$HOME'"
check "print-env quotes" \
	has "ROOST_PORT0_DEVARGS='net_x0,a=[0-3],b='\\''\$HOME'\\'''"

# What it prints makes the same environment as run: by eval and by env.
env -i PATH="$PATH" "$roost" run --port "net_x0,b='\$HOME'" --ip 10.0.0.1/8 \
	--sysfs=none -- env | grep ROOST_ | sort >"$dir/expected"
env -i PATH="$PATH" sh -c 'set -a
	eval "$("$1" run --port "net_x0,b='\''\$HOME'\''" --ip 10.0.0.1/8 \
		--print-env)"
	env' x "$roost" | grep ROOST_ | sort >"$dir/out"
check "print-env for eval" cmp -s "$dir/expected" "$dir/out"
# shellcheck disable=SC2046
env -i PATH="$PATH" ROOST_CONFIG="$dir/roost.conf" env $(
	env -i ROOST_CONFIG="$dir/roost.conf" "$roost" run --print-env
) "$roost" run --print-env >"$dir/out" 2>"$dir/err"
rc=$?
check "print-env for env" has ROOST_PORT1_LINK=from-file
check "print-env for env is enough" has_not CONFIG=/

# ---- exit codes

try -- run -- sh -c 'exit 7'
check "the program's own status" [ "$rc" -eq 7 ]
try -- run -- roost-no-such-program
check "not found" fails 127 "roost: cannot run 'roost-no-such-program': No \
such file or directory; check the name and PATH"
: >"$dir/plain"
try -- run -- "$dir/plain"
check "not executable" fails 126 "roost: cannot run '$dir/plain': Permission \
denied; name an executable file"
rm "$dir/lib/verbs/libibverbs.so.1"
try -- run -- env
check "no shims" fails 125 "roost: $verbs/libibverbs.so.1: cannot be read: No \
such file or directory; build or install Roost again"
: >"$dir/lib/verbs/libibverbs.so.1"

# ---- programs that the linker protects

if [ "$(id -u)" -eq 0 ]; then
	cp /bin/true "$dir/raised"
	chown 65534 "$dir/raised"
	chmod 4755 "$dir/raised"
	try -- run -- "$dir/raised"
	check "setuid is warned of" says "roost: warning: $dir/raised is \
setuid, setgid or has file capabilities: the system's libraries will be used, \
not Roost's; run it as root or run a plain copy"
	check "setuid is run" [ "$rc" -eq 0 ]
fi

# ---- programs that Roost's libraries do not get into

# build NAME GCC-OPTION...: a program at $dir/NAME.
build() {
	name=$1
	shift
	echo 'int main(void) { return 7; }' |
		cc -o "$dir/$name" -x c - "$@" 2>"$dir/cc"
}

# silent WHAT ARG...: it runs and nothing is said; warned: one line is.
silent() {
	what=$1
	shift
	try -- run -- "$@"
	check "$what: runs" [ "$rc" -eq 7 ]
	check "$what: in silence" [ ! -s "$dir/err" ]
}

warned() {
	what=$1 line=$2
	shift 2
	try -- run -- "$@"
	check "$what: runs" [ "$rc" -eq 7 ]
	check "$what: one line" says "roost: warning: $line"
}

script() {
	printf '%s\n' "$2" >"$dir/$1"
	chmod +x "$dir/$1"
}

static="statically linked: it loads no libraries, and runs without Roost; \
link it dynamically (what it starts can use Roost)"
drops="drops LD_LIBRARY_PATH, by which Roost's libraries are found:"
mkdir "$dir/foreign"
: >"$dir/foreign/libibverbs.so.1"
if build plain; then
	silent "dynamic" "$dir/plain"
	silent "by env" env A=b "$dir/plain"
	silent "the linker itself" /lib64/ld-linux-x86-64.so.2 "$dir/plain"
	script by-shell "#! /bin/sh
exit 7"
	silent "script" "$dir/by-shell"
	script by-nobody "exit 7"
	silent "script of no interpreter" "$dir/by-nobody"
	warned "env -i" "/usr/bin/env $drops $dir/plain runs without Roost; \
put roost run behind env" env -i "$dir/plain"
	warned "env -u" "/usr/bin/env $drops $dir/plain runs without Roost; \
put roost run behind env" env -u LD_LIBRARY_PATH "$dir/plain"
	build runpath -Wl,--enable-new-dtags "-Wl,-rpath,$dir/foreign"
	silent "RUNPATH" "$dir/runpath"
	build rpath -Wl,--disable-new-dtags '-Wl,-rpath,/x:$ORIGIN/foreign'
	warned "RPATH" "$dir/rpath has a DT_RPATH that finds \
$(readlink -f "$dir")/foreign/libibverbs.so.1 before Roost's; take it out \
(\"chrpath -d\") or make it a RUNPATH (\"chrpath -c\")" "$dir/rpath"
	build own-rpath -Wl,--disable-new-dtags "-Wl,-rpath,$verbs"
	silent "RPATH to Roost's" "$dir/own-rpath"
	script names "#!/bin/sh
: $dir/foreign/libibverbs.so.1
exit 7"
	warned "full path" "$dir/names names $dir/foreign/libibverbs.so.1 by \
its full path: what it opens so is not Roost's; let it open \
\"libibverbs.so.1\"" "$dir/names"
	head -c 100 "$dir/plain" >"$dir/cut"
	chmod +x "$dir/cut"
	try -- run -- "$dir/cut"
	check "cut off: no shell reads it" fails 126 "roost: cannot run \
'$dir/cut': Exec format error; name an executable file"
	# e_machine: s390.
	cp "$dir/plain" "$dir/foreign-machine"
	printf '\026' | dd of="$dir/foreign-machine" bs=1 seek=18 \
		conv=notrunc 2>/dev/null
	try -- run -- "$dir/foreign-machine"
	if [ -z "$(ls /proc/sys/fs/binfmt_misc 2>/dev/null)" ]; then
		check "another machine" fails 126 "roost: cannot run \
'$dir/foreign-machine': it is for another architecture (s390, 64 bit); use one \
that was built for this machine"
	fi
	build musl -Wl,--dynamic-linker=/nowhere/ld-musl-x86_64.so.1
	try -- run -- "$dir/musl"
	check "another C library" fails 126 "roost: cannot run '$dir/musl': \
its dynamic linker /nowhere/ld-musl-x86_64.so.1 is not here; install the C \
library that it was built for"
fi
script no-interpreter "#!/nowhere/python"
try -- run -- "$dir/no-interpreter"
check "no interpreter" fails 126 "roost: cannot run '$dir/no-interpreter': \
its interpreter /nowhere/python is not here; install it, or mend the first \
line of the script"
if build static -static; then
	warned "static" "$dir/static is $static" "$dir/static"
	warned "static by env" "$dir/static is $static" env A=b "$dir/static"
	script by-env "#!/usr/bin/env -S A=b $dir/static"
	warned "interpreter by env" "'$dir/by-env': its interpreter \
$dir/static is $static" "$dir/by-env"
	script by-script "#!$dir/by-env x"
	warned "script by script" "'$dir/by-script': its interpreter \
$dir/static is $static" "$dir/by-script"
fi
# The kernel has a limit, too.
script endless "#!$dir/endless"
try -- run -- "$dir/endless"
check "a script that is its own interpreter" [ "$rc" -eq 126 ]

echo "$checks checks, $failed failed"
[ "$failed" -eq 0 ]
