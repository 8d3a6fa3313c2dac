# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""What a text tells its readers to type: commands, and blocks of code."""

import re

COMMAND = re.compile(
    r"^(?:[A-Z_]+=\S+ )*(?:\./)?(?:build/(?:tools|examples)/\S*[^/\s](?!\S)|scripts/\S+|\.ci/run"
    r"|(?:cc|gcc|clang|meson|ninja|pip|python3?|cmake|apt-get|export|man)(?= )"
    r"|heed-(?:bench|conform|info|summarize)(?= ))")
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
HEADER_CODE = re.compile(r"@code\n(.*?)@endcode", re.DOTALL)


def indented(text):
    """Commands of indented blocks; a deeper line that is no command goes on with the last one."""
    found, depth = [], None
    for line in text.splitlines():
        stripped = line.strip()
        indent = len(line) - len(line.lstrip())
        if not stripped or indent < 4:
            depth = None
        elif COMMAND.match(stripped):
            found.append(re.sub(r"\s{2,}#.*", "", stripped))
            depth = indent
        elif depth is not None and indent > depth:
            found[-1] += " " + stripped
        else:
            depth = None
    return found


def commands(text):
    """Every command of a text, and the scripts that it names without saying how to call them."""
    shell = [body for _, kind, body in FENCE.findall(text) if kind == "sh"]
    rest = FENCE.sub("", text)
    spans = [" ".join(span.split()) for span in SPAN.findall(rest)]
    return ([block.strip() for block in shell] + indented(rest) +
            [span for span in spans if COMMAND.match(span)])


def blocks(text, kind):
    return [body for _, name, body in FENCE.findall(text) if name == kind]


def header_blocks(text):
    """The examples in the comments of a header."""
    return [re.sub(r"(?m)^ \* ?", "", body) for body in HEADER_CODE.findall(text)]


def self_test():
    text = ("Say `scripts/a --b` or `x` and\n`build/tools/heed-info\n--json`.\n\n"
            "    cc a.c     # so\n    heed-info [--json]\n           [--wait N]\n\n    other\n\n"
            "```sh\nexport A=1\nmake\n```\n")
    assert commands(text) == ["export A=1\nmake", "cc a.c", "heed-info [--json] [--wait N]",
                              "scripts/a --b", "build/tools/heed-info --json"], commands(text)


self_test()
