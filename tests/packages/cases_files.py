# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The files of apps/packaging themselves: versions agree, each installed file
is in one package, and linters accept them.
"""

import fnmatch
import json
import os
import re
import subprocess

from place import Failure, need

# What /usr/share/bash-completion/completions has for the programs: (words, of
# which the last is at the cursor; what has to be among the offers; what must
# not).
COMPLETIONS = (
    (["roost", ""], {"run", "ctl", "ports", "help", "--version"}, {"roost"}),
    (["roost", "r"], {"run"}, {"ports"}),
    (["roost", "help", ""], {"run", "ctl"}, {"--hub"}),
    (["roost", "run", "--"], {"--hub", "--port", "--config", "--"}, {"run"}),
    (["roost", "run", "--sysfs", ""], {"preload", "mount", "none"}, {"--hub"}),
    (["roost", "run", "--hub", "--prog"], {"--progress"}, {"--hub"}),
    (["roost", "run", "--service", "h"], {"hub"}, set()),
    (["roost", "run", "--ip", ""], set(), {"--hub", "run"}),
    (["roost", "run", "-c", "CHANGELOG"], {"CHANGELOG.md"}, {"--hub"}),
    (["roost", "run", "--", "tru"], {"true"}, {"--hub"}),
    (["roost", "run", "--mtu", "1500", "tru"], {"true"}, {"--hub"}),
    (["roost", "ctl", ""], {"show", "link", "evict", "--json"}, {"run"}),
    (["roost", "ports", "--"], {"--json"}, {"--pid"}),
    (["roostd", "--"], {"--config", "--socket", "--hub"}, {"--json"}),
    (["roostd", "-c", "CHANGELOG"], {"CHANGELOG.md"}, {"--hub"}),
    (["roost-conform", ""], {"--agent", "--list", "send-only"}, set()),
    (["roost-conform", "--list", "psn-w"], {"psn-wraps"}, {"--agent"}),
    (["roost-conform", "-i", ""], {"lo"}, {"--agent", "send-only"}),
)
COMPLETE = r"""
. "$1"; . "$2"; shift 2
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
declare -A of=([roost]=_roost [roostd]=_roostd [roost-conform]=_roost_conform)
"${of[$1]}" "$1"
printf '%s\n' "${COMPREPLY[@]}"
"""


DIRS = ("libdir", "bindir", "sbindir", "includedir", "mandir", "datadir")


def installed(place):
    """The paths of all files that meson installs, with the variables of both
    kinds of packages: "{libdir}/libroost.a".
    """
    root = place.path("root")
    if not os.path.exists(root):
        place.run(["meson", "install", "-C", place.build, "--no-rebuild",
                   "--destdir", root])
    options = {option["name"]: option["value"]
               for option in json.loads(place.run(
                   ["meson", "introspect", "--buildoptions", place.build]))}
    prefix = root + options["prefix"]
    found = set()
    for folder, _folders, names in os.walk(root):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), prefix)
            for of in DIRS:
                if path.startswith(options[of] + "/"):
                    path = f"{{{of}}}{path[len(options[of]):]}"
                    break
            found.add(path)
    if not any("libibverbs" in path for path in found):
        raise Failure("meson installs no shims")
    return found


def of_one_package(paths, packages):
    """Each path matches a pattern of one package, and each pattern a path."""
    wrong = []
    for path in sorted(paths):
        owners = [name for name, patterns in packages.items()
                  if any(covers(pattern, path) for pattern in patterns)]
        if len(owners) != 1:
            wrong.append(f"{path}: in {' and '.join(owners) or 'no package'}")
    for name, patterns in packages.items():
        wrong += [f"{name}: {pattern}: nothing is installed there"
                  for pattern in patterns
                  if not any(covers(pattern, path) for path in paths)]
    if wrong:
        raise Failure("\n".join(wrong))


def covers(pattern, path):
    """A pattern is for a file, or for a folder with all that is in it."""
    pattern = pattern.rstrip("/")
    return fnmatch.fnmatchcase(path, pattern) or \
        fnmatch.fnmatchcase(path, pattern + "/*")


def versions(place):
    """One version everywhere, and the changelog of the project knows it."""
    version = re.search(r"^\s*version: '(.*?)'", place.read("meson.build"),
                        re.M)[1]
    found = {
        "debian/changelog": re.match(
            r"roost \((.*?)\)",
            place.read("apps/packaging/debian/changelog"))[1],
        "roost.spec": re.search(r"^Version:\s*(\S+)",
                                place.read("apps/packaging/roost.spec"),
                                re.M)[1],
        "CHANGELOG.md": re.search(r"^## (\d\S*)", place.read("CHANGELOG.md"),
                                  re.M)[1],
    }
    wrong = [f"{name}: {other}, not {version} as meson.build"
             for name, other in found.items() if other != version]
    if wrong:
        raise Failure("\n".join(wrong))


def build_depends(place):
    """What the packages' build needs, as names of apt, without the profile of
    the unit tests; (always, with unit tests).
    """
    text = re.search(r"^Build-Depends:\n((?: .*\n)+)",
                     place.read("apps/packaging/debian/control"), re.M)[1]
    lines = [line.strip(" ,") for line in text.splitlines()]
    # Two that debhelper provides; build-essential is never written down.
    names = {re.split(r"[ :(]", re.sub(r"^(debhelper-compat|dh-sequence-.*)",
                                       "debhelper", line))[0]: line
             for line in lines}
    always = {name for name, line in names.items() if "nocheck" not in line}
    return always | {"build-essential"}, set(names)


def deb_needs(place):
    """Who builds the packages installs first what the build needs: tests/run by
    apps/setup.sh, and the Dockerfile.
    """
    always, with_tests = build_depends(place)
    setup = place.run(["sh", "-c", '. apps/setup.sh; echo "$packages_test"'])
    stage = next(argument for name, argument
                 in docker_steps(place.read("apps/packaging/Dockerfile"))
                 if name == "RUN")
    wrong = [f"{who}: does not install {' '.join(sorted(lacks))}"
             for who, lacks in (
                 ("apps/setup.sh", (always | with_tests) - set(setup.split())),
                 ("Dockerfile", always - set(stage.split()))) if lacks]
    if wrong:
        raise Failure("\n".join(wrong))


DEBIAN_DIRS = {"usr/lib/*/": "{libdir}/", "usr/bin/": "{bindir}/",
               "usr/sbin/": "{sbindir}/", "usr/include/": "{includedir}/",
               "usr/share/man/": "{mandir}/", "usr/share/": "{datadir}/",
               "usr/": ""}


def deb_files(place):
    """debian/*.install, by what they take from meson's installation."""
    packages = {}
    for name in ("roost", "libroost0", "libroost-dev", "roost-conform"):
        text = place.read("apps/packaging/debian", name + ".install")
        patterns = []
        for word in (line.split()[0] for line in text.splitlines()):
            for begin, instead in DEBIAN_DIRS.items():
                if word.startswith(begin):
                    patterns.append(instead + word[len(begin):])
                    break
            else:
                if not os.path.exists(os.path.join(place.top, word)):
                    raise Failure(f"{name}.install: {word}: is not there")
        packages[name] = patterns
    of_one_package(installed(place), packages)


RPM_DIRS = {"%{_sysusersdir}": "lib/sysusers.d",
            "%{_tmpfilesdir}": "lib/tmpfiles.d",
            "%{_unitdir}": "lib/systemd/system"}


def rpm_files(place):
    """The lists %files of roost.spec."""
    packages, name = {}, None
    for line in place.read("apps/packaging/roost.spec").splitlines():
        if line.startswith("%"):
            section = line.split()
            if section[0] == "%files":
                name = "-".join(["roost", *section[1:]])
                packages[name] = []
            elif not line.startswith("%{"):
                if section[0] not in ("%license", "%doc"):
                    name = None
                continue
        if name and line.startswith("%{"):
            for macro, folder in RPM_DIRS.items():
                line = line.replace(macro, folder)
            packages[name].append(re.sub(r"%\{_(\w+)\}", r"{\1}", line))
    packages.pop("roost-doc")
    of_one_package(installed(place), packages)


def rpm_lint(place):
    need("rpmspec", "rpmlint")
    spec = place.packaging("roost.spec")
    place.run(["rpmspec", "--parse", spec])
    said = place.run(["rpmlint", "--rpmlintrc",
                      place.packaging("roost.rpmlintrc"), spec])
    if " 0 errors, 0 warnings" not in said:
        raise Failure(said)


def docker_steps(text):
    """[(instruction, its argument)] of a Dockerfile, lines joined."""
    joined = re.sub(r"\\\n", "", re.sub(r"^#.*\n", "", text, flags=re.M))
    return [tuple(line.split(None, 1)) for line in joined.splitlines()
            if line.strip()]


def dockerfile(place):
    """Instructions that there are, files that there are, a shell that can read
    each RUN; deb-installed does what the second half says.
    """
    wrong = []
    for name, argument in docker_steps(place.read("apps/packaging/Dockerfile")):
        if name not in ("FROM", "RUN", "COPY", "CMD"):
            wrong.append(f"{name}: not one of FROM, RUN, COPY, CMD")
        if name == "CMD" and not isinstance(json.loads(argument), list):
            wrong.append(f"CMD {argument}: not a list")
        if name == "RUN":
            done = subprocess.run(["sh", "-n"], input=argument, text=True,
                                  capture_output=True)
            wrong += done.stderr.splitlines()
    if wrong:
        raise Failure("\n".join(wrong))


def completion(place):
    """Of the programs in the build."""
    programs = place.path("programs")
    os.makedirs(programs, exist_ok=True)
    conform = os.path.join(place.top, "apps", "conform")
    os.symlink(os.path.join(conform, "main.py"),
               os.path.join(programs, "roost-conform"))
    path = os.pathsep.join([programs, os.path.join(place.build, "apps"),
                            os.path.join(place.build, "apps", "roostd"),
                            os.environ["PATH"]])
    wrong = []
    for words, wanted, unwanted in COMPLETIONS:
        said = place.run(["bash", "--norc", "-c", COMPLETE, "complete",
                          place.packaging("completion.sh"),
                          os.path.join(conform, "completion.sh"), *words],
                         env={"PATH": path})
        offers = set(said.splitlines())
        wrong += [f"{words}: does not offer {word}: {sorted(offers)[:9]}"
                  for word in sorted(wanted - offers)]
        wrong += [f"{words}: offers {word}"
                  for word in sorted(unwanted & offers)]
    if wrong:
        raise Failure("\n".join(wrong))


CASES = {
    "versions": versions,
    "deb-files": deb_files,
    "deb-needs": deb_needs,
    "rpm-files": rpm_files,
    "rpm-lint": rpm_lint,
    "dockerfile": dockerfile,
    "completion": completion,
}
