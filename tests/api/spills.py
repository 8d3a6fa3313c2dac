#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Registers of the CUDA kernels: spills.py TOP

The main shapes must spill no register on any architecture whose machine code is embedded; ptxas says
what it did. All kernels must fit the 48 KiB of shared memory that need not be asked for. A kernel
held to 32 registers must be caught. Exit status 77: there is no nvcc.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

MAIN = [f"workgroup_{width}_{dtype}" for width in (64, 128) for dtype in ("f32", "f16", "bf16")]
HELD = ["-maxrregcount=32", "-Xptxas", "-override-directive-values"]    # of __launch_bounds__
SHARED_LIMIT = 48 * 1024
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")
ARCH = re.compile(r"Compiling entry function 'heed_kernel' for '(\w+)'")


def parts(text):
    """(architecture, stack, stores, loads, registers, shared) of each in ptxas's report."""
    for part in re.split(r"(?=ptxas info\s*: Compiling entry)", text):
        arch = ARCH.search(part)
        if arch:
            shared = SHARED.search(part)
            yield (arch[1], *map(int, SPILLS.search(part).groups()),
                   int(USED.search(part)[1]), int(shared[1]) if shared else 0)


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
    machines = images.known(nvcc)

    def report(row):
        name, large, *more = row
        with tempfile.TemporaryDirectory() as folder:
            command = images.command(nvcc, kernels, name, large)
            for arch in machines:
                command += ["-gencode", f"arch=compute_{images.PORTABLE},code=sm_{arch}"]
            command += ["-Xptxas", "-v", "-fatbin", "-o", f"{folder}/x.fatbin", *more]
            return list(parts(subprocess.run(command, text=True, capture_output=True,
                                             check=True).stderr))

    failed = 0
    todo = list(images.embedded(kernels))
    print("kernel         large  machine  registers  shared  stack  spilled  loaded")
    with ThreadPoolExecutor(2) as pool:
        for (name, large), rows in zip(todo, pool.map(report, todo)):
            failed += len(rows) != len(machines)
            for arch, stack, stores, loads, registers, shared in rows:
                wrong = shared > SHARED_LIMIT or (name in MAIN and (stores or loads))
                failed += bool(wrong)
                print(f"{name:14} {large:5}  {arch:7}  {registers:9}  {shared:6}  {stack:5}  "
                      f"{stores:7}  {loads:6}{'  WRONG' if wrong else ''}")
    missing = set(MAIN) - {name for name, _ in todo}
    caught = any(row[2] for row in report(("workgroup_64_f32", 0, *HELD)))
    print(f"not there: {sorted(missing)}; control with 32 registers caught: {caught}")
    return 1 if failed or missing or not caught else 0


if __name__ == "__main__":
    sys.exit(main())
