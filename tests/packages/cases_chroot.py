# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The Debian packages in a Debian that has nothing else: installed by the
commands of the Dockerfile, used, removed and purged.

The Debian is a folder that mmdebstrap fills from the configured mirror. What
this does not show is systemd as process 1: the unit is checked by
systemd-analyze, and roostd is started by hand as the unit would, with its user
and capabilities.
"""

import os
import re
import shutil
import subprocess

from cases_deb import packages
from cases_files import docker_steps
from place import Failure, Skip, need

HERE = os.path.dirname(os.path.abspath(__file__))
OTHERS = ("libroost-dev", "roost-doc")
# Seconds without which no mirror answers.
MIRROR_S = 20
BUILD_S = 1800
# The Debian behind this one has DPDK 24.11, rdma-core 56 and gcc 14.
NEXT = "trixie"
NEXT_PACKAGES = ("gcc,clang,meson,ninja-build,pkg-config,libdpdk-dev,"
                 "libisal-dev,libbpf-dev,libmicrohttpd-dev,libmnl-dev,"
                 "libibverbs-dev,librdmacm-dev,libjson-c-dev,libncurses-dev,"
                 "systemtap-sdt-dev,ibverbs-utils,perftest,"
                 "iproute2")
# A pair of its programs over each of these; without and with DPDK.
NEXT_PORTS = (
    ("--link next", "--link next"),
    ("--port net_memif0,role=server,socket=@next --ip 198.18.0.1/24",
     "--port net_memif0,role=client,socket=@next --ip 198.18.0.2/24"),
    ("--port net_vhost0,iface=/tmp/next --ip 198.18.0.1/24",
     "--port net_virtio_user0,path=/tmp/next --ip 198.18.0.2/24"),
    ("--port 'net_bonding0,mode=1,slave=(net_af_packet0,iface=next0,"
     "framesz=2048,blocksz=4096)' --ip 198.18.0.1/24",
     "--port net_af_packet1,iface=next1 --ip 198.18.0.2/24"),
)
NEXT_PAIR = """
ip link add next0 type veth peer name next1
for name in lo next0 next1; do ip link set $name up; done
/tree/build/apps/roost run {} -- {program} &
sleep 2
/tree/build/apps/roost run {} -- {program} localhost
wait $!
"""


def release(place):
    """The code name of the Debian that runs here."""
    return place.run(["sh", "-c", ". /etc/os-release; echo "
                      "$VERSION_CODENAME"]).strip()


def bootstrap(place, name, packages_of_it):
    """A minimal Debian, as the image debian:12-slim is, and packages. Returns
    its folder.
    """
    if os.geteuid() != 0:
        raise Skip("needs root")
    need("mmdebstrap", "unshare", "ip")
    done = subprocess.run(["apt-get", "-o", "Acquire::Retries=0", "-o",
                           f"Acquire::http::Timeout={MIRROR_S}",
                           "download", "--print-uris", "hostname"],
                          capture_output=True, text=True, cwd=place.folder)
    mirror = re.search(r"'(http\S+?)/pool/", done.stdout)
    if not mirror:
        raise Skip("apt-get names no mirror")
    root = place.path(f"debian-{name}")
    try:
        place.run(["mmdebstrap", "--quiet", "--variant=minbase",
                   "--mode=root", f"--include={packages_of_it}",
                   f"--aptopt=Acquire::http::Timeout {MIRROR_S}",
                   name, root, mirror[1]], limit_s=BUILD_S)
    except Failure as e:
        if re.search("Could not (resolve|connect)|Failed to fetch", str(e)):
            raise Skip("the mirror does not answer") from None
        raise
    return root


def install(place, root):
    """What the last stage of the Dockerfile does."""
    steps = docker_steps(place.read("apps/packaging/Dockerfile"))
    last = max(number for number, step in enumerate(steps)
               if step[0] == "FROM")
    for name, argument in steps[last + 1:]:
        if name == "COPY":
            to = argument.split()[-1]
            os.makedirs(root + to, exist_ok=True)
            for path in packages(place).values():
                shutil.copy(path, root + to)
        elif name == "RUN":
            inside(place, root, argument, network=True)


def inside(place, root, command, network=False, limit_s=600):
    """Runs a command of the shell in the Debian, with /proc, /dev and /run of
    its own, and a network namespace of its own unless it needs the mirror.
    """
    return place.run(["unshare", "--mount", "--pid", "--fork", "--kill-child",
                      *([] if network else ["--net"]), "sh",
                      os.path.join(HERE, "enter"), root, command],
                     limit_s=limit_s)


def remains(root):
    """What has the name of the packages, but in logs."""
    found = []
    for folder, folders, names in os.walk(root):
        for name in (*folders, *names):
            path = os.path.join(folder, name)[len(root):]
            if "roost" in name and not path.startswith("/var/log/"):
                found.append(path)
    return sorted(found)


def installed(place):
    """Installed, used, removed, purged: four steps that need each other."""
    packages(place)
    root = bootstrap(place, release(place), "iproute2,tcpdump")
    install(place, root)
    tools = (os.path.join(HERE, "use"), os.path.join(HERE, "look"),
             os.path.join(place.build, "tests", "real", "explain"))
    for path in tools:
        shutil.copy(path, os.path.join(root, "tmp"))
    inside(place, root, "sh /tmp/use")
    for path in tools:
        os.remove(os.path.join(root, "tmp", os.path.basename(path)))
    # The others need no more than these.
    for name in OTHERS:
        shutil.copy(packages(place)[name], os.path.join(root, "tmp"))
    inside(place, root, "dpkg --install /tmp/*.deb && rm /tmp/*.deb")
    with open(os.path.join(root, "etc", "roost.conf"), "w") as file:
        file.write("[port0]\ndevargs = eth1\n")
    os.makedirs(os.path.join(root, "var", "lib", "roost"), exist_ok=True)
    inside(place, root, "dpkg --remove roost libroost0 " + " ".join(OTHERS))
    left = remains(root)
    if any(path.startswith(("/usr", "/lib/")) for path in left):
        raise Failure(f"dpkg --remove leaves {' '.join(left)}")
    if "/var/lib/roost" not in left:
        raise Failure("dpkg --remove takes the daemon's state away")
    inside(place, root, "dpkg --purge roost libroost0 " + " ".join(OTHERS))
    left = remains(root)
    if left != ["/etc/roost.conf"]:
        raise Failure(f"dpkg --purge leaves {' '.join(left)}; of the "
                      "administrator there is roost.conf alone")


def pair(place, root, ports, program):
    inside(place, root, NEXT_PAIR.format(*ports, program=program))


def next_debian(place):
    """In the next Debian the tree compiles without a warning, and programs that
    Debian has linked with its rdma-core run.
    """
    root = bootstrap(place, NEXT, NEXT_PACKAGES)
    shutil.copytree(place.top, os.path.join(root, "tree"), symlinks=True,
                    ignore=lambda folder, names: [
                        name for name in names if folder == place.top and
                        (name == ".git" or name.startswith("build"))])
    inside(place, root, "cd /tree && meson setup build -Dwerror=true "
           "-Dtests=false && ninja -C build", limit_s=BUILD_S)
    for ports in NEXT_PORTS:
        pair(place, root, ports, "ibv_rc_pingpong -g 1 -m 1024 -c")
    # Linked with a provider's library, too; wants a port that is up at once.
    pair(place, root, NEXT_PORTS[0], "ib_send_bw -F -x 1 -n 1000")


CASES = {"deb-installed": installed, "deb-next": next_debian}
