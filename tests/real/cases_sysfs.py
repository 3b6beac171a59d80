# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Programs that look for devices in /sys and /dev, behind the launcher."""

import glob
import os
import re
import shutil
import signal

import cases_hub
import cases_rights
from cases_service_people import clients
from harness import Case, Failure, Skip
from process import wait_until
from service import Service

CLASS = "/sys/class/infiniband"
PORT = CLASS + "/roost0/ports/1"
GID = r"[0-9a-f]{4}(:[0-9a-f]{4}){7}"
END_S = 5


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skip(f"{program} is not installed")


def pictures():
    """Of all programs that run now."""
    return [name for place in ("/dev/shm", "/tmp")
            for name in glob.glob(f"{place}/roost-sysfs-{os.geteuid()}-*")]


def ok(seen, *patterns):
    if seen.status != 0:
        raise Failure(f"{seen.title}: exit status {seen.status}")
    for pattern in patterns:
        if not re.search(pattern, seen.out(), re.MULTILINE):
            raise Failure(f"{seen.title}: nothing like {pattern}")


def over(room, kind):
    """Options of the launcher."""
    if kind == "hub":
        room.defer(cases_hub.gone)
        return ["--hub"]
    if kind == "mount":
        return ["--sysfs=mount", "--link", room.link]
    return ["--link", room.link]


def behind(room, kind, title, *words):
    return room.run(title, room.roost("run", *over(room, kind), "--", *words))


# ---- programs that look there ------------------------------------------------

def ucx_info(room, kind):
    need("ucx_info")
    seen = behind(room, kind, "ucx", "ucx_info", "-d")
    ok(seen, r"Transport: rc_verbs\n#\s+Device: roost0:1",
       r"Transport: ud_verbs\n#\s+Device: roost0:1")
    if "roost0" in seen.err():
        raise Failure("ucx: a warning about the device")


def ibstat(room, kind):
    need("ibstat", "ibstatus")
    ok(behind(room, kind, "ibstat", "ibstat"), r"^CA 'roost0'",
       r"State: Active", r"Physical state: LinkUp", r"Link layer: Ethernet",
       r"Node GUID: 0x[0-9a-f]{16}")
    ok(behind(room, kind, "ibstatus", "ibstatus"), "roost0", "4: ACTIVE",
       "5: LinkUp", f"default gid:\t {GID}")


def nccl(room, kind):
    program = os.path.join(room.build, "tests", "real", "sysfs_nccl")
    ok(behind(room, kind, "nccl", program),
       r"^roost0: at /sys/devices/infiniband_roost/roost0 of platform "
       r"[2-9] GIDs of RoCE v2$")


def nccl_data(room, kind):
    """As its net plugin moves messages between two processes."""
    ok(behind(room, kind, "nccl_data",
              os.path.join(room.build, "tests", "real", "nccl_data")),
       "^1000 messages each way$")


# A device that is open in another process of the same shell.
LIVE = f"""
ibv_rc_pingpong -g 0 -p $1 -n 3000 >/dev/null &
for i in $(seq 100); do
    grep -q '^fe80' {PORT}/gids/0 && break
    sleep 0.1
done
cat {PORT}/gids/0 {PORT}/gid_attrs/types/0 {PORT}/pkeys/0 {PORT}/state
sleep 0.5
ibv_rc_pingpong -g 0 -p $1 -n 3000 localhost >/dev/null || exit 1
wait
sleep 1.5
cat {PORT}/counters/port_xmit_packets
"""


def live(room, kind):
    """GIDs of the port, and counters that count."""
    seen = behind(room, kind, "live", "bash", "-c", LIVE, "bash",
                  str(room.next_port()))
    ok(seen, r"^fe80(:[0-9a-f]{4}){7}\nRoCE v2\n0xffff\n4: ACTIVE\n")
    # Of both ends, each with a device of its own.
    if int(seen.out().split()[-1]) < 2 * 3000:
        raise Failure("live: the counters do not count")


# ---- programs that do not ----------------------------------------------------

PLAIN = [
    ("sh", ["sh", "-c", "echo well"]),
    ("bash", ["bash", "-lc", "echo $(echo well)"]),
    ("python", ["python3", "-c", "import subprocess as s; print(s.run(['echo',"
                "'well'], capture_output=True, text=True).stdout)"]),
    ("perl", ["perl", "-e", "print 'well'"]),
    ("env", ["env", "-u", "NOTHING", "echo", "well"]),
]


def plain(room):
    for title, words in PLAIN:
        if not shutil.which(words[0]):
            continue
        seen = behind(room, "link", title, *words)
        ok(seen, "well")
        if seen.err():
            raise Failure(f"{title}: something on stderr")


SANITIZED = r"""
#include <stdio.h>
int main(void)
{
	char line[64];
	FILE *file = fopen("/sys/class/infiniband/roost0/node_type", "r");

	if (!file || !fgets(line, sizeof(line), file))
		return 2;
	fclose(file);
	return puts(line) < 0;
}
"""


def sanitized(room, compiler, *words):
    """libasan wants to be first; tsan has wrappers of its own."""
    need(compiler)
    source, program = room.path("program.c"), room.path("program")
    with open(source, "w") as file:
        file.write(SANITIZED)
    for sanitizer in words:
        built = room.run("cc", [compiler, "-g", f"-fsanitize={sanitizer}",
                                source, "-o", program])
        if built.status != 0:
            raise Skip(f"{compiler} has no -fsanitize={sanitizer}")
        seen = behind(room, "link", sanitizer, program)
        ok(seen, "^1: CA$")
        if seen.err():
            raise Failure(f"{sanitizer}: something on stderr")


def calls(room, title, mode):
    """What ls(1) asks the kernel for, by path, but to load libraries."""
    log = room.path(title + ".strace")
    seen = room.run(title, room.roost(
        "run", "--sysfs", mode, "--link", room.link, "--", "strace", "-e",
        "trace=%file", "-o", log, "sh", "-c",
        "cd /; exec ls -l . /sys/class /proc/self/fd/0 >/dev/null"))
    ok(seen)
    with open(log) as file:
        pairs = re.findall(r'^(\w+)\([^"]*"([^"]+)"', file.read(), re.MULTILINE)
    return [(call, path) for call, path in pairs if ".so" not in path]


# Of a shell and of a child that it forks, from here on.
STEPS = """cd /
read line </etc/passwd
for path in /usr/* /sys/class/*; do test -d "$path"; test -x "$path"; done
(cd /usr; test -L /bin; read line </proc/self/stat; echo /etc/host*)
exec </dev/null
"""
# The size of the environment moves the heap, and the time of a child's end the
# waiting.
MOVING = {"brk", "wait4", "rt_sigreturn"}


def steps(room, title, mode):
    """Every system call of each process, in its order."""
    log = room.path(title + ".strace")
    ok(room.run(title, room.roost(
        "run", "--sysfs", mode, "--link", room.link, "--", "strace", "-f",
        "-o", log, "sh", "-c", STEPS)))
    with open(log) as file:
        begun = file.read().partition('chdir("/")')[2]
    found = {}
    for pid, call in re.findall(r"^(\d+) +(\w+)\(", begun, re.MULTILINE):
        if call not in MOVING:
            found.setdefault(pid, []).append(call)
    return list(found.values())


def untouched(room):
    """The same calls with the library and without."""
    need("strace")
    for what, look in (("calls with a path", calls), ("processes", steps)):
        with_it, without = (look(room, f"{look.__name__}-{mode}", mode)
                            for mode in ("preload", "none"))
        if not with_it or with_it != without:
            raise Failure(f"other {what}: {with_it}, not {without}")
        room.note(f"{len(with_it)} {what}, the same with and without")


def none(room):
    seen = room.run("none", room.roost(
        "run", "--sysfs=none", "--link", room.link, "--", "sh", "-c",
        f"env; test -e {CLASS}/roost0 && echo seen"))
    for word in ("LD_PRELOAD", "ROOST_PICTURE", "\nseen"):
        if word in seen.out():
            raise Failure(f"none: {word}")


# ---- in a mount namespace ----------------------------------------------------

# As root without the right to mount.
PLAIN_ROOT = ["setpriv", "--bounding-set=-sys_admin"]


def mount(room, words, title="mount", begin=()):
    return room.run(title, [*begin, *room.roost(
        "run", "--sysfs=mount", "--link", room.link, "--", *words)])


def static(room):
    """A program without the C library's functions, and io_uring."""
    program = os.path.join(room.build, "tests", "real", "sysfs_static")
    for title, begin in (("root", []), ("plain", PLAIN_ROOT)):
        if begin and os.geteuid() != 0:
            continue
        seen = mount(room, [program], title, begin)
        ok(seen, r"^(io_uring: 1: CA|no io_uring here.*)$", "^openat: 1: CA$",
           "^node: 1:3$")
        if not seen.err().startswith(f"roost: warning: {program} is static"):
            raise Failure(f"{title}: nothing says that it is static")


# What was there before is there, as it was.
WORLD = """
ls /sys/class /sys/devices /dev | grep -v infiniband
for at in /sys/class/* /sys/devices/* /dev/*; do
    case $at in *infiniband*|/dev/ptmx) ;;
    *) stat -c '%n %F %t:%T %u' $at; readlink $at ;; esac
done
cat /sys/class/net/lo/mtu; realpath /sys/class/net/lo; ls /dev/pts
echo much >/dev/full || echo full; id -u; id -g; pwd; ls . | wc -l
"""


def mount_world(room):
    """Beside the devices, nothing is different: also in a directory there."""
    need("script")
    words = ["bash", "-c", f"cd /sys/class; exec {{}} bash -c \"$1\"", "bash",
             WORLD]
    with_it, without = (
        room.run(mode, [words[0], words[1], words[2].format(" ".join(
            room.roost("run", "--sysfs", mode, "--link", room.link, "--"))),
            *words[3:]]) for mode in ("mount", "none"))
    ok(with_it, "^full$", "/sys/devices/virtual/net/lo")
    ok(without)
    # The class itself is one more.
    here, there = (seen.out().splitlines() for seen in (with_it, without))
    if here[:-1] != there[:-1] or int(here[-1]) != int(there[-1]) + 2:
        raise Failure(f"other: {set(here) ^ set(there)}")
    ok(mount(room, ["script", "-qec", "test -t 0 && tty", "/dev/null"], "pty"),
       "^/dev/.*pts/[0-9]")


def paths(room):
    """The preloaded library shows what the kernel does in that namespace."""
    words = ["/usr/bin/python3", os.path.join(
        os.path.dirname(os.path.abspath(__file__)), "sysfs_paths.py")]
    seen = [behind(room, kind, kind, *words) for kind in ("link", "mount")]
    ok(seen[0])
    shown, mounted = (one.out().splitlines() for one in seen)
    other = [pair for pair in zip(shown, mounted) if pair[0] != pair[1]]
    if other or len(shown) != len(mounted):
        raise Failure(f"{len(other)} other lines, as {other[:1]}")
    room.note(f"{len(shown)} paths, the same with both")


def mount_user(room):
    """An ordinary user: no capability, and the files are the user's."""
    if os.geteuid() != 0:
        raise Skip("only root has other users' rights")
    file = f"/tmp/{room.link}-file"
    room.defer(lambda: os.path.exists(file) and os.remove(file))
    ok(room.run("user", cases_rights.as_nobody(room, (), room.roost(
        "run", "--sysfs=mount", "--link", room.link, "--", "bash", "-c",
        f"cat {PORT}/state; ls /sys/class; touch {file}; stat -c %u {file};"
        "grep CapEff /proc/self/status; ibv_devinfo | grep state:"))),
       "^4: ACTIVE$", "^infiniband$", "^net$", f"^{cases_rights.NOBODY}$",
       "^CapEff:\t0*$", "PORT_ACTIVE")
    if os.stat(file).st_uid != int(cases_rights.NOBODY):
        raise Failure("the file is somebody else's")


def mount_refused(room):
    """No user namespace, no program; one line says why."""
    if os.geteuid() != 0:
        raise Skip("only root can forbid user namespaces to itself")
    for title, begin in (
            ("none-left", ["unshare", "--user", "--map-root-user", "sh", "-c",
                           "echo 0 >/proc/sys/user/max_user_namespaces; "
                           'exec "$@"', "sh", *PLAIN_ROOT]),
            ("no-sysfs", ["unshare", "--mount", "sh", "-c",
                          'mount -t tmpfs none /sys; exec "$@"', "sh"])):
        seen = mount(room, ["echo", "started"], title, begin)
        if seen.status == 0 or "started" in seen.out():
            raise Failure(f"{title}: it starts")
        lines = seen.err().splitlines()
        if len(lines) != 1 or not re.match(
                r"roost: --sysfs=mount: .*; .* or use --sysfs=preload$",
                lines[0]):
            raise Failure(f"{title}: {seen.err()}")


def mount_leaves_nothing(room):
    """The mounts are nobody else's, and end with a program that is killed."""
    with open("/proc/self/mountinfo") as file:
        mounts = file.read()
    before = pictures()
    program = room.start("program", room.roost(
        "run", "--sysfs=mount", "--link", room.link, "--", "bash", "-c",
        f"ls {CLASS}; exec sleep 100"))
    if not wait_until(lambda: "roost0" in program.out(), 10):
        raise Failure("program: does not see it")
    with open("/proc/self/mountinfo") as file:
        if file.read() != mounts or os.path.exists(CLASS + "/roost0"):
            raise Failure("others see it")
    os.kill(program.pid, signal.SIGKILL)
    program.wait(5)
    if not wait_until(lambda: not set(pictures()) - set(before), END_S):
        raise Failure("pictures stay")


# ---- those that a daemon keeps ----------------------------------------------

def keepers():
    """Processes of this user's that keep a picture."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm") as file:
                if file.read() == "roost-sysfs\n":
                    found.add(int(pid))
        except OSError:
            continue
    return found


def at_hub(room, number):
    """So many programs that sleep at the hub, and what they have of it."""
    programs = [room.start(f"program{i}", room.roost(
        "run", "--hub", "--", "sh", "-c", f"cat {PORT}/gids/1; exec sleep 100"))
        for i in range(number)]
    for program in programs:
        if not wait_until(lambda: "ffff:c612:0001" in program.out(), 10):
            raise Failure(f"{program.title}: does not see the address")
    return programs


def hub_keeps(room):
    """One picture and one keeper for all, known before a device is open."""
    cases_hub.gone()
    room.defer(cases_hub.gone)
    before, kept = pictures(), keepers()
    programs = at_hub(room, 5)
    if len(set(pictures()) - set(before)) != 1 or len(keepers() - kept) != 1:
        raise Failure("each has its own")
    for program in programs:
        program.kill()
    if not wait_until(lambda: not set(pictures()) - set(before) and
                      not keepers() - kept, END_S):
        raise Failure("something stays")


def hub_killed(room):
    """Nothing is left of a hub that is killed, nor if its keeper was before.
    """
    cases_hub.gone()
    before = pictures()
    for kill_keeper in (False, True):
        kept = keepers()
        program = at_hub(room, 1)[0]
        mine = set(pictures()) - set(before)
        hub = hub_pid()
        if kill_keeper:
            os.kill((keepers() - kept).pop(), signal.SIGKILL)
        os.kill(hub, signal.SIGKILL)
        program.kill()
        if kill_keeper:
            # The next launcher does not take what is being made.
            room.run("wait", ["sleep", "3"])
            behind(room, "link", "next", "true")
        if not wait_until(lambda: not mine & set(pictures()), END_S):
            raise Failure("the picture stays")


def hub_pid():
    """This user's, in this network namespace."""
    ours = os.readlink("/proc/self/ns/net")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as file:
                words = file.read()
            if (words == "roostd\0--hub\0" and
                    os.stat(f"/proc/{pid}").st_uid == os.geteuid() and
                    os.readlink(f"/proc/{pid}/ns/net") == ours):
                return int(pid)
        except OSError:
            continue
    raise Failure("there is no hub")


def service_keeps(room):
    """Beside the socket, for all clients, and for those of the next daemon."""
    service = Service(room)
    kept = keepers()
    tree = service.path + ".sysfs"
    port = tree + PORT
    sleeper = room.start(**service.client("sleeper", [
        "sh", "-c", f"cat {PORT}/gids/1; "
        "exec stdbuf -oL ibv_rc_pingpong -g 1 -p 1"]))
    if not wait_until(lambda: "ffff:c612:0001" in sleeper.out(), 10):
        raise Failure("sleeper: does not see the port")
    if not wait_until(lambda: "local address" in sleeper.out(), 10):
        raise Failure("sleeper: does not open the device")
    if keepers() - kept:
        raise Failure("a client has its own")
    service.pair(["ibv_rc_pingpong", "-g", "1", "-n", "500", "-p", "PORT"])
    counter = port + "/counters/port_xmit_packets"
    if not wait_until(lambda: int(read(counter)) >= 1000, 5):
        raise Failure(f"the counters do not count: {read(counter)}")
    service.process.kill()
    if not os.path.exists(port + "/state"):
        raise Failure("it is gone with a killed daemon")
    service.process = service.start("next")
    if read(port + "/state") != "4: ACTIVE\n":
        raise Failure("the next daemon does not show it")
    for number in (1, 0):
        if not wait_until(lambda: number_of(room, service) == number, 5):
            raise Failure(f"not {number} clients")
        sleeper.kill()
    service.end()
    if os.path.exists(tree):
        raise Failure("it stays")


def number_of(room, service):
    """Clients; None: the daemon is not ready."""
    try:
        return len(clients(room, service))
    except Failure:
        return None


def read(path):
    with open(path) as file:
        return file.read()


# ---- whose it is, and its end ------------------------------------------------

def user(room):
    """Another user's program sees what root has made for it."""
    if os.geteuid() != 0:
        raise Skip("only root has other users' rights")
    other = ["setpriv", "--reuid", cases_rights.NOBODY, "--clear-groups"]
    if room.run("read", other + ["ls", room.build]).status != 0:
        raise Skip("other users cannot read the build")
    ok(room.run("user", room.roost("run", "--link", room.link, "--", *other,
                                   "cat", f"{PORT}/state")), "^4: ACTIVE$")


def killed(room):
    """Nothing is left, and a child that goes on keeps it."""
    before = pictures()
    program = room.start("program", room.roost(
        "run", "--link", room.link, "--", "bash", "-c",
        "setsid sleep 100 & echo $!; exec sleep 100"))
    if not wait_until(lambda: program.out().strip(), 10):
        raise Failure("program: does not start")
    mine = set(pictures()) - set(before)
    if len(mine) != 1:
        raise Failure(f"{len(mine)} pictures")
    child = int(program.out())
    os.kill(program.pid, signal.SIGKILL)
    program.wait(5)
    if wait_until(lambda: not mine & set(pictures()), 1):
        raise Failure("it is gone before the child")
    os.kill(child, signal.SIGKILL)
    if not wait_until(lambda: not mine & set(pictures()), END_S):
        raise Failure("it stays")


def few_descriptors(room):
    """As many as a program needs for anything at all."""
    before = pictures()
    for limit in range(4, 12):
        seen = room.run(f"limit-{limit}", [
            "sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *room.roost(
                "run", "--link", room.link, "--", "cat", f"{PORT}/state")])
        ok(seen, "^4: ACTIVE$")
    if not wait_until(lambda: not set(pictures()) - set(before), END_S):
        raise Failure("pictures stay")


def keeper_of(picture):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm") as file:
                if file.read() != "roost-sysfs\n":
                    continue
            held = [os.readlink(fd) for fd in glob.glob(f"/proc/{pid}/fd/*")]
            if picture + "/.keeper" in held:
                return int(pid)
        except OSError:
            continue
    return None


def keeper_killed(room):
    """The next launcher removes what a killed keeper leaves, and not before
    its program has ended.
    """
    before = pictures()
    program = room.start("program", room.roost(
        "run", "--link", room.link, "--", "sleep", "100"))
    if not wait_until(lambda: set(pictures()) - set(before), 10):
        raise Failure("program: no picture")
    mine = (set(pictures()) - set(before)).pop()
    if not wait_until(lambda: keeper_of(mine), 5):
        raise Failure("no keeper")
    os.kill(keeper_of(mine), signal.SIGKILL)
    room.run("wait", ["sleep", "3"])
    behind(room, "link", "next", "true")
    if mine not in pictures():
        raise Failure("it is gone before its program")
    program.kill()
    behind(room, "link", "last", "true")
    if mine in pictures():
        raise Failure("it stays")


def nested(room):
    """A launcher behind a launcher: the inner devices."""
    ok(room.run("nested", room.roost(
        "run", "--link", room.link, "--", *room.roost(
            "run", "--link", room.link + "-a", "--link", room.link + "-b",
            "--", "sh", "-c", f"ls {CLASS}; echo $LD_PRELOAD"))),
       r"^roost0\nroost1\n[^:]*$")


CASES = [Case(f"sysfs-{run.__name__.replace('_', '-')}-{kind}", run, kind)
         for run in (ucx_info, ibstat, nccl, nccl_data, live)
         for kind in ("link", "hub")]
CASES += [Case("sysfs-nccl-mount", nccl, "mount"),
          Case("sysfs-live-mount", live, "mount")]
CASES += [
    Case("sysfs-plain", plain),
    Case("sysfs-sanitized-gcc", sanitized, "gcc", "address", "thread",
         "undefined"),
    Case("sysfs-sanitized-clang", sanitized, "clang", "address", "memory"),
    Case("sysfs-untouched", untouched),
    Case("sysfs-none", none),
    Case("sysfs-hub-keeps", hub_keeps),
    Case("sysfs-hub-killed", hub_killed),
    Case("sysfs-service-keeps", service_keeps),
    Case("sysfs-static", static),
    Case("sysfs-mount-world", mount_world),
    Case("sysfs-paths", paths),
    Case("sysfs-mount-user", mount_user),
    Case("sysfs-mount-refused", mount_refused),
    Case("sysfs-mount-leaves-nothing", mount_leaves_nothing),
    Case("sysfs-user", user),
    Case("sysfs-killed", killed),
    Case("sysfs-few-descriptors", few_descriptors),
    Case("sysfs-keeper-killed", keeper_killed),
    Case("sysfs-nested", nested),
]
