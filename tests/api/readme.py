#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The first C block of README.md compiles as it stands and runs.

readme.py TOP LIBRARY [compiler arguments]: 77 while README.md has no such block.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile


def main():
    top, library = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    readme = top / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    match = re.search(r"^```c\n(.*?)^```$", text, flags=re.S | re.M)
    if not match:
        print("README.md has no C example")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "example.c"), pathlib.Path(folder, "example")
        source.write_text(match[1], encoding="utf-8")
        command = [*shlex.split(os.environ.get("CC", "cc")), "-std=c17", "-Wall", "-Wextra",
                   "-Werror", "-I", str(top / "include"), str(source), "-o", str(program),
                   str(library), f"-Wl,-rpath,{library.parent}", *sys.argv[3:], "-lm"]
        result = subprocess.run(command, check=False)
        if result.returncode == 0:
            result = subprocess.run([str(program)], check=False, timeout=60)
    print(f"{len(match[1].splitlines())} lines, status {result.returncode}")
    return 0 if result.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
