#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""What nvcc made of every embedded kernel: cuda_code.py TOP FOLDER NVCC

FOLDER holds what the build left beside the cubins (backends/cuda/cubins.py): PTX, and what ptxas
says. EXACT on CUDA stands on the first: the f32 add, sub, mul and fma are rounded to nearest and
never flushed, approximated or contracted. In the second, the main shapes spill no register on any
architecture but sums over chunks, where that lets more groups share a multiprocessor; what a plan
with many buffers may launch is there; and all kernels fit the 48 KiB of shared memory that need not be asked for. The same
text compiled with -use_fast_math, and held to 32 registers, must be caught.
"""

import pathlib
import re
import sys
import tempfile

ARITHMETIC = re.compile(r"^\s*(?:@%?!?\w+\s+)?((?:add|sub|mul|fma|mad|div|rcp|sqrt)[.\w]*\.f32)\b",
                        re.MULTILINE)
RIGHT = re.compile(r"(add|sub|mul|fma|rcp|div|sqrt)\.rn\.f32")
WRONG = re.compile(r"\.ftz|\.approx|\b(ex2|lg2|sin|cos|tanh|rsqrt)\.")
# Bytes that they may spill.
MAIN = {f"workgroup_{width}_{dtype}": spills for width, spills in (("64", 400), ("128", 0), ("few", 80))
        for dtype in ("f32", "f16", "bf16")}
# Of prepare.c: attend_choose and launches_choose with a plan that is `large`.
LARGE = {"prepare", "workgroup_keep", "workgroup_few_any", "workgroup_few_scaled_any",
         "workgroup_few_join"} | {f"workgroup_{width}_{kind}" for width in (64, 128)
                                  for kind in ("ranges", "any", "scaled_any")}
# Only integers, comparisons and moves.
NO_SUMS = {"prepare", "workgroup_keep", "join_workgroup", "push_end_workgroup", "order_workgroup",
           "test_matrix_f16", "test_matrix_bf16"}
FAST = ["-use_fast_math"]
HELD = ["-maxrregcount=32", "-Xptxas", "-override-directive-values"]    # of __launch_bounds__
SHARED_LIMIT = 48 * 1024
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")
ARCH = re.compile(r"Compiling entry function 'heed_kernel' for '(\w+)'")


def breaches(text):
    """Instructions of a PTX text that change bits."""
    lines = [name for name in ARITHMETIC.findall(text) if not RIGHT.fullmatch(name)]
    return lines + [line.strip() for line in text.splitlines() if WRONG.search(line)]


def parts(text):
    """(architecture, stack, stores, loads, registers, shared) of each in ptxas's report."""
    for part in re.split(r"(?=ptxas info\s*: Compiling entry)", text):
        arch = ARCH.search(part)
        if arch:
            shared = SHARED.search(part)
            yield (arch[1], *map(int, SPILLS.search(part).groups()),
                   int(USED.search(part)[1]), int(shared[1]) if shared else 0)


def arithmetic_is_right(name, large, ptx):
    found, sums = breaches(ptx), len(ARITHMETIC.findall(ptx))
    print(f"{name}, large {large}: {sums} operations, {len(found)} wrong {found[:3]}")
    return not found and (sums > 0) != (name in NO_SUMS)


def registers_suffice(name, report, machines):
    rows = list(parts(report))
    right = [row[0] for row in rows] == [f"sm_{arch}" for arch in machines]
    for arch, stack, stores, loads, registers, shared in rows:
        wrong = shared > SHARED_LIMIT or max(stores, loads) > MAIN.get(name, 1 << 30)
        right = right and not wrong
        print(f"    {arch:7} registers {registers:3}, shared {shared:5}, stack {stack:4}, spilled "
              f"{stores}, loaded {loads}{'  WRONG' if wrong else ''}")
    return right


def main():
    top, folder = (pathlib.Path(word) for word in sys.argv[1:3])
    nvcc = sys.argv[3]
    sys.path.insert(0, str(top / "backends/cuda"))
    sys.dont_write_bytecode = True
    import cubins               # the build's own options

    kernels = top / "backends/kernels"
    todo = list(cubins.embedded(kernels))
    failed, machines = not todo, cubins.known(nvcc)
    for name, large in todo:
        made = folder / f"cuda_{name}_{large}.fatbin"
        right = arithmetic_is_right(name, large, made.with_suffix(".ptx").read_text("utf-8"))
        failed |= not right
        failed |= not registers_suffice(name, made.with_suffix(".txt").read_text("utf-8"), machines)
    missing = set(MAIN) - {name for name, _ in todo} | LARGE - {name for name, large in todo if large}
    print(f"not there: {sorted(missing)}")

    with tempfile.TemporaryDirectory() as room:
        made = pathlib.Path(room, "control.fatbin")
        cubins.compile_cubin(nvcc, kernels, "workgroup_64_f32", 0, made, None, *FAST)
        caught = len(breaches(made.with_suffix(".ptx").read_text("utf-8")))
        cubins.compile_cubin(nvcc, kernels, "workgroup_64_f32", 0, made, None, *HELD)
        spilled = any(row[2] for row in parts(made.with_suffix(".txt").read_text("utf-8")))
    print(f"controls: fast arithmetic caught {caught} times, 32 registers {spilled}")
    return 1 if failed or missing or not caught or not spilled else 0


if __name__ == "__main__":
    sys.exit(main())
