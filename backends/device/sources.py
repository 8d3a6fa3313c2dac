#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Device code as data, for the library to hand to compilers: sources.py FOLDER OUTPUT DEPFILE

Writes OUTPUT, the table heed_kernel_texts of backends/device/device.h with every *.h and *.cl of
FOLDER and its rooms (of the vocabularies in simd/ those of OpenCL C, one lane and four lanes, and
what they share), and DEPFILE, which names all of them and the folders: an edit and a new file
both rebuild.

sources.py FOLDER --rows: kernels.def instead, a line `name;file;options;shape` for each row. Other
scripts import rows().
"""

import pathlib
import re
import sys

MAX_TEXTS = 256                 # as kernels.c, which keeps a mark for each
HEAD = """/* Made by backends/device/sources.py from backends/kernels. */
#include "backends/device/device.h"

"""
VOCABULARIES = ("opencl", "scalar", "four", "pack_one")
ROW = re.compile(r'^HK_KERNEL\((\w+), "([\w./]+)", "([^"]*)"\)$')


def shape(name):
    """What devices a row is for, by the words of its name: processors, their OpenCL alone, those
    that multiply pairs of halves, GPUs, those of them that have a matrix unit, or any."""
    words = set(name.split("_")) & {"lanes", "opencl", "halves", "workgroup", "matrix"}
    return words.pop() if len(words) == 1 else "any"


def rows(folder):
    """(name, file, options, shape) of each row of kernels.def."""
    text = (folder / "kernels.def").read_text(encoding="ascii")
    for line in re.sub(r",\n +", ", ", text).splitlines():
        if line.startswith("HK_KERNEL("):
            match = ROW.match(line)
            if match is None:
                sys.exit(f"kernels.def: not HK_KERNEL(name, \"file\", \"options\"): {line}")
            yield *match.groups(), shape(match[1])


def as_array(name, data):
    """A string of this length would be beyond what C promises: the bytes, one by one."""
    values = [str(byte) for byte in data] + ["0"]
    lines = [",".join(values[at:at + 24]) for at in range(0, len(values), 24)]
    return f"static const char {name}[] = {{\n" + ",\n".join(lines) + "\n};\n"


def main():
    folder = pathlib.Path(sys.argv[1])
    if sys.argv[2] == "--rows":
        print("\n".join(";".join(row) for row in rows(folder)))
        return
    output, depfile = sys.argv[2:]
    paths = sorted(path for path in folder.rglob("*.*") if path.suffix in (".h", ".cl")
                   and (path.parent.name != "simd" or path.stem in VOCABULARIES))
    if not 0 < len(paths) < MAX_TEXTS:
        sys.exit(f"{len(paths)} files in {folder}, kernels.c can take {MAX_TEXTS - 1}")
    text, table = HEAD, ""
    for number, path in enumerate(paths):
        data = path.read_bytes()
        if not data.isascii() or b"\0" in data or b"\r" in data:
            sys.exit(f"{path}: more than plain ASCII lines")
        text += as_array(f"text_{number}", data)
        table += f'    {{ "{path.relative_to(folder).as_posix()}", text_{number}, {len(data)} }},\n'
    text += f"\nconst struct heed_kernel_text heed_kernel_texts[] = {{\n{table}"
    text += "    { (void *)0, (void *)0, 0 },\n};\n"
    pathlib.Path(output).write_text(text, encoding="ascii")
    needed = " ".join(str(path).replace(" ", "\\ ")
                      for path in [*sorted({path.parent for path in paths}), *paths])
    pathlib.Path(depfile).write_text(f"{output}: {needed}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
