#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""CMake finds an installed heed: cmake.py TOP BUILD

One project is built with both targets, in C and C++, and run; others only ask, for versions that
there are and are not, and for components.
"""

import pathlib
import shutil
import sys
import tempfile

from stage import expect, installed, run, skip

PROJECT = """cmake_minimum_required(VERSION 3.13)
project(uses_heed C CXX)
find_package(heed 0.2 REQUIRED COMPONENTS shared static)
find_package(heed 0.2 REQUIRED)     # a second time
foreach(kind heed heed_static)
    add_executable(by_${kind} minimal.c)
    target_link_libraries(by_${kind} PRIVATE heed::${kind})
endforeach()
add_executable(cxx main.cc)
target_link_libraries(cxx PRIVATE heed::heed_static)
"""
MAIN = "#include <heed/attn.h>\nint main() { return heed_version() == 0; }\n"
RANKS = """cmake_minimum_required(VERSION 3.13)
project(uses_heed_mpi C)
find_package(heed 0.2 REQUIRED COMPONENTS mpi)
add_executable(ranks ranks.c)
target_link_libraries(ranks PRIVATE heed::mpi m)
"""
ASKS = """cmake_minimum_required(VERSION 3.19)
project(asks C)
macro(ask text)
    unset(heed_DIR CACHE)
    find_package(heed ${ARGN} QUIET)
    message(STATUS "${text}: ${heed_FOUND} ${heed_VERSION}")
endmacro()
"""
# What is asked for, and whether it is there.
ASKED = [("", True), ("0", True), ("0.2", True), ("0.2.0", True), ("0.2.0 EXACT", True),
         ("0.1", False), ("0.3", False), ("0.2.1", False), ("1", False), ("1.0", False),
         ("0.2...0.4", True), ("0.3...0.4", False), ("0.1...<0.2", False),
         ("0.2 COMPONENTS shared", True), ("COMPONENTS static shared", True),
         ("COMPONENTS cuda", False), ("0.2 OPTIONAL_COMPONENTS cuda", True)]


def check_built(top, prefix, folder):
    shutil.copy(top / "examples/minimal.c", folder)
    (folder / "main.cc").write_text(MAIN, encoding="utf-8")
    (folder / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
    run("cmake", "-S", folder, "-B", folder / "out", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", folder / "out")
    rows = {run(folder / "out" / name) for name in ("by_heed", "by_heed_static")}
    run(folder / "out/cxx")
    expect(len(rows) == 1, f"shared and static print different rows: {rows}")
    needs = {name: "libheed.so" in run("readelf", "-d", folder / "out" / name)
             for name in ("by_heed", "by_heed_static", "cxx")}
    expect(needs == {"by_heed": True, "by_heed_static": False, "cxx": False}, str(needs))
    return rows.pop()


def check_ranks(top, prefix, folder):
    """Whether libheed-mpi is installed; if it is, its example is built."""
    if not (prefix / "lib/pkgconfig/heed-mpi.pc").exists() and \
            not list(prefix.glob("lib/*/pkgconfig/heed-mpi.pc")):
        return False
    folder.mkdir()
    shutil.copy(top / "examples/mpi/how_many_ranks.c", folder / "ranks.c")
    (folder / "CMakeLists.txt").write_text(RANKS, encoding="utf-8")
    run("cmake", "-S", folder, "-B", folder / "out", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", folder / "out")
    needs = run("readelf", "-d", folder / "out/ranks")
    expect("libheed-mpi.so" in needs, needs)
    return True


def check_asked(prefix, folder):
    folder.mkdir()
    lines = [f'ask("{asked}" {asked})\n' for asked, _ in ASKED]
    (folder / "CMakeLists.txt").write_text(ASKS + "".join(lines), encoding="utf-8")
    text = run("cmake", "-S", folder, "-B", folder / "out", f"-DCMAKE_PREFIX_PATH={prefix}")
    for asked, there in ASKED:
        wanted = f"-- {asked}: {'1' if there else '0'}"
        expect(any(line.startswith(wanted) for line in text.splitlines()),
               f"wanted {wanted!r}:\n{text}")


def main():
    top, build = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    if not shutil.which("cmake") or not shutil.which("c++"):
        skip("cmake or a compiler of C++ is not installed")
    prefix = installed(build)
    with tempfile.TemporaryDirectory() as name:
        row = check_built(top, prefix, pathlib.Path(name))
        check_asked(prefix, pathlib.Path(name) / "asks")
        ranks = check_ranks(top, prefix, pathlib.Path(name) / "ranks")
    print(f"{len(ASKED)} wishes; shared and static: {row.strip()}" + ("; ranks" if ranks else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
