#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""What a stranger does with an installed heed.

install.py TOP BUILD: installs BUILD to a staging folder; builds examples/minimal.c against it by
pkg-config, shared and static; builds examples/summarize outside the tree against it. Runs them.
"""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

CC = shlex.split(os.environ.get("CC", "cc"))
TEXT = ("The library reads long documents. Attention finds what belongs together. "
        "A window keeps the work small. The summary keeps the sentences that matter. "
        "Every device gives the same bits. The tests compare them one by one.\n") * 8

def run(*command, env=None, **more):
    result = subprocess.run([str(word) for word in command], text=True, check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            env={**os.environ, **(env or {})}, **more)
    if result.returncode != 0:
        print(" ".join(str(word) for word in command))
        print(result.stdout)
        raise SystemExit(f"failed with {result.returncode}")
    return result.stdout


def install(build, stage):
    """Environment that finds the staged copy."""
    run("meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", stage)
    pc = next(stage.rglob("heed.pc"))
    return {
        "PKG_CONFIG_LIBDIR": str(pc.parent),
        "PKG_CONFIG_SYSROOT_DIR": str(stage),
        "LD_LIBRARY_PATH": str(pc.parent.parent),
    }


def flags(env, *options):
    return shlex.split(run("pkg-config", *options, "heed", env=env))


def without_shared(stage, folder):
    """The folder that holds the static library, without the shared one beside it."""
    folder.mkdir()
    for path in stage.rglob("libheed.a"):
        shutil.copy(path, folder)
    return folder


def check_files(stage):
    names = sorted(path.name for path in stage.rglob("*") if path.is_file() or path.is_symlink())
    for name in ("attn.h", "cuda.h", "heed.h", "opencl.h", "heed.pc", "libheed.a", "libheed.so",
                 "libheed.so.0"):
        if name not in names:
            raise SystemExit(f"not installed: {name}; there are {names}")
    extra = [name for name in names if name.startswith("lib") and not name.startswith("libheed.")]
    if extra:
        raise SystemExit(f"installed but private: {extra}")


def check_minimal(top, stage, env, folder):
    source = top / "examples/minimal.c"
    strict = ["-std=c17", "-Wall", "-Wextra", "-Werror"]
    run(*CC, *strict, source, "-o", folder / "shared", *flags(env, "--cflags", "--libs"))
    needed = run("readelf", "-d", folder / "shared")
    if "libheed.so.0" not in needed:
        raise SystemExit("the shared example does not need libheed.so.0")
    print(run(folder / "shared", env=env))

    only = without_shared(stage, folder / "only-static")
    libs = [word for word in flags(env, "--static", "--libs") if not word.startswith("-L")]
    run(*CC, *strict, source, "-o", folder / "static", *flags(env, "--cflags"), f"-L{only}", *libs)
    if "libheed" in run("readelf", "-d", folder / "static"):
        raise SystemExit("the static example needs a shared heed")
    run(folder / "static")


def check_summarize(top, env, folder):
    copy = folder / "summarize"
    shutil.copytree(top / "examples/summarize", copy)
    run(*CC, "-std=c17", "-O2", *sorted(copy.glob("*.c")), "-o", copy / "heed-summarize",
        *flags(env, "--cflags", "--libs"), "-lm")
    words = run(copy / "heed-summarize", "--words", "20", "-", env=env, input=TEXT).split()
    if not words:
        raise SystemExit("heed-summarize printed nothing")
    print(" ".join(words))


def main():
    top, build = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        stage = folder / "stage"
        env = install(build, stage)
        check_files(stage)
        check_minimal(top, stage, env, folder)
        check_summarize(top, env, folder)
    print("installed, used shared and static, outside the tree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
