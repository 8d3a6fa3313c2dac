# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""What of the package setuptools does not know: the library and the programs in it, and the modules
that headers.py makes of the headers.

They are those of the build folder that the environment variable HEED_BUILD names, or of a build of
the tree made for this. They lie in the package as in a prefix, so that the programs find the
library: heed/bin/heed-conform, heed/lib*/libheed.so.0. A source distribution carries the tree.
"""

import atexit
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    from wheel.bdist_wheel import bdist_wheel

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import headers                          # noqa: E402: the one beside this file

PROGRAMS = ("heed-conform", "heed-info")
# That of ranks is there where the build has an MPI.
LIBRARIES = ("libheed.so.0", "libheed.0.dylib", "libheed-mpi.so.0", "libheed-mpi.0.dylib")
# The tree that the library is built from.
TREE = ("LICENSE", "README.md", "meson.build", "meson_options.txt", "backends", "cmake", "include",
        "lib", "mpi", "reference", "tools")
OPTIONS = ("--buildtype=release", "--prefix=/usr", "--libdir=lib", "-Ddefault_library=shared",
           "-Dtests=disabled", "-Dexamples=disabled", "-Dfuzz=disabled", "-Ddocs=disabled")


def source():
    """The tree: beside this file in a source distribution, else two folders up."""
    own = HERE / "source"
    return own if own.is_dir() else HERE.parent.parent


def built(work):
    named = os.environ.get("HEED_BUILD")
    if named:
        return pathlib.Path(named).resolve()
    folder = work / "build"
    subprocess.run(["meson", "setup", folder, source(), *OPTIONS], check=True)
    subprocess.run(["ninja", "-C", folder], check=True)
    return folder


def put_library(package, work):
    """Library and programs, installed and without symbols, into the package."""
    folder, stage = built(work), work / "stage"
    subprocess.run(["meson", "install", "-C", folder, "--no-rebuild", "--quiet", "--strip",
                    "--tags", "runtime", "--destdir", stage], check=True)
    options = json.loads((folder / "meson-info/intro-buildoptions.json").read_text("utf-8"))
    prefix = next(option["value"] for option in options if option["name"] == "prefix")
    root = stage / prefix.lstrip("/")
    shutil.copy2(source() / "LICENSE", package)
    # A wheel has no links: of the library's names the one that programs ask for.
    libraries = [path for path in sorted(root.rglob("libheed*")) if path.name in LIBRARIES]
    for path in [root / "bin" / name for name in PROGRAMS] + libraries:
        to = package / path.relative_to(root)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path.resolve(), to)


class BuildWithLibrary(build_py):
    def run(self):
        if getattr(self, "editable_mode", False):
            sys.exit("heed cannot be installed editable: name build/bindings/python in PYTHONPATH")
        super().run()
        package = pathlib.Path(self.build_lib) / "heed"
        headers.write(source(), package)
        with tempfile.TemporaryDirectory() as work:
            put_library(package, pathlib.Path(work))


class PlatformWheel(bdist_wheel):
    """For one platform, and for every Python: nothing in it is compiled against Python."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class SourceWithTree(sdist):
    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        for name in ("backend.py", "headers.py"):
            shutil.copy2(HERE / name, base_dir)
        for name in TREE:
            path, to = source() / name, pathlib.Path(base_dir, "source", name)
            to.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                shutil.copytree(path, to, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(path, to)


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return True


# Nothing is written beside the sources.
aside = tempfile.mkdtemp()
atexit.register(shutil.rmtree, aside, ignore_errors=True)
setup(
    distclass=WithLibrary,
    cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel, "sdist": SourceWithTree},
    options={"build": {"build_base": aside}, "egg_info": {"egg_base": aside}},
)
