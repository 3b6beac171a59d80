# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""A page of the documentation as a list of steps.

Every indented block of a page has a mark right above it, an HTML comment,
which a reader does not see:

  <!-- run: terminal 1 -->             commands; each ends with status 0
  <!-- run: terminal 1, status 2 -->   the last of them ends with status 2
  <!-- run: terminal 1, goes on -->    the last of them ends later
  <!-- run: terminal 1, until Ctrl-C -->  or is interrupted
  <!-- shows: terminal 1 -->           what the last commands there print
  <!-- not run: REASON -->             commands that a test cannot run
  <!-- no commands -->                 a picture, a file, the syntax of options

and where the text tells the reader to press it:

  <!-- press: Ctrl-C in terminal 1 -->
"""

import re

MARK = re.compile(r"<!-- (run|shows|not run|no commands|press)(?:: (.*))? -->")
RUN = re.compile(r"terminal (\d)(?:, status (\d+))?"
                 r"(?:, (goes on|until Ctrl-C))?")
SHOWS = re.compile(r"terminal (\d)")
PRESS = re.compile(r"Ctrl-C in terminal (\d)")
INDENT = "    "

PCI = r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d"
# Why commands are not run: {reason: what each of them has in it}. A command
# that could be run cannot hide behind a reason of another one.
REASONS = {
    "needs a NIC of its own":
        rf"{PCI}|modprobe vfio-pci|/sys/kernel/iommu_groups|^ping -I roce0",
    "installs packages": r"^(sudo )?apt(-get)? ",
    "changes the machine": r"meson install|uninstall|/proc/sys/vm/|sysctl ",
    "is the test that runs this": r"^tests/run( |$)",
    "needs podman": r"^podman |kubectl ",
    "needs QEMU": r"^tests/interop/",
    "takes minutes": r"^(sudo )?(tests/(bench/|run )|apps/packaging/deb )",
    "changes the baseline": r"^tests/abi/run --update|^ninja -C build product",
}
# Commands that are run elsewhere in the page, in a network namespace.
ABOVE = "is run above in a namespace"
IN_NAMESPACE = re.compile(r"^ip netns exec \S+ ")


class BadPage(Exception):
    """The page does not follow the rules above; the text says where."""


class Step:
    """One block of a page, or one key to press."""

    def __init__(self, kind, line, lines):
        self.kind = kind        # run, shows, not run, no commands, press
        self.line = line        # number of its first line in the page
        self.lines = lines      # of the block, without the indent
        self.terminal = None
        self.status = 0
        self.goes_on = False
        self.interrupted = False
        self.reason = None

    def text(self):
        return "\n".join(self.lines) + "\n"

    def commands(self):
        """Without comments; continued lines are one."""
        joined = re.sub(r"\\\n\s*", "", self.text())
        plain = (re.sub(r"(^|\s+)#.*", "", line)
                 for line in joined.splitlines())
        return [line.strip() for line in plain if line.strip()]


def matched(pattern, words, where):
    match = pattern.fullmatch(words or "")
    if match is None:
        raise BadPage(f"{where}: a mark that nobody understands: {words}")
    return match


def make_step(kind, words, line, lines, where):
    step = Step(kind, line, lines)
    if kind == "run":
        match = matched(RUN, words, where)
        step.terminal = int(match[1])
        step.status = int(match[2] or 0)
        step.goes_on = match[3] is not None
        step.interrupted = match[3] == "until Ctrl-C"
    elif kind == "shows":
        step.terminal = int(matched(SHOWS, words, where)[1])
    elif kind == "press":
        step.terminal = int(matched(PRESS, words, where)[1])
    elif kind == "not run":
        step.reason = words
    return step


def blocks(text):
    """Yields (number of the first line, lines, line above) of each indented
    block that stands by itself; those of lists are text.
    """
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        first = number
        if not lines[number].startswith(INDENT) or \
                (number and lines[number - 1].strip()):
            number += 1
            continue
        while number < len(lines) and (lines[number].startswith(INDENT) or
                                       not lines[number].strip()):
            number += 1
        block = [line[len(INDENT):] for line in lines[first:number]]
        while not block[-1].strip():
            block.pop()
        above = first - 1
        while above >= 0 and not lines[above].strip():
            above -= 1
        yield first + 1, block, lines[above] if above >= 0 else ""


def check_reason(step, run_commands, where):
    if step.reason == ABOVE:
        for command in step.commands():
            if command not in run_commands:
                raise BadPage(f"{where}: this is run nowhere: {command}")
        return
    if step.reason not in REASONS:
        raise BadPage(f"{where}: not a reason: {step.reason}")
    for command in step.commands():
        if not re.search(REASONS[step.reason], command):
            raise BadPage(f"{where}: \"{step.reason}\" does not hold for: "
                          f"{command}")


def check_drawing(step, where):
    for line in step.lines:
        if re.match(r"(sudo )?(build/apps/)?roost (run|ctl|ports)\b", line):
            raise BadPage(f"{where}: marked as no command: {line}")


def steps(text, name):
    """Returns the steps of a page. Raises BadPage."""
    found = []
    for number, lines, above in blocks(text):
        where = f"{name}:{number}"
        match = MARK.fullmatch(above)
        if match is None or match[1] == "press":
            raise BadPage(f"{where}: a block without a mark: {lines[0]}")
        found.append(make_step(match[1], match[2], number, lines, where))
    for number, line in enumerate(text.splitlines(), 1):
        match = MARK.fullmatch(line)
        if match and match[1] == "press":
            found.append(make_step("press", match[2], number, [],
                                   f"{name}:{number}"))
    found.sort(key=lambda step: step.line)
    run_commands = {IN_NAMESPACE.sub("", command)
                    for step in found if step.kind == "run"
                    for command in step.commands()}
    for step in found:
        where = f"{name}:{step.line}"
        if step.kind == "not run":
            check_reason(step, run_commands, where)
        elif step.kind == "no commands":
            check_drawing(step, where)
    return found


# ---- what a page promises -------------------------------------------------

# What differs from run to run: addresses of memory, keys, times, rates. Whole
# numbers do not.
VARIES = re.compile(r"\.\.\.|0x[0-9a-f]+|(?<![\d.])\d+\.\d+(?![\d.])|\s+")


def line_pattern(line):
    """The pattern of a line that a page shows."""
    pattern, at = "", 0
    for match in VARIES.finditer(line):
        pattern += re.escape(line[at:match.start()])
        word = match[0]
        if word == "...":
            pattern += ".*"
        elif word.startswith("0x"):
            pattern += "0x[0-9a-f]+"
        elif word.isspace():
            pattern += r"\s+"
        else:
            pattern += r"\d+(\.\d+)?"
        at = match.end()
    return re.compile(pattern + re.escape(line[at:]))


def missing(promised, output):
    """The first of the promised lines that is not in the output, in their
    order; None: all are.
    """
    said = iter(output.splitlines())
    for line in promised:
        if line.strip() in ("", "..."):
            continue
        pattern = line_pattern(line.strip())
        if not any(pattern.fullmatch(one.strip()) for one in said):
            return line.strip()
    return None
