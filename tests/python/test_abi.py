#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The table of the binding against the headers: test_abi.py PACKAGE PROBE [mpi].

Every struct has in ctypes the size and the offsets that the C compiler gives it, as PROBE, a program
of the build, prints them. PACKAGE is bindings/python of the build folder; mpi: PROBE knows heed/mpi.h.
"""

import ctypes
import importlib
import pathlib
import subprocess
import sys
import types

sys.dont_write_bytecode = True


def table_of(folder):
    """_abi.py and the table of scalars, without the package, which needs NumPy and a library."""
    package = types.ModuleType("heed")
    package.__path__ = [str(folder / "heed")]
    sys.modules["heed"] = package
    return importlib.import_module("heed._abi"), importlib.import_module("heed._structs")


def lines_of(abi, structs):
    for name, made in structs.STRUCT.items():
        yield f"{name} - 0 {ctypes.sizeof(made)}"
        for field, _ in made._fields_:
            place = getattr(made, field)
            yield f"{name} {field} {place.offset} {place.size}"
    for name, value in abi.CONSTANTS.items():
        yield f"{name} = {value} 0"


def main():
    wanted = subprocess.run([sys.argv[2]], text=True, capture_output=True, check=True).stdout
    got, wanted = list(lines_of(*table_of(pathlib.Path(sys.argv[1])))), wanted.splitlines()
    if sys.argv[3:] != ["mpi"]:
        got = [line for line in got if not line.lower().startswith("heed_mpi_")]
    wrong = [f"got {a!r}, C has {b!r}" for a, b in zip(got, wanted) if a != b]
    print("\n".join(wrong[:20]))
    print(f"{len(wanted)} sizes, offsets and constants; {len(wrong)} differ")
    return int(bool(wrong or len(got) != len(wanted) or not wanted))


if __name__ == "__main__":
    sys.exit(main())
