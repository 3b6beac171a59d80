# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
"""What one mistake in one line of C looks like.

The text is expected as clang-format leaves it: a binary operator stands
between blanks, a `*` of a pointer does not.
"""

import re

OPERATORS = {
    "==": ("!=",), "!=": ("==",), "<": ("<=", ">="), "<=": ("<", ">"),
    ">": (">=", "<="), ">=": (">", "<"), "&&": ("||",), "||": ("&&",),
    "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "%": ("/",),
    "&": ("|",), "|": ("&",), "^": ("|",), "<<": (">>",), ">>": ("<<",),
    "+=": ("-=",), "-=": ("+=",), "|=": ("&=",), "&=": ("|=",),
}
OPERATOR = re.compile(r"(?<=\s)([-+*/%&|^<>=!]{1,2})(?=\s|$)")
STEP = re.compile(r"(?<=\w)(\+\+|--)|(?<![\w+-])(\+\+|--)(?=\w)")
NUMBER = re.compile(r"(?<![\w.])(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)(?![\w.])")
WORD = re.compile(r"\b(true|false)\b")
ERRNO = re.compile(r"-(E[A-Z]{2,})\b")
NOT = re.compile(r"(?<![\w=])!(?=[\w(])")
BRANCH = re.compile(r"^(.*\b(?:if|while) )\((.*)\)( \{)?$")
DECLARATION = re.compile(r"\s*(?!return\b|goto\b|else\b)"
                         r"(?:\w+\s+)+\**\w+(\[.*\])?\s*(=|;|,)")
STATEMENT = re.compile(r"\s+(?!return )[A-Za-z_(*+-][^;]*;$")
ROW = re.compile(r"\s+(\[.*\] = |\.\w+ = |\{ ).*,$")


def masked(text):
    """The text without its comments, strings and preprocessor lines: blanks
    stand there instead, so that every column is where it was.
    """
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])

    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'
                  r"'(?:\\.|[^'\\\n])+'", blank, text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:.*\\\n)*.*$", blank, text, flags=re.M)


def balanced(code):
    depth = 0
    for char in code:
        depth += {"(": 1, ")": -1}.get(char, 0)
        if depth < 0:
            return False
    return depth == 0


def replaced(line, start, end, new):
    return line[:start] + new + line[end:]


def operators(line, code):
    for match in OPERATOR.finditer(code):
        for new in OPERATORS.get(match[1], ()):
            yield replaced(line, *match.span(1), new)
    for match in STEP.finditer(code):
        new = "--" if match[0] == "++" else "++"
        yield replaced(line, *match.span(), new)


def constants(line, code):
    for match in NUMBER.finditer(code):
        octal = match[1].startswith("0") and match[1].isdigit()
        value = int(match[1], 8 if octal else 0)
        shown = hex if match[1][:2] in ("0x", "0X") else str
        for new in [value + 1] + ([value - 1] if value > 1 else []):
            yield replaced(line, *match.span(1), shown(new))
    for match in WORD.finditer(code):
        yield replaced(line, *match.span(),
                       "false" if match[0] == "true" else "true")
    for match in ERRNO.finditer(code):
        yield replaced(line, *match.span(1),
                       "EPERM" if match[1] == "EINVAL" else "EINVAL")


def conditions(line, code):
    match = BRANCH.match(code)
    if match is not None and balanced(match[2]):
        start, end = match.span(2)
        yield replaced(line, start, end, f"!({line[start:end]})")
    for match in NOT.finditer(code):
        yield replaced(line, *match.span(), "")


def drops(line, code, before):
    """A statement, or a row of a table, that is not there. before: the code
    that stands above, a statement can be told from the rest of one by it.
    """
    whole = before.rstrip()[-1:] in ("", ";", "{", "}", ":", ")")
    indent = line[:len(line) - len(line.lstrip())]
    if STATEMENT.match(code) and whole and balanced(code) and \
            not DECLARATION.match(code):
        yield indent + ";"
    elif ROW.match(code) and before.rstrip()[-1:] in ("{", ",") and \
            code.count("{") == code.count("}"):
        yield indent.rstrip("\n")


KINDS = ("operator", "constant", "condition", "drop")


def of_line(lines, codes, at):
    """[(kind, the line with a mistake)] of line `at`, counted from 0."""
    line, code = lines[at], codes[at].rstrip()
    before = next((above for above in reversed(codes[:at]) if above.strip()),
                  "")
    makers = (operators(line, code), constants(line, code),
              conditions(line, code), drops(line, code, before))
    return [(kind, new) for kind, maker in zip(KINDS, makers)
            for new in maker]
