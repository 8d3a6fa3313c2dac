# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles torch_ops.cpp, the kernel of torch.ops.heed in C++: python3 -m heed.torch."""

from __future__ import annotations

import argparse
import os
import pathlib
import shlex
import subprocess

import torch

from ._native import library
from ._torch_ops import compiled_path

HERE = pathlib.Path(__file__).resolve().parent
# The oldest PyTorch whose stable ABI has what the kernel calls: what is compiled loads into it and
# into all later ones.
TARGET = "(2ULL<<56)|(10ULL<<48)"


def include_folder():
    """The folder of heed's headers: of the tree around a build folder, else what pkg-config says."""
    for folder in HERE.parents:
        if (folder / "include/heed/attn.h").exists():
            return ["-I", str(folder / "include")]
    return shlex.split(subprocess.run(["pkg-config", "--cflags", "heed"], text=True, check=True,
                                      capture_output=True).stdout)


def command(output, includes):
    """What compiles the kernel."""
    torch_folder, heed_library = pathlib.Path(torch.__file__).parent, pathlib.Path(library._name)
    return [*shlex.split(os.environ.get("CXX", "c++")), "-std=c++20", "-O2", "-shared", "-fPIC",
            "-fvisibility=hidden", "-Wall", "-Wextra", f"-DTORCH_TARGET_VERSION=({TARGET})",
            "-isystem", str(torch_folder / "include"), *includes, str(HERE / "torch_ops.cpp"),
            "-o", output, str(heed_library.resolve()), f"-L{torch_folder / 'lib'}", "-ltorch_cpu",
            f"-Wl,-rpath,{heed_library.resolve().parent}", "-Wl,--allow-shlib-undefined"]


def main(arguments):
    parser = argparse.ArgumentParser(
        prog="python3 -m heed.torch",
        description="Compiles heed's operators for PyTorch in C++; heed.torch loads them then.")
    parser.add_argument("output", nargs="?", default=compiled_path(),
                        help="the file to make; another one than the default is named to heed.torch "
                             "by HEED_TORCH_OPS")
    parser.add_argument("--include", help="the folder that has heed/attn.h")
    given = parser.parse_args(arguments)
    made = command(given.output, ["-I", given.include] if given.include else include_folder())
    print(shlex.join(made), flush=True)
    return subprocess.run(made, check=False).returncode
