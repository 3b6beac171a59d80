# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The Debian packages, built, and what lintian and dpkg say of them."""

import glob
import os
import re
import shutil

from place import Failure, need

NAMES = ("libroost-dev", "libroost0", "roost", "roost-conform",
         "roost-doc")


def packages(place):
    """The packages, by their names; built, once."""
    need("dpkg-buildpackage", "dh")
    if place.packages is None:
        out = os.path.join(place.build, "packages")
        shutil.rmtree(out, ignore_errors=True)
        place.run([place.packaging("deb"), "--out", out,
                   "-b", "-us", "-uc", "-Pnocheck"], limit_s=1800,
                  env={"DEB_BUILD_OPTIONS": "nocheck noautodbgsym"})
        place.packages = out
    found = {os.path.basename(path).split("_")[0]: path
             for path in glob.glob(os.path.join(place.packages, "*.deb"))}
    if sorted(found) != sorted(NAMES):
        raise Failure(f"packages: {' '.join(sorted(found))}")
    return found


def built(place):
    """All packages, each with what it is for."""
    wanted = {
        "roost": ("/usr/bin/roost", "/usr/sbin/roostd",
                  "/lib/systemd/system/roostd.service",
                  "/usr/lib/sysusers.d/roost.conf",
                  "/usr/lib/tmpfiles.d/roost.conf",
                  "/usr/share/bash-completion/completions/roost",
                  "/usr/share/man/man1/roost.1.gz",
                  "/usr/share/man/man1/roost-ctl.1.gz",
                  "/usr/share/man/man1/roost-dump.1.gz",
                  "/usr/share/man/man1/roost-explain.1.gz",
                  "/usr/share/man/man1/roost-top.1.gz",
                  "/usr/share/man/man1/roost-doctor.1.gz",
                  "/usr/share/man/man5/roost.conf.5.gz",
                  "/usr/share/man/man8/roostd.8.gz",
                  "/usr/share/roost/grafana-dashboard.json"),
        "libroost0": ("/libroost.so.0", "/roost/libibverbs.so.1",
                      "/roost/librdmacm.so.1", "/roost/libroost-sysfs.so"),
        "libroost-dev": ("/usr/include/roost/roost.h", "/libroost.a",
                         "/libroost.so", "/pkgconfig/roost.pc",
                         "/usr/share/man/man3/libroost.3.gz"),
        "roost-conform": ("/usr/bin/roost-conform",
                          "/usr/bin/roost-conform-agent",
                          "/usr/share/bash-completion/completions/"
                          "roost-conform",
                          "/usr/share/roost-conform/main.py",
                          "/usr/share/man/man1/roost-conform.1.gz"),
        "roost-doc": ("/usr/share/doc/roost/README.md",
                      "/usr/share/doc/roost/doc/install.md"),
    }
    for name, path in packages(place).items():
        files = [line.split()[5][1:] for line in
                 place.run(["dpkg-deb", "--contents", path]).splitlines()]
        missing = [end for end in wanted[name]
                   if not any(file.endswith(end) for file in files)]
        if missing:
            raise Failure(f"{name}: not there: {' '.join(missing)}")


def control(place):
    """The private libraries are nobody's: no package depends on libroost0 for
    libibverbs.so.1. The service and its user are made by the package's scripts.
    """
    folder = place.path("control")
    os.makedirs(folder, exist_ok=True)
    for name, path in packages(place).items():
        place.run(["dpkg-deb", "--control", path, os.path.join(folder, name)])

    def read(package, file):
        with open(os.path.join(folder, package, file)) as opened:
            return opened.read()
    shlibs = read("libroost0", "shlibs")
    if not re.fullmatch(r"libroost 0 libroost0\b.*\n", shlibs):
        raise Failure(f"libroost0: shlibs: {shlibs}")
    script = read("roost", "postinst")
    order = [script.find(word) for word in
             ("systemd-sysusers", "systemd-tmpfiles", "roostd.service")]
    if -1 in order or order != sorted(order):
        raise Failure("roost: postinst does not make the user, the directory "
                      "and the service, one after the other")


def linted(place):
    """lintian has no errors to tell."""
    need("lintian")
    changes = glob.glob(os.path.join(os.path.dirname(
        packages(place)["roost"]), "*.changes"))
    options = ["--allow-root"] if os.geteuid() == 0 else []
    place.run(["lintian", *options, "--fail-on", "error", *changes])


CASES = {
    "deb-built": built,
    "deb-control": control,
    "deb-lintian": linted,
}
