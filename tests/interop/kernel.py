# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Debian's stock kernel, fetched and unpacked but not installed, and a first
file system that takes it to the machine's own.
"""

import glob
import os
import re
import shutil
import stat
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = "linux-image-amd64"

# What every guest needs, besides what these depend on.
BASE = "virtio_pci virtio_console 9p 9pnet_virtio".split()
# A guest with Soft-RoCE on a virtio NIC.
RXE = """
    virtio_net crc32_generic crc32_pclmul ib_uverbs ib_umad rdma_ucm rdma_rxe
""".split()


class Missing(Exception):
    """There is no kernel to boot; the text says why."""


class Kernel:
    """Where its parts are."""

    def __init__(self, folder):
        images = glob.glob(os.path.join(folder, "root", "boot", "vmlinuz-*"))
        if len(images) != 1:
            raise Missing(f"{len(images)} kernels in {folder}, not one")
        self.image = images[0]
        self.release = os.path.basename(self.image).partition("-")[2]
        self.modules = {}
        tree = os.path.join(folder, "root", "lib", "modules", self.release)
        for place, _folders, names in os.walk(tree):
            for name in names:
                if name.endswith(".ko"):
                    # As modules call each other.
                    name, path = name[:-3], os.path.join(place, name)
                    self.modules[name.replace("-", "_")] = path

    def in_order(self, names, before=()):
        """Names of modules with all that they need, which comes first."""
        order = list(before)
        for name in names:
            name = name.replace("-", "_")
            if name not in self.modules:
                raise Missing(f"{self.release} has no module {name}")
            if name in order:
                continue
            depends = re.search(rb"\0depends=([^\0]*)\0",
                                read(self.modules[name]))[1].decode()
            order = self.in_order(filter(None, depends.split(",")), order)
            order.append(name)
        return order


def run(words, folder):
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True,
                              text=True, timeout=300)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise Missing(str(e)) from e
    if done.returncode != 0:
        raise Missing(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def newest():
    """Name of the package that the meta package stands for today."""
    for word in run(["apt-cache", "depends", PACKAGE], "/").split():
        if re.fullmatch(r"linux-image-[0-9].*-amd64", word):
            return word
    raise Missing(f"apt knows no kernel behind {PACKAGE}")


def fetch(folder):
    """The kernel in folder; fetched the first time. Needs a network then."""
    if not os.path.exists(os.path.join(folder, "complete")):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        run(["apt-get", "-q", "download", newest()], folder)
        for package in glob.glob(os.path.join(folder, "*.deb")):
            run(["dpkg", "-x", package, "root"], folder)
            os.remove(package)
        with open(os.path.join(folder, "complete"), "w"):
            pass
    return Kernel(folder)


def record(number, name, mode, data=b"", device=(0, 0)):
    """One file of a cpio archive in the format "newc"."""
    named = name.encode() + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(named),
              0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + named
    return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write_initramfs(kernel, path, modules):
    """The archive that the kernel unpacks before it starts /init."""
    busybox = shutil.which("busybox")
    if busybox is None:
        raise Missing("busybox is not installed (busybox-static)")
    order = kernel.in_order([*BASE, *modules])
    files = [("bin/busybox", read(busybox)),
             ("init", read(os.path.join(HERE, "init"))),
             ("agent.py", read(os.path.join(HERE, "agent.py"))),
             ("modules/order", " ".join(order).encode())]
    files += [(f"modules/{name}.ko", read(kernel.modules[name]))
              for name in order]
    parts = [(folder, stat.S_IFDIR | 0o755)
             for folder in ("bin", "dev", "modules", "proc", "root", "sys")]
    parts.append(("dev/console", stat.S_IFCHR | 0o600, b"", (5, 1)))
    parts += [(name, stat.S_IFREG | 0o755, data) for name, data in files]
    parts.append(("TRAILER!!!", 0))
    with open(path, "wb") as file:
        for number, part in enumerate(parts, 1):
            file.write(record(number, *part))
