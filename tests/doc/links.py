# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Links from page to page lead somewhere."""

import glob
import os
import re

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.M)


def anchors(path):
    """Those of the headings, as forges name them."""
    with open(path) as file:
        headings = HEADING.findall(file.read())
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            for heading in headings}


def broken(top):
    """Yields (page, link) of links that lead nowhere."""
    pages = [*sorted(glob.glob(os.path.join(top, "*.md"))),
             *sorted(glob.glob(os.path.join(top, "doc", "*.md")))]
    for page in pages:
        with open(page) as file:
            links = LINK.findall(file.read())
        for link in links:
            if "://" in link:
                continue
            path, _, anchor = link.partition("#")
            target = os.path.join(os.path.dirname(page), path) if path \
                else page
            if not os.path.exists(target) or \
                    anchor and anchor not in anchors(target):
                yield os.path.relpath(page, top), link
