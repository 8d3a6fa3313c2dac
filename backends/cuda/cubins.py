#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels compiled by nvcc and embedded as data: machine code for a few architectures and PTX for
the rest, one cubin a kernel.

cubins.py probe NVCC: exit 0 if it compiles a kernel; prints the architectures.
cubins.py list KERNELS: what is embedded, a line `name;large` for each.
cubins.py compile NVCC KERNELS NAME LARGE OUTPUT DEPFILE [nvcc options]: one cubin, OUTPUT.fatbin,
    and beside it what tests look at: the PTX, and what ptxas says of registers in a .txt.
cubins.py embed OUTPUT NAME;LARGE=FILE...: the table heed_cuda_cubins of state.h.
cubins.py all NVCC KERNELS FOLDER OUTPUT: compile and embed, for builds without meson.

KERNELS is backends/kernels. Where a device loads no cubin, NVRTC compiles the same text.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

MACHINES = [80, 90, 100, 120]        # those of them that nvcc knows
PORTABLE = 80                   # all are made from this PTX, which is kept for what is newer
# No fused, flushed or approximate arithmetic: bits depend on it.
OPTIONS = ["-x", "cu", "-std=c++17", "--fmad=false", "-prec-div=true", "-prec-sqrt=true",
           "-ftz=false", "-DHK_GROUP_ROWS=64", "-DHK_GROUP_SUMS=64", "-DHK_TILE_ROWS=6"]
TYPES = ("f32", "f16", "bf16", "i8", "q8", "q4")  # kernels for one type of K and V take few buffers
UNIT = "-DHK_MMA=1"             # of all of them: kernels/dialect/mma.h
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "device"))
sys.dont_write_bytecode = True
import sources                  # noqa: E402


def rows(kernels):
    """(name, file, options) of kernels.def that a CUDA device can be given."""
    for name, file, options, shape in sources.rows(pathlib.Path(kernels)):
        if shape in ("workgroup", "any"):
            yield name, file, options.split()
        elif shape == "matrix":
            yield name, file, [*options.split(), UNIT]


def embedded(kernels):
    """(name, large): all with few buffers; with many those that a plan of many buffers launches
    (attend_choose, launches_choose of backends/device/prepare.c)."""
    for name, _, _ in rows(kernels):
        yield name, 0
        if name in ("prepare", "self_test") or (name.startswith("workgroup_") and
                                                name.split("_")[-1] not in TYPES):
            yield name, 1


def known(nvcc):
    """The architectures of MACHINES that this nvcc compiles for."""
    text = subprocess.run([nvcc, "--list-gpu-code"], capture_output=True, text=True,
                          check=True).stdout
    return [arch for arch in MACHINES if f"sm_{arch}" in text.split()]


def command(nvcc, kernels, name, large):
    """nvcc, the options of a row and its file; what is wanted of it comes on top."""
    for row, file, options in rows(kernels):
        if row == name:
            return [nvcc, *OPTIONS, *options, f"-DHK_LARGE={large}",
                    str(pathlib.Path(kernels) / file)]
    sys.exit(f"kernels.def has no row {name} for CUDA")


def compile_cubin(nvcc, kernels, name, large, output, depfile=None, *more):
    """PTX is made once; the machine code of every architecture is made from it."""
    output = pathlib.Path(output)
    codes = ",".join([f"compute_{PORTABLE}"] + [f"sm_{arch}" for arch in known(nvcc)])
    wanted = ["-gencode", f"arch=compute_{PORTABLE},code=[{codes}]", "-fatbin", "-Xfatbin",
              "-compress-all", "-Xptxas", "-v", *more]
    wanted += ["-MD", "-MF", str(depfile)] if depfile else []
    with tempfile.TemporaryDirectory() as folder:
        wanted += ["--keep", "--keep-dir", folder, "-o", str(output)]
        words = command(nvcc, kernels, name, large)
        if "-use_fast_math" in more:    # what is said about single points would win
            words = [word for word in words if not re.match("-(ftz|prec|-fmad)", word)]
        done = subprocess.run(words + wanted, text=True,
                              stderr=subprocess.PIPE, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        ptx = next(pathlib.Path(folder).glob("*.ptx"))
        output.with_suffix(".ptx").write_bytes(ptx.read_bytes())
    output.with_suffix(".txt").write_text(done.stderr, encoding="utf-8")


def as_array(number, data):
    """64-bit words in an array, not a string: C promises no strings of this length. Aligned, as
    the driver reads words."""
    data += bytes(-len(data) % 8)
    words = [f"{int.from_bytes(data[at:at + 8], sys.byteorder):#x}"
             for at in range(0, len(data), 8)]
    lines = [",".join(words[at:at + 6]) for at in range(0, len(words), 6)]
    return f"static const uint64_t cubin_{number}[] = {{\n" + ",\n".join(lines) + "\n};\n"


def embed(output, cubins):
    text = "/* Made by backends/cuda/cubins.py from backends/kernels. */\n"
    text += '#include "backends/cuda/state.h"\n\n'
    table = ""
    for number, (name, large, path) in enumerate(cubins):
        text += as_array(number, pathlib.Path(path).read_bytes())
        table += (f'    {{ "{name}", {large}, 0, (const unsigned char *)cubin_{number} }},\n')
    text += f"\nconst struct heed_cuda_cubin heed_cuda_cubins[] = {{\n{table}"
    text += "    { (void *)0, 0, 0, (void *)0 },\n};\n"
    pathlib.Path(output).write_text(text, encoding="ascii")


def build_all(nvcc, kernels, folder, output):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    cubins = [(name, large, folder / f"{name}_{large}.fatbin")
              for name, large in embedded(kernels)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda one: compile_cubin(nvcc, kernels, *one), cubins))
    embed(output, cubins)


def probe(nvcc):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "probe.cl")
        source.write_text('extern "C" __global__ void f(float *x) { *x = __fmaf_rn(*x, 2, 1); }\n',
                          encoding="ascii")
        command_line = [nvcc, *OPTIONS, "-fatbin", "-gencode",
                        f"arch=compute_{PORTABLE},code=compute_{PORTABLE}", "-o",
                        f"{folder}/probe.fatbin", str(source)]
        if subprocess.run(command_line, capture_output=True, check=False).returncode:
            return 1
    print(" ".join(f"sm_{arch}" for arch in known(nvcc)) + f" compute_{PORTABLE}")
    return 0


def main():
    task, arguments = sys.argv[1], sys.argv[2:]
    if task == "probe":
        return probe(*arguments)
    if task == "list":
        print("\n".join(f"{name};{large}" for name, large in embedded(*arguments)))
    elif task == "compile":
        compile_cubin(*arguments)
    elif task == "embed":
        rests = [argument.split("=", 1) for argument in arguments[1:]]
        embed(arguments[0], [(*rest[0].split(";"), rest[1]) for rest in rests])
    elif task == "all":
        build_all(*arguments)
    else:
        sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
