# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What programs see of a device, and whether they start at all: listing,
querying, linking, the installed tree."""

import glob
import os
import re
import subprocess
import time

from harness import Case, Failure, Skip

LIBDIR = "/usr/lib/x86_64-linux-gnu"

# Debian's own programs and libraries that bind to libibverbs at start.
LINKED = [
    ("ibv-devinfo", "/usr/bin/ibv_devinfo"),
    ("ib-send-bw", "/usr/bin/ib_send_bw"),
    ("rping", "/usr/bin/rping"),
    ("libmlx5", f"{LIBDIR}/libmlx5.so.1"),
    ("libefa", f"{LIBDIR}/libefa.so.1"),
    ("libuct-ib", f"{LIBDIR}/ucx/libuct_ib.so.0"),
]

# One line each of what ibv_devinfo -v must say.
DEVINFO = [
    r"hca_id:\s+roost0",
    r"\s+transport:\s+InfiniBand \(0\)",
    r"\s+node_guid:\s+[0-9a-f]{4}(:[0-9a-f]{4}){3}",
    r"\s+phys_port_cnt:\s+1",
    r"\s+state:\s+PORT_ACTIVE \(4\)",
    r"\s+max_mtu:\s+4096 \(5\)",
    r"\s+active_mtu:\s+4096 \(5\)",
    r"\s+link_layer:\s+Ethernet",
    r"\s+GID\[\s*0\]:\s+fe80:[0-9a-f:]+, RoCE v2",
    r"\s+GID\[\s*1\]:\s+::ffff:198\.18\.0\.1, RoCE v2",
]


def listing(room):
    """ibv_devices: the device, nothing else on stdout, nothing on stderr."""
    took_ms = []
    for i in range(5):
        start = time.monotonic()
        seen = room.run(f"devices{i}", room.roost(
            "run", "--link", room.link, "--", "ibv_devices"))
        took_ms.append((time.monotonic() - start) * 1000)
    expected = (r"    device          \t   node GUID\n"
                r"    ------          \t----------------\n"
                r"    roost0          \t[0-9a-f]{16}\n")
    if seen.status != 0 or not re.fullmatch(expected, seen.out()):
        raise Failure("ibv_devices does not list roost0 as it lists others")
    if seen.err():
        raise Failure("something on stderr")
    room.note(f"ibv_devices: {sorted(took_ms)[2]:.0f} ms (median of 5; "
              f"the aim is 50 ms)")


def devinfo(room):
    seen = room.run("devinfo", room.roost("run", "--link", room.link, "--",
                                          "ibv_devinfo", "-v"))
    if seen.status != 0:
        raise Failure(f"exit status {seen.status}")
    lines = seen.out().splitlines()
    for pattern in DEVINFO:
        if not any(re.fullmatch(pattern, line) for line in lines):
            raise Failure(f"no line like {pattern}")
    gids = [line for line in lines if re.match(r"\s+GID\[", line)]
    if not all("RoCE v2" in line for line in gids):
        raise Failure("a GID that is not RoCE v2")


def verbose_keeps_stdout(room):
    """What Roost has to tell goes to stderr, however much it is."""
    outs = []
    for words in ([], ["-v"]):
        seen = room.run("devinfo" + "".join(words), room.roost(
            "run", "--link", room.link, *words, "--", "ibv_devinfo"))
        # The GUID of a link is another one in each process.
        outs.append(re.sub(r"guid:.*", "", seen.out()))
    if outs[0] != outs[1] or "PORT_ACTIVE" not in outs[0]:
        raise Failure("stdout of ibv_devinfo differs with -v")


def two_devices(room):
    """Ports become roost0 and roost1, in their order."""
    seen = room.run("devices", room.roost(
        "run", "--link", room.link + "a", "--link", room.link + "b", "--",
        "ibv_devinfo", "-v"))
    ids = re.findall(r"hca_id:\s+(\S+)", seen.out())
    addresses = re.findall(r"::ffff:(198\.18\.\S+),", seen.out())
    if (seen.status != 0 or ids != ["roost0", "roost1"] or
            addresses != ["198.18.0.1", "198.18.1.1"]):
        raise Failure(f"devices {ids}, addresses {addresses}")


def two_ports(room):
    """A second port belongs to the device before it, with addresses of its
    own; the device behind them is roost1.
    """
    seen = room.run("ports", room.roost(
        "run", "--link", room.link + "a", "--link", room.link + "b",
        "--mtu", "1500", "--second", "--link", room.link + "c", "--",
        "ibv_devinfo", "-v"))
    out = seen.out()
    ids = re.findall(r"hca_id:\s+(\S+)", out)
    counts = re.findall(r"phys_port_cnt:\s+(\d+)", out)
    addresses = re.findall(r"::ffff:(198\.18\.\S+),", out)
    mtus = re.findall(r"active_mtu:\s+(\d+)", out)
    states = re.findall(r"state:\s+(PORT_\S+)", out)
    if (seen.status != 0 or ids != ["roost0", "roost1"] or
            counts != ["2", "1"] or mtus != ["4096", "1024", "4096"] or
            addresses != ["198.18.0.1", "198.18.1.1", "198.18.2.1"] or
            states != ["PORT_ACTIVE"] * 3):
        raise Failure(f"devices {ids}, ports {counts}, MTUs {mtus}, "
                      f"addresses {addresses}, states {states}")


def config_file(room):
    """The file is read; the environment and options win over it."""
    path = room.path("roost.conf")
    with open(path, "w") as file:
        file.write(f"[port0]\nlink = {room.link}\nip = 198.18.7.1/24\n")
    words = ["ibv_devinfo", "-v"]
    for title, options, env, address in (
            ("file", ["-c", path], {}, "198.18.7.1"),
            ("variable", [], {"ROOST_CONFIG": path}, "198.18.7.1"),
            ("environment", ["-c", path],
             {"ROOST_PORT0_IP": "198.18.8.1/24"}, "198.18.8.1"),
            ("option", ["-c", path, "--link", room.link,
                        "--ip", "198.18.9.1/24"],
             {"ROOST_PORT0_IP": "198.18.8.1/24"}, "198.18.9.1")):
        seen = room.run(title, room.roost("run", *options, "--", *words),
                        env=env)
        if f"::ffff:{address}," not in seen.out():
            raise Failure(f"{title}: no GID of {address}")


def shim_dir(room):
    return os.path.join(room.build, "lib", "verbs")


def undefined(target, env):
    """What ldd -r has to complain about."""
    seen = subprocess.run(["ldd", "-r", target], capture_output=True,
                          text=True, env=env, timeout=60)
    lines = (seen.stdout + seen.stderr).splitlines()
    return {line.strip() for line in lines
            if "undefined symbol" in line or "not found" in line}


def links(room, target):
    """Every symbol that the target wants of libibverbs is in the shim."""
    if not os.path.exists(target):
        raise Skip(f"{target} is not installed")
    plain = dict(room.env, LD_BIND_NOW="1")
    plain.pop("LD_PRELOAD", None)
    shimmed = dict(plain, LD_LIBRARY_PATH=shim_dir(room))
    ldd = subprocess.run(["ldd", target], capture_output=True, text=True,
                         env=shimmed, timeout=60)
    if os.path.join(shim_dir(room), "libibverbs.so.1") not in ldd.stdout:
        raise Failure("the shim is not what libibverbs.so.1 resolves to")
    missing = undefined(target, shimmed) - undefined(target, plain)
    if missing:
        raise Failure("; ".join(sorted(missing)))


def dlopen(room):
    """libibverbs.so without a number is there for programs that dlopen it."""
    program = ("import ctypes, os; v = ctypes.CDLL('libibverbs.so');"
               "n = ctypes.c_int(); v.ibv_get_device_list.restype = "
               "ctypes.c_void_p; assert v.ibv_get_device_list("
               "ctypes.byref(n)) and n.value == 1; "
               "print(open('/proc/self/maps').read())")
    seen = room.run("dlopen", room.roost("run", "--link", room.link, "--",
                                         "/usr/bin/python3", "-c", program))
    if seen.status != 0 or shim_dir(room) not in seen.out():
        raise Failure("dlopen(\"libibverbs.so\") does not find the shim")


def installed(room):
    """meson install gives a tree that works where it stands."""
    root = room.path("root")
    done = room.run("install", ["meson", "install", "-C", room.build,
                                "--no-rebuild", "--destdir", root])
    if done.status != 0:
        raise Failure("meson install failed")
    found = glob.glob(f"{root}/**/bin/roost", recursive=True)
    if len(found) != 1:
        raise Failure(f"launchers installed: {found}")
    seen = room.run("devinfo", [found[0], "run", "--link", room.link, "--",
                                "ibv_devinfo"])
    if seen.status != 0 or "PORT_ACTIVE" not in seen.out():
        raise Failure("the installed launcher shows no active port")
    shims = glob.glob(f"{root}/**/libibverbs.so*", recursive=True)
    if not shims or any(os.path.basename(os.path.dirname(shim)) != "roost"
                        for shim in shims):
        raise Failure(f"shims not in a directory of their own: {shims}")
    check_appliance(room, root)


APPLIANCE = r"""
#include <stdio.h>
#include <roost/roost.h>

int main(void)
{
	char err[ROOST_CONFIG_ERR_MAX];
	static struct roost_config config;
	struct roost_device *device;

	if (roost_config_load(&config, err) ||
	    roost_device_open(&config, 0, &device))
		return 1;
	puts(roost_dev_name(roost_device_dev(device)));
	roost_device_close(device);
	return 0;
}
"""


def check_appliance(room, root):
    """roost.pc leads to headers and a library that a program can use."""
    found = glob.glob(f"{root}/**/roost.pc", recursive=True)
    if len(found) != 1:
        raise Failure(f"roost.pc installed: {found}")
    flags = room.run("pkg-config", ["pkg-config", "--cflags", "--libs",
                                    "roost"],
                     env={"PKG_CONFIG_PATH": os.path.dirname(found[0]),
                          "PKG_CONFIG_SYSROOT_DIR": root})
    source, program = room.path("appliance.c"), room.path("appliance")
    with open(source, "w") as file:
        file.write(APPLIANCE)
    built = room.run("cc", ["gcc", "-Wall", "-Werror", source, "-o", program,
                            *flags.out().split()])
    if built.status != 0:
        raise Failure("a program does not build with roost.pc")
    libdir = os.path.dirname(os.path.dirname(found[0]))
    seen = room.run("appliance", [program],
                    env={"ROOST_PORT0_LINK": room.link,
                         "LD_LIBRARY_PATH": libdir})
    if seen.out() != "roost0\n" or seen.status != 0:
        raise Failure("the program does not open its device")


# What -v says of a port beside DPDK's log, in this order.
LIBRARY = r"library: /.*/libibverbs\.so\.1(\.[0-9.]+)?"
VERBOSE_DPDK = (
    LIBRARY,
    r"capabilities: found .*; missing .*",
    r"huge pages: (used|not used .*), \d+ MB are free",
    r"roost0: progress dedicated, workers 2",
    r"roost0 port 1: .*, DPDK device net_ring0, .*",
)
VERBOSE_LINK = (
    LIBRARY,
    r"roost0: progress dedicated, workers 2",
    r'roost0 port 1: link "[^"]+", end 0, '
    r"MAC ([0-9a-f]{2}:){5}[0-9a-f]{2}, IP MTU \d+, link (up|down)",
    r"roost0 port 1: GID 0: fe80::[0-9a-f:]+ \(link-local\)",
    r"roost0 port 1: GID 1: ::ffff:10\.7\.0\.1 \(10\.7\.0\.1/24\)",
    r"roost0 port 1: GID 2: fd00::7 \(fd00::7/64\)",
)


def verbose(room):
    """-v says what a user would look for; without, nothing is said."""
    for port, patterns in ((["--link", room.link], VERBOSE_LINK),
                           (["--port", "net_ring0"], VERBOSE_DPDK)):
        options = [*port, "--ip", "10.7.0.1/24", "--ip", "fd00::7/64",
                   "--workers", "2", "--progress", "dedicated", "--",
                   "ibv_devinfo"]
        silent = room.run("silent", room.roost("run", *options))
        if silent.status != 0 or silent.err():
            raise Failure(f"says something without -v: {silent.err()}")
        seen = room.run("verbose", room.roost("run", "-v", *options))
        lines = iter(seen.err().splitlines())
        for pattern in patterns:
            if not any(re.fullmatch("roost: " + pattern, line)
                       for line in lines):
                raise Failure(f"no line like '{pattern}' at its place in: "
                              f"{seen.err()}")


CASES = [
    Case("info-verbose", verbose),
    Case("info-devices", listing),
    Case("info-devinfo", devinfo),
    Case("info-verbose-keeps-stdout", verbose_keeps_stdout),
    Case("info-two-devices", two_devices),
    Case("info-two-ports", two_ports),
    Case("info-config-file", config_file),
    Case("info-dlopen", dlopen),
    Case("info-installed", installed),
] + [Case(f"info-ldd-{name}", links, target) for name, target in LINKED]
