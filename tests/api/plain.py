#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/build-plain compiles what meson compiles: plain.py TOP BUILD

The same rows of kernels for the host, the same instruction sets, and the same files of the library
and of the tools; what they include is in the tree or made by build-plain as well. Nothing is compiled
here; that takes minutes.
"""

import importlib.machinery
import importlib.util
import json
import pathlib
import re
import sys
import tempfile

# Where every build has the same files; which vendors' backends it has is an option.
FOLDERS = ("lib", "reference", "backends/cpu", "backends/device", "tools")


def load(path):
    loader = importlib.machinery.SourceFileLoader("plain", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("plain", loader))
    loader.exec_module(module)
    return module


def of_tree(top, files):
    names = set()
    for file in files:
        file = pathlib.Path(file).resolve()
        if top in file.parents:
            names.add(str(file.relative_to(top)))
    # heed-model is over a library of its own.
    return {name for name in names if name.startswith(tuple(folder + "/" for folder in FOLDERS))
            and not name.startswith("tools/model/")}


def missing(top, plain, files):
    """Headers that files include by names in quotes and nobody has."""
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder)
        plain.generate_kernels(made)
        plain.generate_tools(made)
        there = [top, top / "include", top / "tools", made]
        for file in sorted(files):
            text = (top / file).read_text("utf-8")
            for name in re.findall(r'^#include "([^"]+)"', text, re.M):
                if not any((room / name).exists() for room in ((top / file).parent, *there)):
                    yield file, name


def main():
    top, build = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    plain = load(top / "scripts/build-plain")
    told = (build / "backends/host_kernels.h").read_text("utf-8")
    faults = []
    for what, mine, macro in (("kernels", plain.kernel_rows(), "HEED_HOST_KERNELS(OF, isa)"),
                              ("instruction sets", plain.isa_rows(), "HEED_CPU_ISAS(OF)")):
        line = re.search(re.escape("#define " + macro) + " (.*)", told)[1]
        names = set(re.findall(r"OF\((\w+)", line))
        if names != set(mine):
            faults.append(f"{what}: {sorted(names ^ set(mine))}")
    made = plain.Build(build / "plain", False)
    plain.library(made, [])
    for name in plain.TOOLS:
        plain.tool(made, name)
    mine = of_tree(top, [command[command.index("-c") + 1] for command in made.todo])
    commands = json.loads((build / "compile_commands.json").read_text("utf-8"))
    theirs = of_tree(top, [build / one["file"] for one in commands])
    for file in sorted(mine ^ theirs):
        faults.append(f"{file} is compiled by {'build-plain' if file in mine else 'meson'} only")
    faults += [f"{file}: nobody makes {name}" for file, name in missing(top, plain, mine)]
    print("\n".join(faults) or f"{len(mine)} files")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
