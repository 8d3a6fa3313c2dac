#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""What the libraries export and import.

symbols.py TOP [--shared FILE] [--static FILE] [--model FILE] [--static-model FILE]
    [--tile ISA=FILE]... [--assertions]

The shared library exports the names of lib/heed.map, which are those the headers declare, and that
of models those of model/heed-model.map and heed/model.h. The static ones define no other global names
than heed_*. No object calls what a library must not
(abort, exit, stdio, the environment) or what would make bits depend on the C library (exp, ...):
what may be imported is listed here. Objects compiled for one processor family define no global
name that an object for another could be replaced by.
"""

import argparse
import pathlib
import re
import subprocess
import sys

IMPORTS = re.compile(r"""^(
    mem(cpy|move|set|cmp|chr) | bcmp | str(len|cmp|ncmp|chr|rchr|nlen|str|c?spn|tol|toul|toll|toull)
  | v?snprintf | __v?snprintf_chk | __mem(cpy|move|set)_chk | __str(cpy|cat|ncpy)_chk
  | malloc | calloc | free | aligned_alloc | posix_memalign
  | nextafterf | sqrtf? | fmaf? | fabsf? | floorf? | ceilf? | truncf? | rintf? | ldexpf? | scalbnf? | frexpf?
  | copysignf? | fe(getround|setround|getenv|setenv|holdexcept|updateenv|clearexcept|raiseexcept)
  | dl(open|sym|close) | pthread_(once|mutex_(init|lock|unlock|destroy)) | sysconf | getauxval
  | GOMP_[a-z_]+ | omp_[a-z_]+ | __kmpc_[a-z_0-9]+
  | __stack_chk_fail | _GLOBAL_OFFSET_TABLE_ | __tls_get_addr | __cpu_model | __cpu_indicator_init
  | __isoc23_strto(l|ul|ll|ull) | __(u?div|u?mod|mul)(t|d)i[34]
  | __(atomic|aarch64)_[a-z0-9_]+
)$""", re.VERBOSE)
# Objects that may import more: files are for the cache of compiled kernels alone, and the name of a
# vendor's library is that of its file.
SPECIAL = {
    "lib_core_threads.c.o": re.compile(
        r"clock_gettime|sched_yield|pthread_(join|cond_(init|wait|signal|broadcast|destroy))"),
    "lib_core_os_posix.c.o": re.compile(
        r"getpid|sched_getaffinity|__sched_cpucount|sigfillset|pthread_(create|sigmask)"),
    "backends_cpu_isa.c.o": re.compile(r"syscall"), # the use of tiles has no function of its own
    "backends_device_process.c.o": re.compile(r"dladdr|realpath(\$\w+)?"),
    "backends_device_cache.c.o": re.compile(
        r"(__errno_location|__error|clock_gettime|close|f?stat(64)?|__fxstat(64)?|geteuid|getpid"
        r"|mkdir|open(at)?(64)?|read|renameat|unlinkat|write)(\$\w+)?"),
}
ASSERTIONS = {"__assert_fail"}
ALWAYS = {"_init", "_fini", "_edata", "_end", "__bss_start", "__gmon_start__", "HEED_0",
          "HEED_MODEL_0"}


def nm(*arguments):
    """Pairs (file inside an archive or '', type letter, name)."""
    text = subprocess.run(["nm", *map(str, arguments)], text=True, capture_output=True,
                          check=True).stdout
    member, rows = "", []
    for line in text.splitlines():
        if line.endswith(":"):
            member = line[:-1]
            continue
        fields = line.split()
        if len(fields) >= 2 and len(fields[-2]) == 1:
            rows.append((member, fields[-2], fields[-1].split("@")[0]))
    return rows


def map_names(top, file="lib/heed.map"):
    text = re.sub(r"/\*.*?\*/", "", (top / file).read_text(encoding="utf-8"), flags=re.S)
    return set(re.findall(r"\b(heed_\w+)\s*;", text))


def declared_names(top, macro="HEED_API"):
    names = set()
    for path in (top / "include/heed").glob("*.h"):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
        names |= set(re.findall(rf"\b{macro}\b[^;{{]*?\b(heed_\w+)\s*\(", text))
    return names


def difference(left, left_name, right, right_name):
    lines = [f"{name}: in {left_name}, not in {right_name}" for name in sorted(left - right)]
    return lines + [f"{name}: in {right_name}, not in {left_name}"
                    for name in sorted(right - left)]


def check_shared(path, names, file="lib/heed.map"):
    exported = {name for _, _, name in nm("-D", "--defined-only", path)} - ALWAYS
    lines = difference(exported, path.name, names, file)
    return lines + [f"{path.name} exports {name}" for name in sorted(exported)
                    if not name.startswith("heed_")]


def check_static(path, assertions):
    lines = [f"{path.name}: {member} defines {name}"
             for member, _, name in nm("-g", "--defined-only", path)
             if not name.startswith("heed_")]
    for member, _, name in nm("-u", path):
        if not (name.startswith("heed_") or IMPORTS.match(name)
                or (member in SPECIAL and SPECIAL[member].fullmatch(name))
                or (assertions and name in ASSERTIONS)):
            lines.append(f"{path.name}: {member} imports {name}")
    return lines


def check_names(path):
    return [f"{path.name}: {member} defines {name}: model/names.h"
            for member, _, name in nm("-g", "--defined-only", path)
            if not name.startswith("heed_")]


def check_tile(isa, path):
    return [f"{path.name}: {name} does not end with _{isa}"
            for _, _, name in nm("-g", "--defined-only", path) if not name.endswith("_" + isa)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("top", type=pathlib.Path)
    parser.add_argument("--shared", type=pathlib.Path)
    parser.add_argument("--static", type=pathlib.Path)
    parser.add_argument("--model", type=pathlib.Path)
    parser.add_argument("--static-model", type=pathlib.Path)
    parser.add_argument("--tile", action="append", default=[])
    parser.add_argument("--assertions", action="store_true")
    options = parser.parse_args()

    names = map_names(options.top)
    lines = difference(names, "lib/heed.map", declared_names(options.top), "include/heed")
    if options.shared:
        lines += check_shared(options.shared, names)
    if options.model:
        file = "model/heed-model.map"
        own = map_names(options.top, file)
        lines += difference(own, file, declared_names(options.top, "HEED_MODEL_API"),
                            "include/heed")
        lines += check_shared(options.model, own, file)
    if options.static:
        lines += check_static(options.static, options.assertions)
    if options.static_model:
        lines += check_names(options.static_model)
    for row in options.tile:
        isa, path = row.split("=", 1)
        lines += check_tile(isa, pathlib.Path(path))
    print("\n".join(lines) if lines else f"{len(names)} exported names, nothing else")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
