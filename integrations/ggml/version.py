#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Version and commit of ggml, as its own build notes them: version.py TREE [LIBRARY]

TREE is ggml's, or one of llama.cpp with ggml in it; LIBRARY is libggml-base of the host, which is
asked where it is given. Prints three lines: the folder of ggml, the version, the commit, which is
"unknown" where the tree is no clone.
"""

import ctypes
import pathlib
import re
import subprocess
import sys


def git(folder, *words):
    try:
        return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True,
                              check=False)
    except OSError:
        return None


def commit(folder):
    named = git(folder, "rev-parse", "--short", "HEAD")
    name = named.stdout.strip() if named and named.returncode == 0 else ""
    changed = git(folder, "diff-index", "--quiet", "HEAD", "--", ".") if name else None
    return (name or "unknown") + ("-dirty" if changed and changed.returncode == 1 else "")


def of_tree(folder):
    lists = folder / "CMakeLists.txt"
    parts = [re.search(rf"set\(GGML_VERSION_{part} (\d+)\)", lists.read_text(encoding="utf-8"))
             for part in ("MAJOR", "MINOR", "PATCH")]
    if not all(parts):
        sys.exit(f"{lists}: no version")
    return ".".join(part[1] for part in parts), commit(folder)


def of_library(path):
    library, said = ctypes.CDLL(path), []
    for name in ("ggml_version", "ggml_commit"):
        function = getattr(library, name)
        function.restype = ctypes.c_char_p
        said.append(function().decode("ascii"))
    return said


def main(tree, library=None):
    tree = pathlib.Path(tree).resolve()
    folder = tree / "ggml" if (tree / "ggml" / "CMakeLists.txt").is_file() else tree
    if not (folder / "src" / "ggml-backend-impl.h").is_file():
        sys.exit(f"{tree}: no source tree of ggml")
    print(folder, *(of_library(library) if library else of_tree(folder)), sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
