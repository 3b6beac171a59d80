# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What libroost exports, by the nodes of lib/libroost.map: ROOST_0.1 is what
the headers of lib/include/roost declare, and ROOST_PRIVATE what the other
installed binaries import beside."""

import re

PUBLIC = "ROOST_0.1"
PRIVATE = "ROOST_PRIVATE"


def without_blocks(text):
    """Each outermost {...} becomes {};"""
    out, depth = [], 0
    for c in text:
        if c == "{":
            depth += 1
        elif c == "}":
            depth -= 1
            if depth == 0:
                out.append("{};")
        elif depth == 0:
            out.append(c)
    return "".join(out)


def declared(text):
    """The names of the functions and variables that a header declares, without
    those that it defines."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    text = re.sub(r"^#ifdef __cplusplus\n.*?^#endif$", "", text,
                  flags=re.M | re.S)
    text = re.sub(r"^\s*#(?:.*\\\n)*.*$", "", text, flags=re.M)
    found = set()
    for statement in without_blocks(text).split(";"):
        name = re.search(r"\w[\s*]+(\w+)\s*\(|extern\b[^(]*?(\w+)\s*(?:\[|$)",
                         statement)
        if name and not re.match(r"\s*(?:static|typedef)\b", statement):
            found.add(name[1] or name[2])
    return found


def node(map_text, name):
    """The symbols of one node of a version script."""
    text = re.sub(r"/\*.*?\*/", " ", map_text, flags=re.S)
    body = re.search(rf"{re.escape(name)}\s*{{\s*global:(.*?)(?:local:|}})",
                     text, flags=re.S)
    symbols = body[1].split(";") if body else []
    return {symbol.strip() for symbol in symbols if symbol.strip()}


def wrong(header_texts, map_text, exported, imported):
    """exported: {symbol: node}, of libroost. imported: by other binaries.
    Returns lines for the report."""
    public, private = node(map_text, PUBLIC), node(map_text, PRIVATE)
    known = set().union(*map(declared, header_texts))
    listed = {**dict.fromkeys(public, PUBLIC),
              **dict.fromkeys(private, PRIVATE)}
    rows = [
        (known - public, f"declared in a public header, not in {PUBLIC}"),
        (public - known, f"in {PUBLIC}, declared in no public header"),
        (private - imported, f"in {PRIVATE}, and nobody imports it"),
        (public & private, "in both nodes"),
        ({name for name, at in listed.items() if exported.get(name) != at},
         "in libroost.map, not exported so"),
        (set(exported) - set(listed), "exported, not in libroost.map"),
    ]
    return [f"{name}: {what}" for names, what in rows for name in sorted(names)]


HEADER = """\
#ifdef __cplusplus
extern "C" {
#endif
struct a_point { int (*move)(int by); };
typedef void a_callback(int x);
#define A_CALL(x) \\
	a_macro(x)
static inline int a_inline(int x) { return a_called(x); } /* a_told() */
int a_one(int x, void (*callback)(int));
struct a_point *a_two(void);
extern const struct a_point a_table[A_LEN];
TAILQ_HEAD(a_list, a_point);
#ifdef __cplusplus
}
#endif
"""
MAP = """\
ROOST_0.1 { global: a_one; a_two; a_table; local: *; };
ROOST_PRIVATE { global: a_three; } ROOST_0.1;
"""
EXPORTED = {"a_one": PUBLIC, "a_two": PUBLIC, "a_table": PUBLIC,
            "a_three": PRIVATE}
# (what, what differs from the sample, what is said of it)
SAMPLES = (
    ("as it should be", {}, []),
    ("a function that is not exported",
     {"header_texts": [HEADER, "int a_new(void);"]},
     ["a_new: declared in a public header, not in ROOST_0.1"]),
    ("a function that no header declares",
     {"header_texts": [HEADER.replace("a_two", "a_2")],
      "map_text": MAP.replace("a_one;", "a_one; a_2;"),
      "exported": {**EXPORTED, "a_2": PUBLIC}},
     ["a_two: in ROOST_0.1, declared in no public header"]),
    ("nobody imports it", {"imported": {"a_one"}},
     ["a_three: in ROOST_PRIVATE, and nobody imports it"]),
    ("another node", {"exported": {**EXPORTED, "a_two": PRIVATE}},
     ["a_two: in libroost.map, not exported so"]),
    ("more than the map has", {"exported": {**EXPORTED, "a_four": ""}},
     ["a_four: exported, not in libroost.map"]),
)


def samples():
    """Yields (name, what is wrong)."""
    for what, changes, said in SAMPLES:
        args = {"header_texts": [HEADER], "map_text": MAP,
                "exported": EXPORTED, "imported": {"a_three"}, **changes}
        found = wrong(**args)
        yield (f"exports sample: {what}",
               [] if found == said else [f"said {found}, not {said}"])
