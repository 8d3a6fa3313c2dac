#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""What the README and docs/ show of C and Python stands in the tree: excerpts.py TOP

Every block of C, and of Python where tests/install/blocks.py does not run it, must be a part of the
file in examples/ that the text before it named last, word for word but for the indentation of the
whole. Those files are compiled by the build, or run by tests/python/test_examples.py.
"""

import pathlib
import re
import sys
import textwrap

PIECE = re.compile(r"\bexamples/([\w./]+\.(?:c|py))\b|^```(c|python)\n(.*?)^```$",
                   re.DOTALL | re.MULTILINE)
RUN = ("python.md", "testing-kernels.md")   # their blocks of Python: tests/install/blocks.py


def has(text, block):
    """Is the block a part of the text, at any indentation?"""
    bare = textwrap.dedent(block)
    return any("\n" + textwrap.indent(bare, " " * n) in "\n" + text for n in (0, 4, 8))


def wrong(text, examples, kinds=("c", "python")):
    """What of the text's blocks is not as its file has it; how many there are."""
    breaches, blocks, files = [], 0, {}
    for name, kind, block in PIECE.findall(text):
        if name:
            files["c" if name.endswith(".c") else "python"] = name
        elif kind in kinds:
            blocks += 1
            if not has(examples.get(files.get(kind), ""), block):
                breaches.append(f"block {blocks}, {files.get(kind)}: {block.splitlines()[0]}")
    return breaches, blocks


def main():
    top = pathlib.Path(sys.argv[1])
    folder = top / "examples"
    examples = {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
                for kind in ("c", "py") for path in folder.rglob("*." + kind)}
    failed = total = 0
    for path in [top / "README.md", *sorted((top / "docs").glob("*.md"))]:
        breaches, blocks = wrong(path.read_text(encoding="utf-8"), examples,
                                 ("c",) if path.name in RUN else ("c", "python"))
        total += blocks
        failed += len(breaches)
        for breach in breaches:
            print(f"{path.name}: {breach}")
    control = wrong("examples/a.c\n```c\nint x;\n```\n```c\nint y;\n```\n```python\nz\n```\n",
                    {"a.c": "    int x;\n"})
    print(f"{total} blocks, {failed} not in their files")
    return 1 if failed or not total or control != (["block 2, a.c: int y;",
                                                    "block 3, None: z"], 3) else 0


if __name__ == "__main__":
    sys.exit(main())
