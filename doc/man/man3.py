#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""Man pages of section 3 from the public headers.

usage: man3.py [--depfile FILE] OUTPUT VERSION

The headers, lib/include/roost/*.h, are the contracts of the public API. These
pages are the same text in the form that man(1) prints. A header makes one page,
roost_<header>(3), and one more for each of its sections that declares
functions:

    /* ---- title --------------------------------------------- */

Such a page has the name of its first function. Every other function of a page
gets a page with its own name that includes the first one (.so), and so does an
object that is declared extern.

The comment in front of a function describes it. Functions that follow without
an empty line share the comment, if it names them by the last word of their
names ("begin", "add"). Of a comment,
- a sentence that begins with "Returns" goes to RETURN VALUE,
- what begins with "Thread:" goes to THREADS, up to the end of the paragraph,
- the rest goes to DESCRIPTION.

OUTPUT is a folder and is written anew. A function whose comment is missing, or
does not say what the function does, or, of a function that returns int, does
not say what it returns, is an error.
"""

import argparse
import glob
import os
import re
import shutil
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
HEADERS = os.path.join(TOP, "lib/include/roost")
PROGRAMS = os.path.join(TOP, "apps/examples")

# Page -> (file, function): what the program does there is the page's example.
EXAMPLES = {
    "libroost": ("echo.c", "open_device"),
    "roost_channel": ("echo.c", "serve"),
    "roost_cq": ("echo_server.c", "echo_poll"),
    "roost_loop": ("appliance.c", "serve"),
}

SECTION = re.compile(r"/\* -{4} (.+?) -+ \*/\Z")
FUNCTION = re.compile(r"\b(roost_\w+)\(")
OBJECT = re.compile(r"^extern [^;]*?\b(roost_\w+)(?:\[.*?\])?;",
                    flags=re.M | re.S)
NAME = re.compile(r"\broost_\w+\b(?:\(\))?")


class Function:
    """prototype: up to the semicolon. line: where it is declared. comment: as
    paragraphs; shared with the functions that were declared with it.
    """

    def __init__(self, name, prototype, line, comment, is_inline):
        self.name = name
        self.prototype = prototype
        self.line = line
        self.comment = comment
        self.is_inline = is_inline


class Page:
    """types: declarations other than functions, with their comments, as they
    are in the header.
    """

    def __init__(self, header, title):
        self.header = header
        self.title = title
        self.name = None
        self.overview = []
        self.functions = []
        self.types = []

    def names(self):
        names = [self.name, *(f.name for f in self.functions)]
        for text in self.types:
            names += OBJECT.findall(text)
        return list(dict.fromkeys(names))


# ---- reading a header --------------------------------------------------------

def paragraphs(comment):
    """The text of a comment, as a list of paragraphs of several lines."""
    text = comment[2:-2]
    lines = [re.sub(r"^\s*\* ?", "", line) for line in text.split("\n")]
    return [p.strip() for p in re.split(r"\n\s*\n", "\n".join(lines))
            if p.strip()]


def pieces(text):
    """(kind, text, number of its first line) of a header: comment, empty,
    directive or declaration.
    """
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        first = at
        line = lines[at]
        if not line.strip():
            kind = "empty"
        elif line.startswith("/*"):
            kind = "comment"
            while "*/" not in lines[at]:
                at += 1
        elif line.startswith("#"):
            kind = "directive"
            while lines[at].endswith("\\"):
                at += 1
        else:
            kind = "declaration"
            depth = 0
            while True:
                code = re.sub(r"/\*.*?\*/|/\*.*|^\s*\*.*", "", lines[at])
                depth += code.count("{") - code.count("}")
                code = code.rstrip()
                if depth == 0 and code.endswith((";", "}")):
                    break
                at += 1
        at += 1
        yield kind, "\n".join(lines[first:at]), first + 1


def function_of(text, line, comment):
    """The function that a declaration declares; None: another thing."""
    head = text.split("{", 1)[0].strip()
    found = FUNCTION.search(head)
    if text.startswith(("typedef", "extern", "struct")) and \
            not re.match(r"struct \w+ \*?\w+\(", text):
        return None
    if not found or text.startswith(("enum", "TAILQ")) and "(" not in head:
        return None
    is_inline = head.startswith("static inline")
    prototype = head.removeprefix("static inline ").rstrip(";") + ";"
    return Function(found[1], prototype, line, comment, is_inline)


def is_guard(text):
    return re.match(r"#(include|ifndef|endif|if|undef)\b|#define \w+_H$", text)


def read(path):
    """The pages of a header."""
    stem = os.path.basename(path).removesuffix(".h")
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"^#ifdef __cplusplus\n.*?^#endif$",
                      lambda found: "\n" * found[0].count("\n"), file.read(),
                      flags=re.M | re.S)
    first = Page(f"roost/{stem}.h", None)
    first.name = "libroost" if stem == "roost" else f"roost_{stem}"
    pages = [first]
    comment, comment_text = None, ""
    for kind, piece, line in pieces(text):
        if kind == "comment":
            section = SECTION.match(piece)
            if section:
                pages.append(Page(first.header, section[1]))
            elif "SPDX" not in piece and not first.overview:
                first.overview = paragraphs(piece)
            else:
                comment, comment_text = paragraphs(piece), piece
                continue
        elif kind == "declaration":
            function = function_of(piece, line, comment)
            if function:
                pages[-1].functions.append(function)
                continue
            if not re.fullmatch(r"(struct|union|enum) \w+;", piece):
                pages[-1].types.append("\n".join(
                    part for part in (comment_text, piece) if part))
        elif kind == "directive" and not is_guard(piece):
            pages[-1].types.append("\n".join(
                part for part in (comment_text, piece) if part))
            comment_text = ""
            continue
        comment, comment_text = None, ""
    return fold(pages)


def fold(pages):
    """Sections of types and inline functions belong to the header's page."""
    first = pages[0]
    kept = [first]
    for page in pages[1:]:
        if all(function.is_inline for function in page.functions):
            first.functions += page.functions
            first.types += page.types
        else:
            page.name = page.functions[0].name
            kept.append(page)
    title = re.split(r"\.(?:\s|$)", first.overview[0].replace("\n", " "))[0]
    first.title = re.sub(r"^[A-Z](?=[a-z ])", lambda m: m[0].lower(), title)
    # The NAME section has it, if it is all of the paragraph.
    if first.overview[0].endswith(title.rsplit(" ", 1)[-1] + "."):
        del first.overview[0]
    return kept


# ---- the parts of a comment --------------------------------------------------

def divide(comment):
    """(description, returns, threads) of a comment, as lists of paragraphs."""
    description, returns, threads = [], [], []
    for text in comment:
        text, *rest = re.split(r"(?:(?<=\s)|\A)(?=Threads?: )", text,
                               maxsplit=1)
        threads += [re.sub(r"\AThreads?: ", "", part) for part in rest]
        kept = []
        for sentence in re.split(r"(?<=[.:])\s+(?=[A-Z*])", text.strip()):
            part = returns if re.match(r"Returns?\b", sentence) else kept
            part.append(sentence)
        if kept != [""]:
            description.append("\n".join(kept))
    return ([p for p in description if p], returns, threads)


def wrong(function):
    """What the contract of a function lacks; None: nothing."""
    if function.is_inline:
        return None
    if not function.comment:
        return "has no comment"
    description, _returns, _threads = divide(function.comment)
    if not description:
        return "has a comment that does not say what it does"
    text = " ".join(function.comment)
    if function.prototype.startswith("int ") and \
            not re.search(r"\b[Rr]eturns?\b", text):
        return "returns int, and its comment does not say what"
    return None


def is_named(function):
    """Does the comment have the last word of the function's name?"""
    text = " ".join(function.comment).lower().replace("p_key", "pkey")
    return re.search(rf"\b{function.name.rsplit('_', 1)[1]}\b", text)


def check(path, page):
    lines = []
    before = None
    for function in page.functions:
        what = wrong(function)
        if not what and before and function.comment is before.comment and \
                not function.is_inline and not is_named(function):
            what = f"shares the comment of {before.name}, which does not " \
                   "name it"
        if what:
            lines.append(f"{path}:{function.line}: {function.name} {what}")
        before = function
    return lines


# ---- writing roff ------------------------------------------------------------

def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def running(text, known):
    """Running text: names of functions in bold, with their section."""
    def mark(match):
        name = match[0].removesuffix("()")
        if name in known:
            return f"\\fB{name}\\fP(3)"
        return f"\\fB{name}\\fP" + ("()" if match[0].endswith(")") else "")

    return NAME.sub(mark, escape(text))


def blocks(texts, known):
    """Paragraphs with lists: lines that begin with "- "."""
    out = []
    for text in texts:
        out.append(".PP")
        for item in re.split(r"\n(?=- )", text):
            behind = ""
            if item.startswith("- "):
                out.append(".IP * 2")
                item, *more = re.split(r"\n(?=\S)", item[2:], maxsplit=1)
                behind = "".join(more)
            out.append(running(re.sub(r"\n\s+", "\n", item), known))
            if behind:
                out += [".PP", running(behind, known)]
    return out


def literal(text):
    return [".EX", escape(text.expandtabs(8)), ".EE"]


def together(functions):
    """[(names, comment)]: functions that share a comment, in their order."""
    groups = []
    for function in functions:
        if groups and function.comment is groups[-1][1] and function.comment:
            groups[-1][0].append(function.name)
        elif function.comment:
            groups.append(([function.name], function.comment))
    return groups


def listed(title, groups, part, known):
    """A section with what every function's comment has for it."""
    out = []
    for names, comment in groups:
        text = "\n".join(divide(comment)[part])
        if text:
            text = text[0].upper() + text[1:]
            bold = ", ".join(f"\\fB{name}\\fP()" for name in names)
            out += [".TP", bold, running(text, known)]
    return [f".SH {title}", *out] if out else []


def source_of(path, name):
    """The definition of a function in a program."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    found = re.search(rf"^(?:[\w* ]+)\b{name}\([^;]*?\)\n\{{.*?^\}}\n", text,
                      flags=re.M | re.S)
    if not found:
        raise SystemExit(f"{path}: there is no function {name}")
    return found[0]


def example(page):
    if page.name not in EXAMPLES:
        return []
    name, function = EXAMPLES[page.name]
    return [".SH EXAMPLE", f"From \\fIapps/examples/{name}\\fP:", ".PP",
            *literal(source_of(os.path.join(PROGRAMS, name), function))]


def see_also(page, text, owner, siblings):
    """Pages of the same header, and pages of functions that the text names."""
    pages = {owner[name] for name in re.findall(r"\\fB(roost_\w+)\\fP\(3\)",
                                                text) if name in owner}
    pages |= {sibling.name for sibling in siblings} | {"libroost"}
    pages.discard(page.name)
    lines = [f".BR {name} (3)" for name in sorted(pages)]
    return [".SH SEE ALSO", " ,\n".join(lines)]


def write_page(page, version, owner, siblings):
    known = set(owner)
    groups = together(page.functions)
    out = [".\\\" Made from the header by doc/man/man3.py.",
           f'.TH {page.name} 3 "" "Roost {version}" "Roost"', ".SH NAME",
           ", ".join(page.names()) + " \\- " + escape(page.title),
           ".SH SYNOPSIS", ".nf", f".B #include <{page.header}>"]
    for function in page.functions:
        out += [".PP", escape(function.prototype.expandtabs(8))]
    out += [".PP", "Link with \\-lroost (pkg\\-config roost).", ".fi",
            ".SH DESCRIPTION", *blocks(page.overview, known)]
    for names, comment in groups:
        description = divide(comment)[0]
        out += [".SS " + ", ".join(f"{name}()" for name in names),
                *blocks(description, known)[1:]]
    out += listed("RETURN VALUE", groups, 1, known)
    out += listed("THREADS", groups, 2, known)
    if page.types:
        out += [".SH TYPES AND CONSTANTS"]
        for number, text in enumerate(page.types):
            out += [".PP"] * (number > 0) + literal(text)
    out += example(page)
    out += see_also(page, "\n".join(out), owner, siblings)
    return "\n".join(out) + "\n"


def write_depfile(path, output, inputs):
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{output}: {' '.join(inputs)}\n")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--depfile")
    parser.add_argument("output")
    parser.add_argument("version")
    args = parser.parse_args()
    headers = sorted(glob.glob(os.path.join(HEADERS, "*.h")))
    books = [(path, read(path)) for path in headers]
    errors = [line for path, pages in books for page in pages
              for line in check(path, page)]
    if errors:
        sys.exit("\n".join(errors))
    owner = {name: page.name for _path, pages in books for page in pages
             for name in page.names()}
    shutil.rmtree(args.output, ignore_errors=True)
    os.makedirs(args.output)
    for _path, pages in books:
        for page in pages:
            text = write_page(page, args.version, owner, pages)
            for name in page.names():
                with open(os.path.join(args.output, name + ".3"), "w",
                          encoding="utf-8") as file:
                    file.write(text if name == page.name
                               else f".so man3/{page.name}.3\n")
    if args.depfile:
        # A folder changes when a file is added to it.
        write_depfile(args.depfile, args.output, [
            HEADERS, *headers,
            *{os.path.join(PROGRAMS, name) for name, _ in EXAMPLES.values()}])


if __name__ == "__main__":
    main()
