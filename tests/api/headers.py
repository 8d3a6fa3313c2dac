#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The public headers compile alone, together and in any order, in every language they promise.

headers.py TOP HEADER...: each HEADER is a name as the caller writes it, "heed/attn.h". Compilers
that are absent are named and left out; with none at all the test is skipped. Headers over a
vendor's are left out, by name, where a compiler has not the vendor's.
"""

import itertools
import pathlib
import shutil
import subprocess
import sys
import tempfile

LANGUAGES = [
    ("c", "c99", ["gcc", "clang"]),
    ("c", "c11", ["gcc", "clang"]),
    ("c", "c17", ["gcc", "clang"]),
    ("c++", "c++11", ["g++", "clang++"]),
]
VENDORS = {"heed/opencl.h": "CL/cl.h", "heed/cuda.h": "cuda.h", "heed/mpi.h": "mpi.h"}
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wpadded", "-Wconversion", "-Wshadow", "-Werror"]


def usable(compiler):
    """Present, and with the standard headers of its language."""
    language = "c++" if compiler.endswith("++") else "c"
    header = "<vector>" if language == "c++" else "<stdint.h>"
    return shutil.which(compiler) is not None and subprocess.run(
        [compiler, "-x", language, "-fsyntax-only", "-"], input=f"#include {header}\n", text=True,
        capture_output=True, check=False).returncode == 0


def vendors_of(compiler):
    """The headers of VENDORS that this compiler cannot be given."""
    return {name for name, vendor in VENDORS.items() if subprocess.run(
        [compiler, "-fsyntax-only", "-DCL_TARGET_OPENCL_VERSION=120", "-x",
         "c++" if compiler.endswith("++") else "c", "-"], input=f"#include <{vendor}>\n",
        text=True, capture_output=True, check=False).returncode != 0}


def compile_text(compiler, language, standard, top, text):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "unit.c" if language == "c" else "unit.cc")
        source.write_text(text, encoding="utf-8")
        return subprocess.run(
            [compiler, "-std=" + standard, *WARNINGS, "-I", str(top / "include"), "-c",
             str(source), "-o", str(source.with_suffix(".o"))],
            text=True, capture_output=True, check=False)


def main():
    top = pathlib.Path(sys.argv[1])
    headers = sys.argv[2:]
    found = sorted(str(path.relative_to(top / "include"))
                   for path in (top / "include").rglob("*.h"))
    if found != sorted(headers):
        print(f"the tree has {found}, the build installs {sorted(headers)}")
        return 1

    sets = [[name] for name in headers]
    sets += [list(order) for order in itertools.permutations(headers)] if len(headers) < 5 else [
        headers, headers[::-1]]
    sets += [[name, name] for name in headers]
    state = {name: usable(name) for name in ("gcc", "clang", "g++", "clang++")}
    for name, present in state.items():
        if not present:
            print(f"left out: no usable {name}")
    if not any(state.values()):
        return 77
    lacking = {name: vendors_of(name) for name, present in state.items() if present}
    for name, left_out in lacking.items():
        for header in sorted(left_out):
            print(f"left out: {header} with {name}, which has no <{VENDORS[header]}>")

    failures = tried = 0
    for language, standard, compilers in LANGUAGES:
        for compiler in (name for name in compilers if state[name]):
            kept = {tuple(n for n in names if n not in lacking[compiler]) for names in sets}
            for names in sorted(kept - {()}):
                text = "".join(f"#include <{name}>\n" for name in names)
                text += ("int heed_unit(void);\n"
                         "int heed_unit(void) { return (int)heed_version(); }\n")
                result = compile_text(compiler, language, standard, top, text)
                tried += 1
                if result.returncode != 0:
                    failures += 1
                    print(f"{compiler} -std={standard} {' '.join(names)}:\n{result.stderr}")
    print(f"{tried} compilations, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
