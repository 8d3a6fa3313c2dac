#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The package for Python as a wheel: wheel.py TOP BUILD

pip makes it of a copy of the sources, as setuptools writes beside them, and of the libraries in
BUILD, without a network, and installs it into an environment that has nothing but NumPy. There it
imports its own library, computes, and has the programs. A source distribution has what a build of
the library needs.
"""

import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile

from stage import copy_tree, expect, run, skip

NEEDED = "import numpy, setuptools, pip, venv, wheel"
USE = """
import importlib.util, os, pathlib, subprocess, sys
assert not [name for name in sys.modules if name.startswith("heed")]
import heed, numpy
home = pathlib.Path(heed.__file__).parent
assert sys.prefix in str(home), home
assert str(home) in heed.library._name, heed.library._name
q = numpy.arange(2 * 9 * 4, dtype="float32").reshape(1, 2, 9, 4) % 7
o = heed.attention(q, q, q, terms=[heed.window(2)])
assert o.shape == q.shape and numpy.isfinite(o).all() and o[0, 0, 0, 0] != o[0, 0, 5, 0]
reference = heed.attention(q, q, q, terms=[heed.window(2)], device="reference")
assert (o.view("uint32") == reference.view("uint32")).all()
if hasattr(heed, "conform"):
    from heed import conformance
    assert str(home) in conformance.program(), conformance.program()
if importlib.util.find_spec("mpi4py") and list(home.rglob("libheed-mpi.*")):
    import heed.mpi
    assert str(home) in heed.mpi._ranks._name, heed.mpi._ranks._name
print(heed.__version__, home)
"""


def python_with_all():
    for python in filter(None, (sys.executable, os.environ.get("HEED_PYTHON"), "/usr/bin/python3")):
        if os.path.exists(python) and subprocess.run(
                [python, "-c", NEEDED], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return python
    return None


def clean(**more):
    """Without what could lead Python to the tree or to another library."""
    keep = {key: value for key, value in os.environ.items()
            if not key.startswith(("PYTHON", "HEED_")) and key != "LD_LIBRARY_PATH"}
    return {**keep, **more}


def call(*command, cwd=None, **environment):
    result = subprocess.run([str(word) for word in command], text=True, check=False, cwd=cwd,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            env=clean(**environment))
    expect(result.returncode == 0, f"{command}: {result.returncode}\n{result.stdout}")
    return result.stdout


def check_wheel(path, build):
    expect(path.name.endswith(".whl") and "-py3-none-linux_" in path.name
           or not sys.platform.startswith("linux"), path.name)
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        expect(any(name.endswith("libheed.so.0") for name in names), f"no library: {names}")
        expect(any(name.endswith("libheed-mpi.so.0") for name in names)
               == (build / "mpi/libheed-mpi.so.0").exists(), f"the library of ranks: {names}")
        for name in ("_abi.py", "_docs.py", "constants.pyi", "mechanisms.pyi", "py.typed"):
            expect("heed/" + name in names, f"the wheel lacks {name}")
        expect("heed/bin/heed-conform" in names and "heed/LICENSE" in names, f"{names}")
        metadata = next(name for name in names if name.endswith("/METADATA"))
        return dict(line.split(": ", 1) for line in wheel.read(metadata).decode().splitlines()
                    if ": " in line)


def check_use(python, wheel, folder):
    run(python, "-m", "venv", "--without-pip", "--system-site-packages", folder / "venv")
    own = folder / "venv/bin/python"
    call(own, "-m", "pip", "install", "--no-index", "--no-deps", "--quiet", wheel, cwd=folder,
         PIP_DISABLE_PIP_VERSION_CHECK="1")
    print(call(own, "-c", USE, cwd=folder))
    for name in ("heed-conform", "heed-info"):
        text = call(folder / "venv/bin" / name, "--version", cwd=folder)
        expect(text.startswith(name + " "), text)
    said = call(folder / "venv/bin/heed-conform", "--device", "cpu", "--case", "op=attn seed=1",
                "--quiet", cwd=folder)
    expect(said.endswith("1 passed, 0 failed, 0 skipped\n") or " 0 failed" in said, said)


def check_source(top, python, folder):
    """As pip asks the backend for it."""
    ask = ("import sys; sys.path.insert(0, '.'); import backend; "
           f"print(backend.build_sdist({str(folder)!r}))")
    call(python, "-c", ask, cwd=top / "bindings/python")
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        names = archive.getnames()
    root = names[0].split("/")[0]
    for name in ("pyproject.toml", "setup.py", "backend.py", "headers.py", "heed/__init__.py",
                 "source/meson.build", "source/lib/heed.map", "source/tools/meson.build",
                 "source/mpi/meson.build"):
        expect(f"{root}/{name}" in names, f"the source distribution lacks {name}")
    return len(names)


def main():
    top, build = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    python = python_with_all()
    if not python:
        skip("no Python here has NumPy, pip, setuptools and wheel (scripts/setup --dev)")
    with tempfile.TemporaryDirectory() as name:
        folder, tree = pathlib.Path(name), pathlib.Path(name) / "tree"
        copy_tree(top, tree)
        call(python, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index",
             "--quiet", "-w", folder, tree / "bindings/python", HEED_BUILD=str(build),
             PIP_DISABLE_PIP_VERSION_CHECK="1")
        wheel = next(folder.glob("*.whl"))
        expect(check_wheel(wheel, build)["Name"] == "heed", "its metadata")
        check_use(python, wheel, folder)
        n = check_source(tree, python, folder)
    print(f"{wheel.name}; {n} files of source")
    return 0


if __name__ == "__main__":
    sys.exit(main())
