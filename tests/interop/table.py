# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""The results as tables, in doc/interop.md."""

SHOWN = {"ok": "ok", "not ok": "**fails**"}
ROLES = ("client", "server")


def cell(result):
    if result is None:
        return ""
    outcome, text = result
    return SHOWN.get(outcome) or f"cannot: {text}"


def summary(results, where="below"):
    """What a reader wants to know first: does anything fail? where: the reasons
    why some cannot be run are, in the document.
    """
    outcomes = [outcome for outcome, _text in results.values()]
    passed, failed = outcomes.count("ok"), outcomes.count("not ok")
    cannot = len(outcomes) - passed - failed
    text = f"{failed or 'None'} of {passed + failed} runs failed"
    if cannot:
        text += f"; {cannot} more cannot be run, for the reasons {where}"
    return text


def roles(results, release):
    """A column for each role of Roost."""
    yield f"{summary(results)}. The peer is Linux {release}."
    groups = {}
    for entry, result in results.items():
        rows = groups.setdefault(entry.group, {})
        rows.setdefault(entry.title, {})[entry.role] = result
    for group, rows in groups.items():
        yield from ("", f"| {group} | Roost is the client | the server |",
                    "|---|---|---|")
        for title, row in rows.items():
            cells = " | ".join(cell(row.get(role)) for role in ROLES)
            yield f"| {title} | {cells} |"


def parts(path, name):
    """What is up to the first mark of tests/interop/NAME, and what is from the
    second one on. Raises OSError, ValueError.
    """
    begin, end = (f"<!-- interop/{name}: {mark} -->"
                  for mark in ("begin", "end"))
    with open(path, "r+") as file:
        text = file.read()
    before, found, rest = text.partition(begin)
    _old, found_end, after = rest.partition(end)
    if not found or not found_end:
        raise ValueError(f"{path}: no comment '{begin}' with '{end}' after it")
    return before + begin, end + after


def write(path, name, lines):
    """Put the lines between the marks. Raises as parts()."""
    before, after = parts(path, name)
    body = "\n".join(lines)
    with open(path, "w") as file:
        file.write(f"{before}\n\n{body}\n\n{after}")
