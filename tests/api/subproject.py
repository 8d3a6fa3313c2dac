#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""heed as a part of a project that says nothing of how it is built: subproject.py TOP

The default build type of meson is not optimised: the CPU kernels must be all the same, unless the
option debug_kernels asks for the contrary, as it does for the build here, and the library must say
so. Nothing is given to nvcc, and neither tools nor tests are built. The project is built and run.
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from tree_copy import copy_tree  # noqa: E402  pylint: disable=wrong-import-position

MAIN = """#include <heed/attn.h>
#include <heed/heed.h>

#include <stdio.h>
int main(void)
{
    return heed_version() == 0 || puts(heed_build_text()) < 0;
}
"""
PROJECT = """project('uses-heed', 'c', default_options: ['c_std=c17'])
subproject('heed', default_options: ['default_library=static'])
heed_dep = dependency('heed')
test('main', executable('main', 'main.c', dependencies: heed_dep))
"""


def run(*command, **more):
    result = subprocess.run([str(word) for word in command], text=True, check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    if result.returncode != 0:
        print(" ".join(str(word) for word in command))
        raise SystemExit(f"{result.stdout}\nfailed with {result.returncode}")
    return result.stdout


def levels(out):
    """{object: the optimization it is compiled with} of the kernels, and of all else."""
    kernels, others = {}, {}
    for entry in json.loads((out / "compile_commands.json").read_text(encoding="utf-8")):
        words = shlex.split(entry["command"])
        level = [word for word in words if re.fullmatch("-O[0-3sgz]|-Ofast", word)][-1:] or ["-O0"]
        kernel = "heed-tile-" in entry["output"]
        (kernels if kernel else others)[entry["output"]] = level[0]
    return kernels, others


def check_levels(out, wanted):
    kernels, others = levels(out)
    wrong = [name for name, level in kernels.items() if level != wanted]
    if not kernels or wrong or set(others.values()) != {"-O0"}:
        raise SystemExit(f"not {wanted}: {wrong} of {kernels}; others: {set(others.values())}")


def main():
    top = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        project = pathlib.Path(name)
        out = project / "out"
        copy_tree(top, project / "subprojects/heed")
        (project / "meson.build").write_text(PROJECT, encoding="utf-8")
        (project / "main.c").write_text(MAIN, encoding="utf-8")
        environment = {key: value for key, value in os.environ.items() if key != "CFLAGS"}
        run("meson", "setup", out, project, env=environment)
        check_levels(out, "-O3")
        if "fatbin" in (out / "build.ninja").read_text(encoding="utf-8"):
            raise SystemExit("nvcc is run for a project that did not ask for it")
        # Built sooner so, and found by ccache, which takes the folder as a part of what -g says.
        run("meson", "configure", out, "-Dheed:debug_kernels=true", "-Ddebug=false")
        run("ninja", "-C", out)
        check_levels(out, "-O0")
        text = run(out / "main")
        if "kernels: -O0, " not in text:
            raise SystemExit(f"the library says: {text}")
        if any(out.rglob("heed-conform*")):
            raise SystemExit("heed's tools are built")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
