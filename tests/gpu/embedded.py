#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""A machine with a driver of CUDA and nothing else runs what is embedded: embedded.py ROWS KERNELS

ROWS (rows.c) says which kernels plans of attention launch, with few buffers and with many. All of
them are embedded (backends/cuda/cubins.py), and of the kernels of attention nothing else is.
"""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "backends/cuda"))
sys.dont_write_bytecode = True
import cubins                   # noqa: E402


def main():
    rows, kernels = sys.argv[1:3]
    said = subprocess.run([rows], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    wanted = {(name, int(large)) for name, large in (line.split(";") for line in said)}
    there = set(cubins.embedded(kernels))
    missing = wanted - there
    idle = {one for one in there - wanted if one[0].startswith(("workgroup_", "matrix_"))}
    for name, large in sorted(missing):
        print(f"{name}, large {large}: a plan launches it, and it is not embedded")
    for name, large in sorted(idle):
        print(f"{name}, large {large}: embedded, and no plan here launches it")
    print(f"{len(wanted)} kernels are launched, {len(missing)} of them not embedded, {len(idle)} idle")
    return 1 if missing or idle else 0


if __name__ == "__main__":
    sys.exit(main())
