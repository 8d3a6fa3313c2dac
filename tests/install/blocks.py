#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Every block of code of the docs is right: blocks.py TOP BUILD

The examples in the headers' comments are compiled; the blocks of CMake and meson in docs/manual.md
build examples/minimal.c; those of Python in docs/python.md run, one after another, and those of
docs/testing-kernels.md are Python. The others are parts of examples (tests/api/excerpts.py).
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap

import texts
from commands import numpy_python
from stage import CC, expect, flags, installed, library_folder, pc_folder, run

# What the examples of headers say is the program's own.
OWN = """
static heed_runtime *rt; static heed_device *device; static heed_queue *queue; static heed_plan *plan;
static heed_report why; static heed_attn_desc desc; static heed_attn_args args;
static float *q_data, *k_data, *v_data, *o_data, *x_data, *y_data, *before, *after, *weight;
static int64_t heads, n; static heed_array q, k, v, o, gk, gv; static void *scratch;
static size_t bytes;
"""
VENDORS = {
    "opencl.h": ("#define CL_TARGET_OPENCL_VERSION 120\n", "CL/cl.h",
                 "static cl_context context; static cl_device_id id; static cl_command_queue commands;"
                 "static cl_mem q_mem; static cl_event written; static cl_kernel next;"
                 "static size_t items;"),
    "cuda.h": ("", "cuda.h",
               "static CUcontext context; static CUdevice ordinal; static CUstream stream;"
               "static CUdeviceptr q_ptr; static CUevent written; static CUfunction next;"
               "static void **parameters;"),
    "mpi.h": ("", "mpi.h", "static int64_t first, n_all;"),
    "model.h": ("", None, "static char *document; static uint64_t document_bytes;"),
}
HEADERS = ("attn", "memory", "pool", "mechanisms", "programs")
STRICT = ["-std=c17", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", "-Wno-unused-function",
          "-Wno-unused-but-set-variable", "-Wno-missing-braces", "-fsyntax-only"]

PRELUDE = """
import numpy
def attention(q, k, v, *, scale):
    k, v = (numpy.repeat(x, q.shape[1] // k.shape[1], 1) for x in (k, v))
    s = scale * (q.astype("f8") @ k.astype("f8").swapaxes(-1, -2))
    p = numpy.exp(s - s.max(-1, keepdims=True))
    return ((p / p.sum(-1, keepdims=True)) @ v.astype("f8")).astype(q.dtype)
drawn = numpy.random.default_rng(1)
def array(*shape): return drawn.standard_normal(shape, dtype="float32")
q, k, v = array(1, 2, 512, 64), array(1, 2, 512, 64), array(1, 2, 512, 64)
gk, gv, lengths = array(1, 2, 1, 64), array(1, 2, 1, 64), numpy.array([500])
x, memory, other_q, other_o = array(1, 512, 64), array(1, 2, 700, 64), array(1, 2, 512, 64), q * 0
w1, w2, hidden, other = array(128, 64), array(64, 128), array(1, 512, 128), array(1, 512, 64)
"""


def can_include(header):
    result = subprocess.run([*CC, "-fsyntax-only", "-x", "c", "-"], text=True, check=False,
                            capture_output=True, input=f"#include <{header}>\n")
    return result.returncode == 0


def check_headers(prefix, folder):
    n = 0
    for path in sorted((prefix / "include/heed").glob("*.h")):
        before, vendor, own = VENDORS.get(path.name, ("", None, ""))
        if vendor and not can_include(vendor):
            print(f"left out: heed/{path.name}: there is no <{vendor}>")
            continue
        for i, block in enumerate(texts.header_blocks(path.read_text("utf-8"))):
            end = "failed: ;\n" if "goto failed" in block and "failed:" not in block else ""
            source = folder / f"{path.stem}{i}.c"
            includes = "".join(f"#include <heed/{name}.h>\n" for name in HEADERS)
            includes += f"#include <heed/{path.name}>\n#include <stdio.h>\n"
            source.write_text(before + includes + OWN + own + "void unit(void);\nvoid unit(void)\n{\n"
                              + block + end + "}\n", encoding="utf-8")
            run(*CC, *STRICT, source, *flags(prefix, "--cflags"))
            n += 1
    expect(n >= 6, f"only {n} examples in headers")
    return n


def check_meson(top, prefix, folder, manual):
    (block,) = texts.blocks(manual, "meson")
    folder.mkdir()
    shutil.copy(top / "examples/minimal.c", folder / "example.c")
    (folder / "meson.build").write_text(
        f"project('example', 'c')\n{block}executable('example', 'example.c', dependencies: heed)\n",
        encoding="utf-8")
    run("meson", "setup", folder / "out", folder, env={"PKG_CONFIG_LIBDIR": str(pc_folder(prefix))})
    run("ninja", "-C", folder / "out")
    run(folder / "out/example", env={"LD_LIBRARY_PATH": str(library_folder(prefix))})


def check_cmake(top, prefix, folder, manual):
    (block,) = texts.blocks(manual, "cmake")
    if not shutil.which("cmake"):
        print("left out: cmake is not installed")
        return
    folder.mkdir()
    shutil.copy(top / "examples/minimal.c", folder / "example.c")
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.13)\nproject(example C)\n"
        f"add_executable(example example.c)\n{block}", encoding="utf-8")
    run("cmake", "-S", folder, "-B", folder / "out", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", folder / "out")
    run(folder / "out/example")


def check_python(top, build, prefix):
    python, page = numpy_python(), (top / "docs/python.md").read_text("utf-8")
    found = texts.blocks(page, "python")
    expect(len(found) >= 3, f"{len(found)} blocks in docs/python.md")
    for path in sorted((top / "docs").glob("*.md")):
        for block in texts.blocks(path.read_text("utf-8"), "python"):
            # What needs torch is Python, at least.
            compile(textwrap.dedent(block), path.name, "exec")
    if not python:
        print("left out: there is no NumPy")
        return
    found = [block for block in found if "import torch" not in block]   # tests/peers has torch
    said = run(python, "-B", "-c", PRELUDE + "".join(found),
               env={"PYTHONPATH": str(build / "bindings/python"),
                    "HEED_CONFORM": str(prefix / "bin/heed-conform"),
                    "HEED_LIBRARY": str(library_folder(prefix) / "libheed.so.0")})
    # What a block says that it prints.
    for line in page.splitlines():
        if line.strip().startswith("print(") and "#" in line:
            wanted = line.split("#")[1].strip()
            if wanted.startswith("HEED_"):
                expect(any(line.split()[:2] == wanted.split()[:2] for line in said.splitlines()),
                       f"{wanted!r}, not {said}")


def main():
    top, build = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    prefix, manual = installed(build), (top / "docs/manual.md").read_text("utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        n = check_headers(prefix, folder)
        check_meson(top, prefix, folder / "meson", manual)
        check_cmake(top, prefix, folder / "cmake", manual)
    check_python(top, build, prefix)
    print(f"{n} examples in headers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
