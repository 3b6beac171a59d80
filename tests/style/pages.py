# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Checks of the man pages: doc/man/man3.py makes those of section 3 from the
public headers, every symbol of ROOST_0.1 has one, and groff finds nothing to
complain of in any page.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

GROFF = ["groff", "-mandoc", "-Tutf8", "-ww", "-z"]

# A page that groff has to complain of.
BAD_PAGE = ".TH A 3\n.SH NAME\na \\- b\n.no_such_macro\n"


def make(top, folder):
    """Writes the pages of section 3. Returns what is wrong, as lines."""
    done = subprocess.run([sys.executable, "-B",
                           os.path.join(top, "doc/man/man3.py"), folder, "0"],
                          capture_output=True, text=True)
    if done.returncode == 0:
        return []
    return [line.replace(top + "/", "") for line in done.stderr.splitlines()]


def without_page(map_text, pages):
    """Symbols of the map's node ROOST_0.1 that have no page."""
    node = re.search(r"^ROOST_0\.1 \{\nglobal:\n(.*?)^local:", map_text,
                     flags=re.M | re.S)
    symbols = re.findall(r"\t(\w+);\n", node[1]) if node else []
    wrong = [f"lib/libroost.map: {symbol} has no man page"
             for symbol in symbols if symbol + ".3" not in pages]
    return wrong if symbols else ["lib/libroost.map: no symbols were found"]


def complaints(folder, paths):
    """What groff says of the pages, as lines. folder: where ".so man3/NAME"
    finds its page.
    """
    if shutil.which("groff") is None:
        return ["groff is not installed; apt-get install groff-base"]
    done = subprocess.run([*GROFF, "-I", folder, *paths],
                          capture_output=True, text=True)
    lines = done.stderr.splitlines()
    if done.returncode != 0 and not lines:
        lines = [f"groff: exit status {done.returncode}"]
    return lines


def find_samples(folder):
    """Lines if one of the checks does not find its own sample."""
    wrong = []
    page = os.path.join(folder, "bad.3")
    with open(page, "w", encoding="utf-8") as file:
        file.write(BAD_PAGE)
    if not complaints(folder, [page]):
        wrong.append("groff does not find its own sample")
    if not without_page("ROOST_0.1 {\nglobal:\n\troost_a;\nlocal:\n", []):
        wrong.append("a symbol without a page is not found")
    return wrong


def checks(top):
    """[(name of a check, what is wrong as lines)]."""
    with tempfile.TemporaryDirectory(prefix="roost-man-") as folder:
        wrong = find_samples(folder)
        pages = os.path.join(folder, "man3")
        wrong += make(top, pages)
        if wrong:
            return [("man pages", wrong)]
        with open(os.path.join(top, "lib/libroost.map"),
                  encoding="utf-8") as file:
            wrong = without_page(file.read(), os.listdir(pages))
        wrong += complaints(folder, [
            *sorted(glob.glob(os.path.join(top, "doc/man/*.[0-9]"))),
            *sorted(glob.glob(os.path.join(pages, "*.3")))])
        return [("man pages", [line.replace(top + "/", "") for line in wrong])]
