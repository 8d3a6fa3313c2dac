#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""What docs/ shows of C stands in the tree: excerpts.py TOP

Every C block of docs/*.md must be a verbatim part of the file in examples/ that the text before it
named last. Those files are compiled by the build.
"""

import pathlib
import re
import sys

PIECE = re.compile(r"\bexamples/([\w.]+\.c)\b|^```c\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def wrong(text, examples):
    """What of the text's blocks is not as its file has it; how many there are."""
    breaches, blocks, file = [], 0, None
    for match in PIECE.finditer(text):
        if match[1]:
            file = match[1]
            continue
        blocks += 1
        if match[2] not in examples.get(file, ""):
            breaches.append(f"block {blocks}, {file}: {match[2].splitlines()[0]}")
    return breaches, blocks


def main():
    top = pathlib.Path(sys.argv[1])
    examples = {path.name: path.read_text(encoding="utf-8")
                for path in (top / "examples").glob("*.c")}
    failed = total = 0
    for path in sorted((top / "docs").glob("*.md")):
        breaches, blocks = wrong(path.read_text(encoding="utf-8"), examples)
        total += blocks
        failed += len(breaches)
        for breach in breaches:
            print(f"{path.name}: {breach}")
    control = wrong("examples/a.c\n```c\nint x;\n```\n```c\nint y;\n```\n", {"a.c": "int x;\n"})
    print(f"{total} blocks, {failed} not in their files")
    return 1 if failed or not total or control != (["block 2, a.c: int y;"], 2) else 0


if __name__ == "__main__":
    sys.exit(main())
