#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""What nvcc makes of every kernel: ptx.py TOP

EXACT on CUDA stands on this: in the PTX of every kernel the f32 add, sub, mul and fma are rounded
to nearest and never flushed, approximated or contracted. The same text compiled with -use_fast_math
must be caught. Exit status 77: there is no nvcc.
"""

import pathlib
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ARITHMETIC = re.compile(r"^\s*(?:@%?!?\w+\s+)?((?:add|sub|mul|fma|mad|div|rcp|sqrt)[.\w]*\.f32)\b",
                        re.MULTILINE)
RIGHT = re.compile(r"(add|sub|mul|fma|rcp|div|sqrt)\.rn\.f32")
WRONG = re.compile(r"\.ftz|\.approx|\b(ex2|lg2|sin|cos|tanh|rsqrt)\.")


def breaches(text):
    lines = [f"{name}" for name in ARITHMETIC.findall(text) if not RIGHT.fullmatch(name)]
    return lines + [line.strip() for line in text.splitlines() if WRONG.search(line)]


def main():
    top = pathlib.Path(sys.argv[1])
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        print("skipped: no nvcc")
        return 77
    sys.path.insert(0, str(top / "backends/cuda"))
    sys.dont_write_bytecode = True
    import images               # the build's own options

    kernels = top / "backends/kernels"

    def compiled(name, large, fast=False):
        command = images.command(nvcc, kernels, name, large)
        if fast:                # what is said about single points would win
            command = [word for word in command if not re.match("-(ftz|prec|-fmad)", word)]
            command.append("-use_fast_math")
        command += ["-ptx", "-arch", f"compute_{images.PORTABLE}", "-o", "/dev/stdout"]
        return subprocess.run(command, text=True, capture_output=True, check=True).stdout

    failed = 0
    todo = list(images.embedded(kernels))
    with ThreadPoolExecutor(2) as pool:
        texts = pool.map(lambda row: compiled(*row), todo)
        for (name, large), text in zip(todo, texts):
            found, sums = breaches(text), len(ARITHMETIC.findall(text))
            print(f"{name}, large {large}: {sums} operations, {len(found)} wrong {found[:3]}")
            failed += bool(found) or (sums == 0 and name != "prepare")
    caught = len(breaches(compiled("workgroup_64_f32", 0, fast=True)))
    print(f"control with -use_fast_math: {caught} caught")
    return 1 if failed or not caught or not todo else 0


if __name__ == "__main__":
    sys.exit(main())
