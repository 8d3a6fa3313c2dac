#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Device code in every dialect: dialects.py TOP

backends/kernels/spans.h is written to be compiled as C17, C++, OpenCL C 1.2 and 3.0, and CUDA. A
kernel that calls its functions is given to each compiler that is there, with warnings as errors;
then every row of kernels.def, as OpenCL C in both versions and, if not for processors, as CUDA.
A last call that must be refused shows that the compiler looked. Exit status 77: there is none.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

BODY = r"""
    struct hk_reach reach;
    hk_u64 available;

    hk_reach_find(&sub[1], &item[1], row, &reach);
    available = hk_block_mask(&sub[1], &item[1], &reach, block);
    out[0] = hk_row_mask(&sub[1], &item[1], row, &reach, block, available);
    out[1] = (hk_u64)hk_key(&sub[1], &item[1], &reach, block * 64);
"""
ARGUMENTS = "const struct hk_sub *sub, const struct hk_sub_view *item, const struct hk_row *row"
HOST = f"""#include "backends/kernels/spans.h"
void words({ARGUMENTS}, hk_i64 block, hk_u64 *out);
void words({ARGUMENTS}, hk_i64 block, hk_u64 *out)
{{{BODY}}}
"""
OPENCL = f"""#include "backends/kernels/spans.h"
static void words({ARGUMENTS}, hk_i64 block, __global hk_u64 *out)
{{{BODY}}}
__kernel void look(__global const int *list, __global const uchar *mask, __global ulong *out)
{{
    struct hk_sub sub[2];
    struct hk_sub_view item[2];
    struct hk_row row;

    for (int i = 0; i < 2; i++) {{
        sub[i].kind = (hk_u32)get_global_id(0);
        item[i].list = list;
        item[i].mask = mask;
        item[i].globals = out;
    }}
    row.index = 0;
    words(sub, item, &row, get_global_id(0), out);
}}
"""
CUDA = f"""#include "backends/kernels/spans.h"
__global__ void look({ARGUMENTS}, hk_i64 block, hk_u64 *out)
{{{BODY}}}
"""
WRONG = "\nint wrong(void) { return hk_no_such_function(1); }\n"

WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Werror", "-Wno-unused-function"]
CL = ["clang", "-x", "cl", "-Xclang", "-finclude-default-header", "-fsyntax-only", *WARNINGS]
DIALECTS = [
    ("C17", "c", HOST, ["cc", "-std=c17", "-fsyntax-only", *WARNINGS]),
    ("C++11", "cpp", HOST, ["c++", "-std=c++11", "-fsyntax-only", *WARNINGS]),
    ("OpenCL C 1.2", "cl", OPENCL, [*CL, "-cl-std=CL1.2"]),
    ("OpenCL C 3.0", "cl", OPENCL, [*CL, "-cl-std=CL3.0"]),
    ("CUDA", "cu", CUDA, ["nvcc", "-Werror", "all-warnings", "-c", "-o", "look.o"]),
]

SMALL = ["-DHK_LARGE=0", "-DHK_GROUP_ROWS=32", "-DHK_GROUP_SUMS=16", "-DHK_TILE_ROWS=6"]
LARGE = ["-DHK_LARGE=1", "-DHK_GROUP_ROWS=64", "-DHK_GROUP_SUMS=64", "-DHK_TILE_ROWS=12"]
PROGRAMS = [
    ("OpenCL C 1.2", "cl", [*CL, "-cl-std=CL1.2", *SMALL]),
    ("OpenCL C 1.2, many buffers", "cl", [*CL, "-cl-std=CL1.2", "-DHK_LARGE=1", *SMALL[1:]]),
    ("OpenCL C 3.0", "cl", [*CL, "-cl-std=CL3.0", *LARGE]),
    ("CUDA", "cu", ["nvcc", "-Werror", "all-warnings", "-arch=sm_80", "-ptx", "-o", "look.ptx",
                    *LARGE]),
]


def programs(top):
    """(title, suffix, text, command) of every row in every dialect that it is written for. CUDA:
    one row of each file, as compiling takes long; every row's code is looked at by ptx.py."""
    sys.path.insert(0, str(top / "backends/device"))
    sys.dont_write_bytecode = True
    import sources

    for dialect, suffix, command in PROGRAMS:
        seen, command = set(), hasty(command)
        for name, file, options, shape in sources.rows(top / "backends/kernels"):
            text = f'#include "backends/kernels/{file}"\n'
            if suffix == "cu" and (shape in ("lanes", "opencl") or file in seen):
                continue
            if shape == "halves":       # C17 alone
                continue
            yield f"{dialect}, {name}", suffix, text, [*command, *options.split()], file in seen
            seen.add(file)


def hasty(command):
    """The command without the optimizer, whose time is most of nvcc's, where nvcc can be told so."""
    if command[0] != "nvcc" or not shutil.which("nvcc"):
        return command
    told = subprocess.run(["nvcc", "--help"], text=True, check=False, stdout=subprocess.PIPE)
    return [*command, "-Ofc", "max"] if "--Ofast-compile" in told.stdout else command


def accepts(top, folder, command, suffix, text):
    source = folder / f"look.{suffix}"
    source.write_text(text, encoding="utf-8")
    return subprocess.run([*command, "-I", str(top), str(source)], cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("top", type=pathlib.Path)
    top = parser.parse_args().top.resolve()
    tried = failed = 0
    with tempfile.TemporaryDirectory() as name:
        spans = [(*row, False) for row in DIALECTS]
        for dialect, suffix, text, command, again in [*spans, *programs(top)]:
            if shutil.which(command[0]) is None:
                print(f"{dialect}: skipped, there is no {command[0]}")
                continue
            tried += suffix in ("cl", "cu")
            result = accepts(top, pathlib.Path(name), command, suffix, text)
            right = result.returncode == 0
            if not again:
                control = accepts(top, pathlib.Path(name), command, suffix, text + WRONG)
                right = right and control.returncode != 0
            failed += not right
            print(f"{dialect}: {'accepted' if right else 'FAILED'}")
            if not right:
                print(result.stdout if result.returncode else "what is wrong was accepted")
    if failed:
        return 1
    return 0 if tried else 77


if __name__ == "__main__":
    sys.exit(main())
